"""A document against its model: pydantic's findings, each brought back to its place in the file."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rescheduler.documents.envelope import API_VERSION, Document
from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.file_problems import FileProblem, TextSpan
from rescheduler.documents.kubernetes_yaml import boolean
from rescheduler.documents.label_selector import Selector
from rescheduler.documents.strict_yaml import Tree, scalar

Part = TypeVar("Part", bound=BaseModel)

_METADATA = ("name", "labels", "annotations")
_ENVELOPE = ("apiVersion", "kind", "metadata", "spec")

_SENTENCES = {
    "missing": "is required",
    "greater_than_equal": "must be {ge} or more",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be {le} or less",
    "less_than": "must be less than {lt}",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "string_pattern_mismatch": "must match {pattern}",
    "list_type": "must be a list",
    "too_short": "must have at least {min_length} entry",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "finite_number": "must be a finite number",
    "literal_error": "must be {expected}",
    "value_error": "{error}",
}


def validate(
    tree: Tree, kinds: Mapping[str, type[Document]], elsewhere: Mapping[str, str] | None = None
) -> tuple[Document | None, list[FileProblem]]:
    """What a document gives, or what is wrong with it.

    kinds: what a document may be. elsewhere: other kinds to where their documents belong.
    """
    envelope = _Envelope(tree, kinds, elsewhere or {})
    model = envelope.check()
    if model is None:
        return None, envelope.file_problems
    spec = tree.value["spec"] if isinstance(tree.value, dict) else tree
    try:
        made = model.model_validate(
            {**spec.plain(), "kind": envelope.kind, "name": envelope.name or "-"}
        )
    except ValidationError as error:
        details = error.errors(include_url=False)
        return None, [
            *envelope.file_problems,
            *(_file_problem(detail, spec, model) for detail in details),
        ]
    return (None if envelope.file_problems else made), envelope.file_problems


def validate_part(tree: Tree, model: type[Part]) -> tuple[Part | None, list[FileProblem]]:
    """What a tree without an envelope gives, or what is wrong with it."""
    if not isinstance(tree.value, dict):
        return None, [FileProblem(tree.mark, "a document must be a mapping")]
    try:
        return model.model_validate(tree.plain()), []
    except ValidationError as error:
        details = error.errors(include_url=False)
        return None, [_file_problem(detail, tree, model, root=()) for detail in details]


def describe_error(error: ErrorDetails, at: str) -> str:
    """What is wrong with a value that is in no file, in one sentence. at: where the value is."""
    cause = error.get("ctx", {}).get("error")
    below = ".".join(map(str, cause.at)) if isinstance(cause, FieldError) else ""
    field = ".".join(filter(None, (at, below)))
    got = "" if isinstance(error["input"], dict | list) else f" (got {_yaml_text(error['input'])})"
    return f"{field}: {_sentence(error)}{got}"


def near(word: str, words: Iterable[str]) -> str:
    """A hint that names the known word that was probably meant, or "" if none is near."""
    spelled = {candidate.lower(): candidate for candidate in words}
    close = difflib.get_close_matches(word.lower(), list(spelled), n=1, cutoff=0.65)
    return f"`{spelled[close[0]]}`" if close else ""


class _Envelope:
    """apiVersion, kind, metadata and spec: what every document has."""

    def __init__(
        self, tree: Tree, kinds: Mapping[str, type[Document]], elsewhere: Mapping[str, str]
    ) -> None:
        self._tree = tree
        self._kinds = kinds
        self._elsewhere = elsewhere
        self.file_problems: list[FileProblem] = []
        self.kind = ""
        self.name = ""

    def check(self) -> type[Document] | None:
        """The model of the spec, if the spec can be checked at all."""
        if not isinstance(self._tree.value, dict):
            self._complain(self._tree.mark, "a document must be a mapping")
            return None
        if self._foreign():
            return None
        self._keys(self._tree, _ENVELOPE, "")
        self._text(self._tree, "apiVersion", "")
        version = self._tree.value.get("apiVersion")
        if version is not None and isinstance(version.value, str) and version.value != API_VERSION:
            message = f"apiVersion: must be {API_VERSION} (got {_yaml_text(version.value)})"
            self._complain(version.mark, message, f"`{API_VERSION}`")
        self._metadata()
        model = self._model()
        spec = self._tree.value.get("spec")
        if spec is None or not isinstance(spec.value, dict):
            at = spec.mark if spec else self._tree.mark
            self._complain(at, "spec: must be a mapping" if spec else "spec: is required")
            return None
        for reserved in ("kind", "name"):
            if reserved in spec.value:
                self._complain(spec.keys[reserved], f"spec.{reserved}: unknown field `{reserved}`")
                return None
        return model

    def _foreign(self) -> bool:
        """Whether it is another program's document as a whole: then that is the only problem."""
        fields = self._tree.value if isinstance(self._tree.value, dict) else {}
        version, kind = fields.get("apiVersion"), fields.get("kind")
        if version is None or kind is None:
            return self._foreign_field(fields)
        texts = [tree.value for tree in (version, kind) if isinstance(tree.value, str)]
        if len(texts) < 2 or texts[1] in self._kinds or "rescheduler" in texts[0]:
            return False
        near_kind = near(texts[1], self._kinds) if "/" not in texts[0] else ""
        hint = self._elsewhere.get(texts[1], near_kind) or "leave it out: it is of another program"
        self.kind = texts[1]
        message = f"kind: `{_cut(texts[1])}` of {_cut(texts[0])} is no policy of ours"
        self._complain(kind.mark, message, hint)
        return True

    def _foreign_field(self, fields: Mapping[str, Tree]) -> bool:
        """Whether a field shows that it is another program's document, which names no kind."""
        for key in fields:
            if key in self._elsewhere and "apiVersion" not in fields:
                mark = self._tree.keys[key]
                self._complain(mark, f"{key}: is no field of ours", self._elsewhere[key])
                return True
        return False

    def _model(self) -> type[Document] | None:
        self.kind = self._text(self._tree, "kind", "")
        if self.kind and self.kind not in self._kinds:
            tree = self._tree.value["kind"] if isinstance(self._tree.value, dict) else self._tree
            kinds = ", ".join(sorted(self._kinds))
            hint = near(self.kind, self._kinds) or f"one of {kinds}"
            hint = self._elsewhere.get(self.kind, hint)
            self._complain(tree.mark, f"kind: unknown kind `{self.kind}`", hint)
        return self._kinds.get(self.kind)

    def _metadata(self) -> None:
        metadata = self._tree.value.get("metadata") if isinstance(self._tree.value, dict) else None
        if metadata is None:
            self._complain(self._tree.mark, "metadata: is required")
        elif not isinstance(metadata.value, dict):
            self._complain(metadata.mark, "metadata: must be a mapping")
        else:
            self._keys(metadata, _METADATA, "metadata.")
            self.name = self._text(metadata, "name", "metadata.")
            for field in _METADATA[1:]:
                self._texts(metadata.value.get(field), f"metadata.{field}")

    def _texts(self, tree: Tree | None, path: str) -> None:
        if tree is None:
            return
        if not isinstance(tree.value, dict):
            self._complain(tree.mark, f"{path}: must be a mapping")
            return
        for key, child in tree.value.items():
            if not isinstance(child.value, str):
                message = f"{path}.{key}: must be text (got {_yaml_text(child.value)})"
                self._complain(child.mark, message, "put it in quotes")

    def _text(self, tree: Tree, key: str, prefix: str) -> str:
        branch = tree.value.get(key) if isinstance(tree.value, dict) else None
        if branch is None:
            self._complain(tree.mark, f"{prefix}{key}: is required")
        elif not isinstance(branch.value, str) or not branch.value:
            self._complain(
                branch.mark, f"{prefix}{key}: must be text (got {_yaml_text(branch.value)})"
            )
        else:
            return branch.value
        return ""

    def _keys(self, tree: Tree, fields: Sequence[str], prefix: str) -> None:
        for key, mark in tree.keys.items():
            if key not in fields:
                message = f"{prefix}{_cut(key)}: unknown field `{_cut(key)}`"
                self._complain(mark, message, near(key, fields))

    def _complain(self, mark: TextSpan, message: str, hint: str = "") -> None:
        self.file_problems.append(FileProblem(mark, message, hint))


