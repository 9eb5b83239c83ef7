"""Where faults go: the functions, classes and assigned names of the program, by their names.

A place has the name that it has inside its module: `Gates._lock`, `refuse_rank`, `FRESH`,
`Limits.batchSize`. Where several modules have the same, so much of the module goes before it that
it is one: `gates.GATES`. So moving a function to another module changes nothing.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_INDENT = 4


class DoesNotApply(ValueError):
    """What a fault names is not there, or several times."""


class Place(NamedTuple):
    """A definition of the program. name: with its module."""

    file: str
    name: str
    source: str
    node: ast.stmt

    def source_with(self, changed: ast.stmt) -> str:
        """The text of the file with another definition in place of this one."""
        depth = self.node.col_offset // _INDENT
        for _ in range(depth):
            changed = ast.If(ast.Constant(True), [changed], [])
        text = ast.unparse(changed).split("\n")
        decorators: Sequence[ast.expr] = getattr(self.node, "decorator_list", ())
        first = min([self.node.lineno, *(node.lineno for node in decorators)])
        lines = self.source.split("\n")
        lines[first - 1 : self.node.end_lineno] = ["\n".join(text[depth:]).lstrip("\n")]
        return "\n".join(lines)


class Program:
    """All places of a package; reads and parses each module once."""

    def __init__(self, root: Path, package: str = "rescheduler") -> None:
        self._places: dict[str, list[tuple[str, Place]]] = defaultdict(list)
        for path in sorted((root / package).rglob("*.py")):
            file = path.relative_to(root)
            module = ".".join(file.with_suffix("").parts).removesuffix(".__init__")
            source = path.read_text()
            for name, node in _definitions(ast.parse(source).body):
                place = Place(str(file), f"{module}.{name}", source, node)
                self._places[name].append((module, place))

    def place(self, at: str) -> Place:
        """The one place that has this name.

        Raises:
            DoesNotApply: none has it, or several have.
        """
        words = at.split(".")
        found = [
            place
            for start in range(len(words))
            for module, place in self._places.get(".".join(words[start:]), ())
            if f".{module}".endswith("".join(f".{word}" for word in words[:start]))
        ]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(place.name for place in found)
            raise DoesNotApply(f"{at} has {len(found)} meanings: {names}")
        last = words[-1]
        like = [name for name in self._places if name.rpartition(".")[2] == last]
        maybe = f"\nMaybe {' or '.join(like[:5])}" if like else ""
        raise DoesNotApply(f"nothing is called {at}{maybe}")


def _definitions(body: Sequence[ast.stmt], inside: str = "") -> Iterator[tuple[str, ast.stmt]]:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield f"{inside}{node.name}", node
            case ast.ClassDef():
                yield f"{inside}{node.name}", node
                yield from _definitions(node.body, f"{inside}{node.name}.")
            case ast.Assign(targets=targets):
                for target in targets:
                    for part in ast.walk(target):
                        if isinstance(part, ast.Name):
                            yield f"{inside}{part.id}", node
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield f"{inside}{name}", node
