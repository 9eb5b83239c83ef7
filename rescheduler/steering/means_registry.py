"""All means of steering, found in the package `means`."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules

from rescheduler.steering import means
from rescheduler.steering.means_base import Means


def _means_classes() -> Iterator[type[Means]]:
    for file in iter_modules(means.__path__, f"{means.__name__}."):
        for defined in vars(import_module(file.name)).values():
            made = isinstance(defined, type) and issubclass(defined, Means)
            if made and defined.__module__ == file.name:
                yield defined


MEANS: Mapping[str, type[Means]] = {mean.name: mean for mean in _means_classes()}
"""Each means by its name, in the order of the names of their files."""
TAINTING = " and ".join(mean.name for mean in MEANS.values() if mean.taints)
"""The names of those that taint nodes, for documentation."""
