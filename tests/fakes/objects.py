"""The objects of a cluster by kind, namespace and name, and those of each kind apart."""

from collections import defaultdict
from typing import Any

Key = tuple[str, str, str]
Object = dict[str, Any]


class Objects(dict[Key, Object]):
    """What is stored, in its order. Almost everybody asks for one kind, of the dozens there are."""

    def __init__(self) -> None:
        super().__init__()
        self._kinds: defaultdict[str, dict[Key, Object]] = defaultdict(dict)

    def of(self, kind: str) -> dict[Key, Object]:
        """Those of a kind."""
        return self._kinds[kind]

    def __setitem__(self, key: Key, value: Object) -> None:
        super().__setitem__(key, value)
        self._kinds[key[0]][key] = value

    def __delitem__(self, key: Key) -> None:
        super().__delitem__(key)
        del self._kinds[key[0]][key]

    def pop(self, key: Key, *default: Any) -> Any:
        """Take an object out, and answer it."""
        self._kinds[key[0]].pop(key, None)
        return super().pop(key, *default)

    def _unsupported(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("the kinds would not follow")

    update = clear = setdefault = popitem = __ior__ = _unsupported
