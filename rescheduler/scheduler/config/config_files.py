"""The KubeSchedulerConfiguration that a Scheduler document refers to, put into the document."""

from rescheduler.documents.file_problems import FileProblem, Mark
from rescheduler.documents.strict_yaml import Tree, read
from rescheduler.documents.validation import validate_part
from rescheduler.scheduler.config.kube_scheduler_configuration import KubeSchedulerConfiguration
from rescheduler.scheduler.config.scheduler import Scheduler


def completed(made: Scheduler, text: str) -> tuple[Scheduler | None, list[FileProblem]]:
    """The document with the configuration in place of the name of its file.

    text: the content of that file. Answers None for the document where it holds no configuration
    that can be used, with what is wrong in that file.
    """
    trees, problems = read(text)
    configuration = None
    if len(trees) == 1:
        configuration, wrong = validate_part(trees[0], KubeSchedulerConfiguration)
        problems += wrong
    elif not problems:
        problems = [FileProblem(Mark(), f"must hold one document, and has {len(trees)}")]
    if configuration is None or problems:
        return None, problems
    return made.model_copy(update={"configuration": configuration, "configFile": None}), []


def unread(tree: Tree, file: str, why: str) -> FileProblem:
    """What is wrong with a document whose `configFile` cannot be read.

    tree: the document, to find where the name stands. why: what became of reading, as a predicate.
    """
    spec = tree.value["spec"] if isinstance(tree.value, dict) else tree
    mark = spec.value["configFile"].mark if isinstance(spec.value, dict) else spec.mark
    return FileProblem(mark, f"spec.configFile: {file} {why}")