def _file_problem(
    error: ErrorDetails,
    spec: Tree,
    model: type[BaseModel],
    root: tuple[str, ...] = ("spec",),
) -> FileProblem:
    path: list[int | str] = [part for part in error["loc"] if not _is_tag(part)]
    field = ".".join([*root, *map(_cut, path)])
    if error["type"] == "extra_forbidden":
        message = f"{field}: unknown field `{_cut(path[-1])}`"
        return FileProblem(locate(spec, path, key=True), message, _known_field(error, path, model))
    if error["type"] == "missing":
        return FileProblem(locate(spec, path[:-1]), f"{field}: {_SENTENCES['missing']}")
    value, hint = error["input"], _value_hint(error)
    cause = error.get("ctx", {}).get("error")
    named = isinstance(value, dict)
    marks: list[TextSpan] = []
    if isinstance(cause, FieldError):
        marks = [locate(spec, [*path, *other]) for other in cause.others]
        named &= not cause.at
        path += cause.at
        field = ".".join([*root, *map(_cut, path)])
        hint = cause.hint or near(str(value_at(spec, path)), cause.choices)
    got = "" if isinstance(value, dict | list) else f" (got {_yaml_text(value)})"
    in_key = error["loc"][-1:] == ("[key]",)
    mark, said = locate(spec, path, key=in_key), _sentence(error)
    if named:
        mark, *marks = _marks_of_keys(spec, path, said) or [mark]
    return FileProblem(mark, f"{field}: {said}{got}", hint, tuple(marks))


