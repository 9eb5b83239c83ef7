"""Objects found by the names that people type; what is not found is answered with what is near."""

from collections.abc import Iterable
from difflib import get_close_matches

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import NotFound
from rescheduler.model.wording import count_text, verb_for

_SHOWN = 3


def find_pod(snapshot: Snapshot, said: str) -> int:
    """The index of pod `namespace/name`, or of the only pod of that name.

    Raises:
        NotFound: there is none, or several namespaces have one.
    """
    namespace, slash, name = said.rpartition("/")
    matches = [
        index
        for index, pod in enumerate(snapshot.pods)
        if pod.metadata.name == name and (not slash or pod.metadata.namespace == namespace)
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        places = sorted(snapshot.pods[index].key for index in matches)
        raise NotFound(
            f"{len(matches)} pods are called {name}",
            f"one of {_list_names(places, len(places))} is meant.",
        )
    raise NotFound(f"there is no pod {said}", _near_pods(snapshot, namespace, name))


def find_node(snapshot: Snapshot, name: str) -> int:
    """The index of the node of that name.

    Raises:
        NotFound: there is none.
    """
    index = snapshot.node_index.get(name)
    if index is None:
        raise NotFound(f"there is no node {name}", _near(name, snapshot.node_index, "node"))
    return index


def _near_pods(snapshot: Snapshot, namespace: str, name: str) -> str:
    """Namesakes elsewhere first, then the nearest names of the namespace, then of any."""
    keys = [pod.key for pod in snapshot.pods]
    namesakes = sorted(key for key in keys if key.rpartition("/")[2] == name)
    if namesakes:
        return f"{_list_names(namesakes, len(namesakes))} is meant."
    namespaces = {pod.metadata.namespace for pod in snapshot.pods}
    if namespace and namespace not in namespaces:
        close = get_close_matches(namespace, sorted(namespaces), n=_SHOWN)
        if close:
            return f"namespace {_list_names(close, len(close))} is meant."
        return f"another cluster is meant; namespace {namespace} has no pod here."
    own = [key for key in keys if not namespace or key.startswith(f"{namespace}/")]
    names = [key.rpartition("/")[2] for key in own]
    return _near(name, names, "pod", namespace)


def _near(said: str, names: Iterable[str], what: str, namespace: str = "") -> str:
    """The names that are like it; where none is, how many of these things there are."""
    choices = sorted(set(names))
    begun = [name for name in choices if name.startswith(said)]
    close = begun[:_SHOWN] or get_close_matches(said, choices, n=_SHOWN, cutoff=0.5)
    if close:
        shown = [f"{namespace}/{name}" if namespace else name for name in close]
        return f"{_list_names(shown, len(begun) or len(close))} is meant."
    where = f" in namespace {namespace}" if namespace else ""
    are = verb_for(len(choices), "is", "are")
    return f"another cluster is meant; here {are} {count_text(len(choices), what)}{where}."


def _list_names(names: list[str], count: int) -> str:
    """Some of the names: `a, b or 4 more`."""
    words = names[:_SHOWN]
    if count > len(words):
        words = [*words, f"{count - len(words)} more"]
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
