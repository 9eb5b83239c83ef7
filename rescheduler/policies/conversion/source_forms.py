"""Which form a foreign file has, and what it becomes."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from rescheduler.documents.file_problems import FileProblem, TextSpan, policy_error
from rescheduler.documents.kubernetes_yaml import KubernetesReader
from rescheduler.documents.strict_yaml import Tree, read
from rescheduler.documents.text_files import TextFile
from rescheduler.documents.validation import near
from rescheduler.policies.conversion.config_map import OTHER_KEY, nested_documents
from rescheduler.policies.conversion.descheduler_policy import convert_policy, fields_of
from rescheduler.policies.conversion.draft import Conversion
from rescheduler.policies.conversion.first_policy import convert_first_policy
from rescheduler.policies.conversion.helm_values import ALL_VALUES, POLICY, policy_of_values
from rescheduler.policies.conversion.koordinator import convert_configuration
from rescheduler.policies.conversion.kube_descheduler import convert_kube_descheduler
from rescheduler.policies.conversion.outcomes import Same, note_of, paths_of
from rescheduler.policies.conversion.yaml_text import limits_document, policies_text
from rescheduler.policies.files.policy_set import PolicySet, read_policies

Convert = Callable[[Tree, Conversion], None]

FORMS: dict[tuple[str, str], Convert] = {
    ("descheduler/v1alpha1", "DeschedulerPolicy"): convert_first_policy,
    ("descheduler/v1alpha2", "DeschedulerPolicy"): convert_policy,
    ("descheduler/v1alpha2", "DeschedulerConfiguration"): convert_configuration,
    ("operator.openshift.io/v1", "KubeDescheduler"): convert_kube_descheduler,
}
"""apiVersion and kind to what converts such a document."""
WRAPPERS = {
    "ConfigMap": ("data",),
    "HelmRelease": ("spec", "values"),
    "Application": ("spec", "source", "helm"),
}
"""Kinds that hold one of the others in a field."""
_OTHER_CHART = Same("a value of another chart")
_AROUND = Same("of the document around the policy")
_TEMPLATED = (
    "the file is a template: render it first, as by `helm template` or `helm get values -a`"
)
_OVERRIDES = "USER-SUPPLIED VALUES:"
"""What `helm get values` writes above the values, where they are not all."""


class Converted(NamedTuple):
    """What a file became. text: the policies and Limits as YAML. policies: as they are read."""

    conversion: Conversion
    text: str
    policies: PolicySet


def convert(file: TextFile) -> Converted:
    """The policies and Limits that say what a file of descheduler says.

    Raises:
        PolicyError: it cannot be converted; the message names every place.
    """
    if file.problem:
        raise policy_error([(file.name, "", FileProblem(TextSpan(), file.problem))], 1)
    documents, problems = read(file.text, KubernetesReader)
    conversion, form = Conversion({}), ""
    if problems and "{{" in file.text:
        problems = [FileProblem(one.mark, one.message, _TEMPLATED) for one in problems[:1]]
    elif problems and file.text.startswith(_OVERRIDES):
        problems = [FileProblem(one.mark, one.message, ALL_VALUES) for one in problems[:1]]
    elif not problems:
        problems, form = _convert_only(documents, file.text, conversion)
    if not problems and not conversion.drafts:
        problems = list(_why_nothing(documents[0], conversion))
    if problems:
        raise policy_error([(file.name, file.text, one) for one in dict.fromkeys(problems)], 1)
    text = policies_text(conversion, file.name, form)
    made = TextFile("converted.yaml", "converted", text)
    policies = read_policies(made.name, [made], lambda *_: file)
    _check_documents(file, text, conversion)
    return Converted(conversion, text, policies)


def _check_documents(file: TextFile, text: str, conversion: Conversion) -> None:
    """Nothing else is read from the text than what was made, whatever the file says."""
    documents, _ = read(text)
    drafts = [draft.document() for draft in conversion.drafts]
    if [tree.plain() for tree in documents] != [limits_document(conversion.limits), *drafts]:
        message = "other policies are read from what is written than were made of the file"
        raise policy_error([(file.name, "", FileProblem(TextSpan(), message, _UNWRITABLE))], 1)


_UNWRITABLE = "take line separators and other unusual characters out of the file's text"


def _why_nothing(tree: Tree, conversion: Conversion) -> Iterator[FileProblem]:
    """Why no policy is made."""
    message = "nothing of it has an equivalent, so no policy is made"
    yield FileProblem(tree.mark, message, _ENABLE)
    for note in conversion.all_notes():
        if not note.equivalent:
            yield FileProblem(TextSpan(note.line), f"{note.path}: {note.text}")


_ENABLE = "enable a plugin, or write policies by hand; policies/from-descheduler.md has all plugins"


def _convert_only(
    documents: list[Tree], text: str, conversion: Conversion
) -> tuple[list[FileProblem], str]:
    """Convert the one document that there must be."""
    if not documents:
        return [FileProblem(TextSpan(), "the file holds no document")], ""
    if len(documents) > 1:
        places = ", ".join(f"line {tree.mark.line} ({_name(tree)})" for tree in documents)
        message = f"the file holds {len(documents)} documents: {places}"
        hint = "put the one that holds the policy into a file of its own"
        return [FileProblem(documents[1].mark, message, hint)], ""
    tree = documents[0]
    conversion.paths |= paths_of(tree)
    form = _name(tree)
    _convert_document(_unwrap(tree, text, conversion), conversion)
    return conversion.problems, form


def _name(tree: Tree) -> str:
    """What a document is, for people."""
    fields = fields_of(tree)
    if "kind" in fields and "apiVersion" in fields:
        return f"{fields['kind'].value} of {fields['apiVersion'].value}"
    return "Helm values"


def _convert_document(tree: Tree, conversion: Conversion) -> None:
    if conversion.problems:
        return
    fields = fields_of(tree)
    version, kind = (fields.get(name) for name in ("apiVersion", "kind"))
    if version is None or kind is None:
        missing = "kind" if version is not None else "apiVersion"
        forms = ", ".join(f"{kind} of {version}" for version, kind in FORMS)
        hint = f"one of these is meant: {forms}, Helm values with `{POLICY}`"
        hint = f"{hint}; or {ALL_VALUES}" if missing == "apiVersion" else hint
        conversion.complain(tree, f"{missing}: is required to tell what the file is", hint)
        return
    for name, field in (("apiVersion", version), ("kind", kind)):
        if not isinstance(field.value, str):
            conversion.complain(field, f"{name}: must be text")
            return
    form = FORMS.get((str(version.value), str(kind.value)))
    if form is not None:
        form(tree, conversion)
        return
    of_kind = [of_form for of_form, name in FORMS if name == kind.value]
    if of_kind:
        message = f"apiVersion: `{str(version.value)[:60]}` of {kind.value} is not known"
        conversion.complain(version, message, f"`{of_kind[-1]}`; known are {', '.join(of_kind)}")
        return
    kinds = dict.fromkeys([*(name for _, name in FORMS), *WRAPPERS])
    message = f"kind: `{str(kind.value)[:60]}` holds nothing that can be converted"
    hint = near(str(kind.value), kinds) or f"one of {', '.join(kinds)} is meant"
    conversion.complain(kind, message, hint)


def _unwrap(tree: Tree, text: str, conversion: Conversion) -> Tree:
    """The document that matters, of what is around it."""
    kind = str(fields_of(tree)["kind"].value) if "kind" in fields_of(tree) else ""
    items = fields_of(tree).get("items")
    if kind == "List" and items is not None and isinstance(items.value, list):
        if len(items.value) == 1:
            return _unwrap(items.value[0], text, conversion)
        message = f"items: holds {len(items.value)} objects"
        conversion.complain(items, message, "put the one with the policy into a file of its own")
        return tree
    if kind in WRAPPERS:
        return _unwrap_object(tree, kind, text, conversion)
    if "apiVersion" in fields_of(tree):
        return tree
    inner = _values_in(tree)
    for child in fields_of(tree).values() if inner is not None and inner is not tree else ():
        if child is not inner:
            conversion.notes.append(note_of(child, conversion.paths, _OTHER_CHART))
    return tree if inner is None else policy_of_values(inner, conversion)


def _unwrap_object(tree: Tree, kind: str, text: str, conversion: Conversion) -> Tree:
    branch: Tree | None = tree
    for name in WRAPPERS[kind]:
        for key, child in fields_of(branch).items():
            if key != name:
                conversion.notes.append(note_of(child, conversion.paths, _AROUND))
        branch = fields_of(branch).get(name)
    documents: dict[str, Tree] = {}
    for key, child in fields_of(branch).items():
        inner = _document_in(child, text, conversion) if kind != "HelmRelease" else None
        documents |= {key: inner} if inner is not None else {}
    if kind == "HelmRelease" and branch is not None:
        documents = {"values": branch}
    if conversion.problems:
        return tree
    if len(documents) != 1:
        where = ".".join(WRAPPERS[kind])
        message = f"{where}: holds {len(documents)} documents that could be converted"
        form_names = ", ".join(dict.fromkeys(name for _, name in FORMS))
        hint = f"give the text with one of {form_names} as a file of its own"
        hint = f"give the one in {' or '.join(documents)} alone" if documents else hint
        conversion.complain(branch or tree, message, hint)
        return tree
    ((key, inner),) = documents.items()
    for name, child in fields_of(branch).items() if kind != "HelmRelease" else ():
        if name != key:
            conversion.notes.append(note_of(child, conversion.paths, OTHER_KEY))
    return _unwrap(inner, text, conversion)


def _document_in(tree: Tree, text: str, conversion: Conversion) -> Tree | None:
    """The mapping that a field is, or that its text holds."""
    if isinstance(tree.value, dict):
        return tree if _is_foreign(tree) else None
    if not isinstance(tree.value, str) or "\n" not in tree.value:
        return None
    documents, problems = nested_documents(tree, text)
    if problems or len(documents) != 1:
        if any(word in tree.value for word in ("DeschedulerPolicy", POLICY, "Descheduler")):
            conversion.problems += problems
        return None
    conversion.paths |= paths_of(documents[0])
    conversion.put_at(documents[0], documents[0])
    return documents[0] if _is_foreign(documents[0]) else None


def _is_foreign(tree: Tree) -> bool:
    fields = fields_of(tree)
    kinds = [kind for _, kind in FORMS]
    kind = fields.get("kind")
    return (kind is not None and kind.value in kinds) or _values_in(tree) is not None


def _values_in(tree: Tree) -> Tree | None:
    """The values of the chart: the mapping itself, or one of another chart's fields."""
    if POLICY in fields_of(tree):
        return tree
    inner = [child for child in fields_of(tree).values() if POLICY in fields_of(child)]
    return inner[0] if len(inner) == 1 else None
