"""What a fault does to its place: a few changes of syntax, each named by a fragment of the code.

- `never`, `always`: a condition becomes False, True; of `a if b else c` the other half remains.
- `boundary`: a comparison takes in its limit, or leaves it out: `<` becomes `<=`, `>=` becomes `>`.
- `drop`: a statement goes.
- `without`: a part of an expression goes: a term of and, or, a sum or a product; an element; an
  argument; a condition of a comprehension.
- `replace` ... `by`: an expression becomes another one; a statement, where `by` is statements. In
  `by` `_` is what was there.

A fragment is an expression or a statement, compared as syntax. It means the smallest condition,
comparison, statement or part that contains it; where `replace` puts an expression, exactly what it
says. It must mean one thing. Where it would mean several, `before` or `after` names another
fragment: only what stands before, or after, the first place of that one counts. In a fragment

- `paused` is the name, the keyword argument, or the end of a dotted name: `actor.ledger.paused`;
- `...` is any expression, any arguments: `was_evicted(...)`, or any block: `if late: ...`.
"""

import ast
import builtins
import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from types import EllipsisType
from typing import NamedTuple

from tests.mutants.places import DoesNotApply, Place

OPERATORS = ("never", "always", "boundary", "drop", "without", "replace")
_TESTS = {
    (ast.If, "test"),
    (ast.While, "test"),
    (ast.IfExp, "test"),
    (ast.Assert, "test"),
    (ast.comprehension, "ifs"),
    (ast.match_case, "guard"),
}
_PARTS = {
    (ast.BoolOp, "values"),
    (ast.BinOp, "left"),
    (ast.BinOp, "right"),
    (ast.List, "elts"),
    (ast.Tuple, "elts"),
    (ast.Set, "elts"),
    (ast.Dict, "keys"),
    (ast.Dict, "values"),
    (ast.Call, "args"),
    (ast.Call, "keywords"),
    (ast.comprehension, "ifs"),
}
_BOUNDARIES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_NOT_COMPARED = ("ctx", "kind", "type_comment")
Accept = Callable[[ast.AST], bool]


class Change(NamedTuple):
    """An operator and its fragment. by: what replaces it; before, after: where it is looked for."""

    operator: str
    fragment: str
    by: str = ""
    before: str = ""
    after: str = ""


class _Slot(NamedTuple):
    """Where in its parent a node is. at: its index; None where it is not one of a list."""

    parent: ast.AST
    field: str
    at: int | None

    @property
    def kind(self) -> tuple[type[ast.AST], str]:
        return type(self.parent), self.field

    def put(self, *nodes: ast.AST) -> None:
        if self.at is None:
            (node,) = nodes
            setattr(self.parent, self.field, node)
        else:
            siblings = getattr(self.parent, self.field)
            siblings[self.at : self.at + 1] = nodes
            if not siblings and self.field in ("body", "finalbody"):
                siblings.append(ast.Pass())


class _Tree:
    """A copy of a definition that may be changed, and where in it each node is."""

    def __init__(self, node: ast.stmt) -> None:
        self.root = deepcopy(node)
        self.slots: dict[ast.AST, _Slot] = {}
        for parent in ast.walk(self.root):
            for field, value in ast.iter_fields(parent):
                children = enumerate(value) if isinstance(value, list) else [(None, value)]
                for index, child in children:
                    if isinstance(child, ast.AST):
                        self.slots[child] = _Slot(parent, field, index)

    def named(self, change: Change, accept: Accept, *, exact: bool = False) -> ast.AST:
        """The one accepted node that the fragment means.

        It is the smallest that contains the fragment; with `exact` the fragment is all of it.
        """
        matches = self._matches(change.fragment)
        if change.before:
            matches = [node for node in matches if _end(node) <= self._first(change.before)[0]]
        if change.after:
            matches = [node for node in matches if _start(node) >= self._first(change.after)[1]]
        if exact:
            values = (node.value if isinstance(node, ast.keyword) else node for node in matches)
            found = {node for node in values if accept(node)}
        else:
            found = {node for match in matches if (node := self._around(match, accept))}
        if len(found) != 1:
            lines = sorted({ast.unparse(node).partition("\n")[0] for node in found})
            raise DoesNotApply(
                f"{change.operator} = {change.fragment!r} has {len(found)} meanings"
                + "".join(f"\n  {line}" for line in lines)
            )
        return found.pop()

    def _matches(self, text: str) -> list[ast.AST]:
        parsed = _parsed(text)
        fragments = parsed if isinstance(parsed, list) else [parsed]
        if len(fragments) != 1:
            raise DoesNotApply(f"{text!r} is {len(fragments)} statements")
        return [node for node in ast.walk(self.root) if _equal(fragments[0], node)]

    def _first(self, text: str) -> tuple[tuple[int, int], tuple[int, int]]:
        """Where the fragment begins and ends where it occurs first."""
        places = [(_start(node), _end(node)) for node in self._matches(text)]
        if not places:
            raise DoesNotApply(f"{text!r} does not occur")
        return min(places)

    def _around(self, node: ast.AST, accept: Accept) -> ast.AST | None:
        while node in self.slots:
            if accept(node):
                return node
            node = self.slots[node].parent
        return None

    def is_condition(self, node: ast.AST) -> bool:
        """It is what an if or while asks, or a whole and, or, not, or comparison."""
        slot = self.slots[node]
        return slot.kind in _TESTS or (_is_boolean(node) and not _is_boolean(slot.parent))

    def is_part(self, node: ast.AST) -> bool:
        return self.slots[node].kind in _PARTS

    def decide(self, node: ast.AST, verdict: bool) -> None:
        slot = self.slots[node]
        if isinstance(slot.parent, ast.IfExp) and slot.field == "test":
            self.slots[slot.parent].put(slot.parent.body if verdict else slot.parent.orelse)
        else:
            slot.put(ast.Constant(verdict))

    def leave_out(self, node: ast.AST) -> None:
        slot = self.slots[node]
        match slot.parent:
            case ast.BinOp(left=left, right=right) as parent:
                self.slots[parent].put(right if node is left else left)
            case ast.BoolOp(values=[first, second]) as parent:
                self.slots[parent].put(second if node is first else first)
            case ast.Dict(keys=keys, values=values) if slot.at is not None:
                del keys[slot.at], values[slot.at]
            case _:
                slot.put()


