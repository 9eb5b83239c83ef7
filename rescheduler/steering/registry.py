"""The means of steering that there are: whatever the files of `means` define."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules

from rescheduler.steering import means
from rescheduler.steering.base import Means


def _defined() -> Iterator[type[Means]]:
    for file in iter_modules(means.__path__, f"{means.__name__}."):
        for defined in vars(import_module(file.name)).values():
            made = isinstance(defined, type) and issubclass(defined, Means)
            if made and defined.__module__ == file.name:
                yield defined


MEANS: Mapping[str, type[Means]] = {each.name: each for each in _defined()}
"""Each means by its name, in the order of the names of their files."""
TAINTING = " and ".join(each.name for each in MEANS.values() if each.taints)
"""The names of those that taint nodes, for documentation."""
