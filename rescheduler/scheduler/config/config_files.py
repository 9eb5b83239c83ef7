"""The KubeSchedulerConfiguration that a Scheduler document refers to, read into the document."""

from pathlib import Path

from rescheduler.documents.flaws import FileProblem, Mark
from rescheduler.documents.strict_yaml import MAX_BYTES, Tree, read
from rescheduler.documents.validation import validate_part
from rescheduler.scheduler.config.kube_scheduler_configuration import KubeSchedulerConfiguration
from rescheduler.scheduler.config.scheduler import Scheduler


def text_of(file: Path) -> tuple[str, FileProblem | None]:
    """The content of a file, or what is wrong with it."""
    try:
        with file.open("rb") as stream:
            return stream.read(MAX_BYTES + 1).decode("utf-8-sig"), None
    except OSError as error:
        return "", FileProblem(Mark(), f"cannot be read: {error.strerror or error}")
    except UnicodeDecodeError:
        return "", FileProblem(Mark(), "is not text in UTF-8")


def completed(
    made: Scheduler, tree: Tree, folder: Path
) -> tuple[Scheduler | None, list[tuple[Path, str, FileProblem]], FileProblem | None]:
    """The document with the configuration of its file in place of the file's name.

    tree: the document, to tell where the name stands. folder: of the document's own file.
    Answers None for the document where that cannot be done, with the flaws of the other file, or
    the flaw of the name.
    """
    file = folder / str(made.configFile)
    text, unreadable = text_of(file)
    if unreadable is not None:
        return None, [], FileProblem(_mark(tree), f"spec.configFile: {file} {unreadable.message}")
    trees, flaws = read(text)
    configuration = None
    if len(trees) == 1:
        configuration, wrong = validate_part(trees[0], KubeSchedulerConfiguration)
        flaws += wrong
    elif not flaws:
        flaws = [FileProblem(Mark(), f"must hold one document, and has {len(trees)}")]
    if configuration is None or flaws:
        return None, [(file, text, flaw) for flaw in flaws], None
    whole = made.model_copy(update={"configuration": configuration, "configFile": None})
    return whole, [], None


def _mark(tree: Tree) -> Mark:
    spec = tree.value["spec"] if isinstance(tree.value, dict) else tree
    return spec.value["configFile"].mark if isinstance(spec.value, dict) else spec.mark
