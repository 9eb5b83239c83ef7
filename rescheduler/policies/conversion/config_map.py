"""Text of YAML in a field of another document, as ConfigMaps have it, at its place in the file."""

from collections.abc import Callable
from dataclasses import replace

from rescheduler.documents.file_problems import LINE_ENDS, FileProblem, TextSpan
from rescheduler.documents.kubernetes_yaml import KubernetesReader
from rescheduler.documents.strict_yaml import Tree, read
from rescheduler.policies.conversion.outcomes import Same

OTHER_KEY = Same("another key of the ConfigMap")


def nested_documents(tree: Tree, text: str) -> tuple[list[Tree], list[FileProblem]]:
    """The documents that the text there holds. text: of the whole file."""
    documents, problems = read(str(tree.value), KubernetesReader)
    lines = LINE_ENDS.split(text)
    first = lines[tree.mark.line - 1][tree.mark.column - 1 : tree.mark.column]
    literal = first in ("|", ">")
    body = next((line for line in lines[tree.mark.line :] if line.strip()), "")
    indent = len(body) - len(body.lstrip(" "))

    def moved_mark(mark: TextSpan) -> TextSpan:
        if not literal:
            return tree.mark
        return TextSpan(mark.line + tree.mark.line, mark.column + indent, mark.length)

    for document in documents:
        _shift_spans(document, moved_mark)
    return documents, [replace(problem, mark=moved_mark(problem.mark)) for problem in problems]


def _shift_spans(tree: Tree, moved_mark: Callable[[TextSpan], TextSpan]) -> None:
    tree.mark = moved_mark(tree.mark)
    tree.keys = {key: moved_mark(mark) for key, mark in tree.keys.items()}
    if isinstance(tree.value, dict | list):
        for child in tree.value.values() if isinstance(tree.value, dict) else tree.value:
            _shift_spans(child, moved_mark)