def _marks_of_keys(spec: Tree, path: Sequence[int | str], message: str) -> list[TextSpan]:
    """The keys of the mapping at that path that the message names, in their order in the file."""
    words = set(re.findall(r"\w+", message))
    mapping = value_at(spec, path)
    keys = mapping if isinstance(mapping, dict) else ()
    marks = (locate(spec, [*path, key], key=True) for key in keys if key in words)
    return sorted(marks, key=lambda mark: (mark.line, mark.column))


def _is_tag(part: int | str) -> bool:
    """Whether it names a branch of a union or that a key is meant, and no place in a file."""
    return str(part).startswith("[") and str(part).endswith("]")


def _sentence(error: ErrorDetails) -> str:
    context = {key: _bound_text(value) for key, value in error.get("ctx", {}).items()}
    # Pydantic's own sentences quote the input, braces and all.
    template = _SENTENCES.get(error["type"])
    return error["msg"] if template is None else template.format(**context)


def _value_hint(error: ErrorDetails) -> str:
    """What the value should probably have been."""
    value, context = error["input"], error.get("ctx", {})
    match error["type"]:
        case "literal_error" if isinstance(value, str):
            return near(value, re.findall(r"'([^']*)'", str(context.get("expected", ""))))
        case "less_than_equal" if isinstance(value, int) and 1 < value <= 100:
            return f"`{value}%`" if _bound_text(context["le"]) == "1" else ""
        case "bool_type" if isinstance(value, str) and (word := boolean(value)) is not None:
            return f"`{_yaml_text(word)}`, as which Kubernetes reads a plain {_cut(value)}"
        case "int_type" if isinstance(value, str) and isinstance(scalar(value), int):
            return f"`{value}`, without quotes"
        case "string_type" if isinstance(value, int | float):
            return f"`'{_yaml_text(value)}'`, in quotes"
    return ""


def _known_field(error: ErrorDetails, path: Sequence[int | str], model: type[BaseModel]) -> str:
    """The field that was probably meant by one that is not known."""
    holder, name, value = _model_at(model, path[:-1]), str(path[-1]), error["input"]
    hint = near(name, _fields(holder, nested=len(path) > 1))
    if not hint and holder is Selector and not isinstance(value, dict | list):
        text = _cut(value) if isinstance(value, str) else f"'{_yaml_text(value)}'"
        return f"`matchLabels: {{{_cut(name)}: {text}}}`"
    return hint


def _cut(part: int | str) -> str:
    """A key or a value of a file, which may be of any length, as part of a sentence."""
    text = str(part)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _yaml_text(value: Any) -> str:
    """The value as it would be in YAML, shortened; what it holds in the case of a collection."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return "nothing" if value is None else str(value).lower()
    return repr(value)[:60]


def _bound_text(value: Any) -> str:
    """A bound of pydantic's as operators write it."""
    if isinstance(value, float):
        return f"{value:g}"
    return str(value).replace("True", "true").replace("datetime.timedelta(0)", "0s")


def locate(tree: Tree, path: Sequence[int | str], *, key: bool = False) -> TextSpan:
    """The place of the value at that path (or of its key), or the nearest thing around it."""
    mark = tree.mark
    for step, part in enumerate(path):
        value: Any = tree.value
        if isinstance(value, dict) and part in value:
            if key and step == len(path) - 1:
                return tree.keys[str(part)]
            tree = value[str(part)]
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            tree = value[part]
        else:
            break
        mark = tree.mark
    return mark


def value_at(tree: Tree, path: Sequence[int | str]) -> Any:
    """The value at that path, or None."""
    for part in path:
        value: Any = tree.value
        if isinstance(value, dict) and part in value:
            tree = value[str(part)]
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            tree = value[part]
        else:
            return None
    return tree.plain()


def _fields(model: type[BaseModel] | None, *, nested: bool) -> list[str]:
    """The names of the fields that may be written; of a document, `kind` and `name` are above."""
    fields = () if model is None else model.model_fields
    return [name for name in fields if name not in ("kind", "name") or nested]


def _model_at(model: type[BaseModel], path: Sequence[int | str]) -> type[BaseModel] | None:
    """The model of the value at that path."""
    for part in path:
        if isinstance(part, int):
            continue
        field = model.model_fields.get(part)
        inner = _model_in(field.annotation) if field else None
        if inner is None:
            return None
        model = inner
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