class _Filled(ast.NodeTransformer):
    """Puts what was there in place of `_`."""

    def __init__(self, before: ast.AST) -> None:
        self._before = before

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        value = self.visit(node.value)
        return value if isinstance(value, ast.stmt) else ast.Expr(value)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        is_before = node.id == "_" and isinstance(node.ctx, ast.Load)
        return self._before if is_before else node


def mutated(place: Place, change: Change) -> str:
    """The text of the place's file with this change.

    Raises:
        DoesNotApply: the fragment names nothing there that can be so changed, or several.
    """
    tree = _Tree(place.node)
    try:
        _apply(change, tree, place)
    except DoesNotApply as error:
        raise DoesNotApply(f"{place.name}: {error}") from None
    return place.source_with(tree.root)


def _apply(change: Change, tree: _Tree, place: Place) -> None:
    match change.operator:
        case "never" | "always" as operator:
            tree.decide(tree.named(change, tree.is_condition), operator == "always")
        case "boundary":
            compare = tree.named(change, _has_boundary)
            if isinstance(compare, ast.Compare):
                compare.ops = [_BOUNDARIES[type(compare.ops[0])]()]
        case "drop":
            tree.slots[tree.named(change, _is_statement)].put()
        case "without":
            tree.leave_out(tree.named(change, tree.is_part))
        case "replace":
            by = _parsed(change.by)
            is_expression = isinstance(by, ast.expr)
            statements = [by] if isinstance(by, ast.expr) else by
            _check_names(statements, place)
            accept = _is_expression if is_expression else _is_statement
            node = tree.named(change, accept, exact=is_expression)
            tree.slots[node].put(*(_Filled(node).visit(statement) for statement in statements))
        case other:
            raise DoesNotApply(f"{other} is none of {', '.join(OPERATORS)}")


def _check_names(by: Iterable[ast.AST], place: Place) -> None:
    """A name that is nowhere would raise an error, and so be found by any test."""
    names = [node for part in by for node in ast.walk(part) if isinstance(node, ast.Name)]
    own = {name.id for name in names if not isinstance(name.ctx, ast.Load)} | {"_"}
    for name in {name.id for name in names} - own - vars(builtins).keys():
        if not re.search(rf"\b{name}\b", place.source):
            raise DoesNotApply(f"{place.file} has no {name}")


def _parsed(text: str) -> ast.expr | list[ast.stmt]:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        pass
    try:
        return ast.parse(text).body
    except SyntaxError as error:
        raise DoesNotApply(f"{text!r} is no Python: {error.msg}") from None


def _equal(wanted: object, node: object) -> bool:
    match wanted, node:
        case ast.Constant(value=EllipsisType()), ast.expr():
            return True
        case ast.Name(id=name), ast.Attribute(attr=end) | ast.keyword(arg=end):
            return name == end
        case ast.Call(args=[ast.Constant(value=EllipsisType())]), ast.Call():
            return _equal(wanted.func, node.func)
        case ast.AST(), ast.AST():
            return type(wanted) is type(node) and all(
                _equal(getattr(wanted, field), getattr(node, field))
                for field in wanted._fields
                if field not in _NOT_COMPARED
            )
        case [ast.Expr(value=ast.Constant(value=EllipsisType()))], [ast.stmt(), *_]:
            return True
        case list(), list():
            return len(wanted) == len(node) and all(map(_equal, wanted, node))
    return type(wanted) is type(node) and wanted == node


def _start(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _end(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)


def _is_boolean(node: ast.AST) -> bool:
    is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return is_not or isinstance(node, ast.BoolOp | ast.Compare)


def _has_boundary(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and [type(op) in _BOUNDARIES for op in node.ops] == [True]


def _is_expression(node: ast.AST) -> bool:
    return isinstance(node, ast.expr)


def _is_statement(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt)
