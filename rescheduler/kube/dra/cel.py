"""The part of CEL that device selectors are written in, as far as we evaluate it.

Kept: `device.driver`, attributes and capacities by domain and name, literals, lists, comparisons,
`in`, `&&`, `||`, `!`, parentheses, `quantity()`, and a few methods. Anything else is refused before
a device is evaluated.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from rescheduler.kube.dra.devices import Device
from rescheduler.kube.quantity import nanos

_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?\d+)(?![\w.])|(?P<text>\"[^\"\\]*\"|'[^'\\]*')|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>&&|\|\||==|!=|<=|>=|[<>!()\[\].,]))"
)


class Unclear(ValueError):
    """An expression that is not evaluated here, or that fails on a device."""


_MOST_DIGITS = 20
"""Of an integer, with its sign: CEL has 64 bits."""


class CelDevice(NamedTuple):
    """A device as an expression sees it."""

    driver: str
    device: Device


class Quantity(NamedTuple):
    """An amount, in billionths of a unit."""

    amount: int


Node = Callable[[CelDevice], Any]
_DEVICE, _ATTRIBUTES, _CAPACITY = object(), object(), object()


class _Domain(NamedTuple):
    """device.attributes["domain"], or of capacity."""

    values: dict[str, Any]


def evaluate(expression: Node, subject: CelDevice) -> bool:
    """Whether the device is selected.

    Raises:
        Unclear: the expression fails on this device, or gives no truth value.
    """
    try:
        answer = expression(subject)
    except RecursionError as error:
        raise Unclear("it is nested too deeply") from error
    if not isinstance(answer, bool):
        raise Unclear("it gives no truth value")
    return answer


def parse(text: str) -> Node:
    """The expression.

    Raises:
        Unclear: it uses more of CEL than is evaluated here.
    """
    parser = _Parser(text)
    try:
        node = parser.disjunction()
    except RecursionError as error:
        raise Unclear("it is nested too deeply") from error
    if parser.kind:
        raise Unclear(f"`{parser.value}` is not evaluated here")
    return node


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text.strip()
        self._at = 0
        self.kind = self.value = ""
        self._advance()

    def disjunction(self) -> Node:
        node = self._conjunction()
        while self._take("||"):
            node = _logical_node(node, self._conjunction(), True)
        return node

    def _conjunction(self) -> Node:
        node = self._comparison()
        while self._take("&&"):
            node = _logical_node(node, self._comparison(), False)
        return node

    def _comparison(self) -> Node:
        lhs = self._negation()
        sign = self.value
        if self.kind == "sign" and sign in ("==", "!=", "<", "<=", ">", ">="):
            self._advance()
            return _relation_node(sign, lhs, self._negation())
        if self.kind == "name" and sign == "in":
            self._advance()
            self._expect("[")
            members = self._arguments("]")
            return lambda subject: any(_equal(lhs(subject), member(subject)) for member in members)
        return lhs

    def _negation(self) -> Node:
        if not self._take("!"):
            return self._access()
        inner = self._negation()
        return lambda subject: not _truth(inner(subject))

    def _access(self) -> Node:
        node = self._primary()
        while True:
            if self._take("."):
                name = self._name()
                if self._take("("):
                    node = _call_node(name, node, self._arguments(")"))
                else:
                    node = _member(node, name)
            elif self._take("["):
                if self.kind != "text":
                    raise Unclear("an index that is not a text is not evaluated here")
                key = self.value[1:-1]
                self._advance()
                self._expect("]")
                node = _member(node, key)
            else:
                return node

    def _primary(self) -> Node:
        kind, value = self.kind, self.value
        if self._take("("):
            node = self.disjunction()
            self._expect(")")
            return node
        self._advance()
        if kind == "number":
            if len(value) > _MOST_DIGITS:
                raise Unclear(f"a number of {len(value)} digits")
            return _constant(int(value))
        if kind == "text":
            return _constant(value[1:-1])
        if kind == "name" and value in ("true", "false"):
            return _constant(value == "true")
        if kind == "name" and value == "device":
            return _constant(_DEVICE)
        if kind == "name" and value == "quantity" and self._take("("):
            arguments = self._arguments(")")
            if len(arguments) == 1:
                return lambda subject: _quantity(arguments[0](subject))
        raise Unclear(f"`{value}` is not evaluated here")

    def _arguments(self, end: str) -> list[Node]:
        arguments: list[Node] = []
        while not self._take(end):
            if arguments:
                self._expect(",")
            arguments.append(self.disjunction())
        return arguments

    def _name(self) -> str:
        if self.kind != "name":
            raise Unclear(f"`{self.value}` is not evaluated here")
        name = self.value
        self._advance()
        return name

    def _take(self, sign: str) -> bool:
        if self.kind == "sign" and self.value == sign:
            self._advance()
            return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise Unclear(f"`{self.value or 'its end'}` is not evaluated here")

    def _advance(self) -> None:
        if self._at >= len(self._text):
            self.kind = self.value = ""
            return
        token = _TOKEN.match(self._text, self._at)
        if token is None:
            raise Unclear(f"`{self._text[self._at :]}` is not evaluated here")
        self._at = token.end()
        self.kind = token.lastgroup or ""
        self.value = token[self.kind]


def _quantity(value: object) -> Quantity:
    if not isinstance(value, str | int | float):
        raise Unclear("it takes something for a quantity that is none")
    try:
        return Quantity(nanos(value))
    except ValueError as error:
        raise Unclear(str(error)) from error


def _constant(value: object) -> Node:
    return lambda _: value


def _logical_node(lhs: Node, rhs: Node, decisive: bool) -> Node:
    """`||` (decisive: True) or `&&`: a side that decides hides that the other one fails."""

    def apply(subject: CelDevice) -> bool:
        try:
            if _truth(lhs(subject)) is decisive:
                return decisive
        except Unclear:
            if _truth(rhs(subject)) is decisive:
                return decisive
            raise
        return _truth(rhs(subject))

    return apply


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise Unclear("it takes something for a truth value that is none")
    return value


def _equal(lhs: object, rhs: object) -> bool:
    if isinstance(lhs, Quantity | dict) or isinstance(rhs, Quantity | dict):
        raise Unclear("it compares what is not compared here")
    return type(lhs) is type(rhs) and lhs == rhs


def _relation_node(sign: str, lhs: Node, rhs: Node) -> Node:
    def apply(subject: CelDevice) -> bool:
        one, other = lhs(subject), rhs(subject)
        if sign in ("==", "!="):
            return _equal(one, other) is (sign == "==")
        if type(one) is not type(other) or not isinstance(one, int | str):
            raise Unclear("it compares values of different kinds")
        if isinstance(one, bool):
            raise Unclear("it orders truth values")
        answers = {"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}
        return bool(answers[sign])

    return apply


def _member(node: Node, name: str) -> Node:
    def apply(subject: CelDevice) -> Any:
        value = node(subject)
        if value is _DEVICE:
            return _of_device(subject, name)
        if value is _ATTRIBUTES:
            return _Domain(_domain_values(subject.device.attributes, subject.driver, name))
        if value is _CAPACITY:
            return _Domain(_domain_values(subject.device.capacity, subject.driver, name))
        if not isinstance(value, _Domain) or name not in value.values:
            raise Unclear(f"a device has no {name}")
        return _plain(value.values[name])

    return apply


def _of_device(subject: CelDevice, name: str) -> Any:
    if name == "driver":
        return subject.driver
    if name == "attributes":
        return _ATTRIBUTES
    if name == "capacity":
        return _CAPACITY
    if name == "allowMultipleAllocations":
        return bool(subject.device.allowMultipleAllocations)
    raise Unclear(f"device.{name} is not evaluated here")


def _domain_values(values: dict[str, Any] | None, driver: str, domain: str) -> dict[str, Any]:
    """The values of one domain by their names; those without a domain are in the driver's own."""
    answer = {}
    for full, value in (values or {}).items():
        own, _, name = full.rpartition("/")
        if (own or driver) == domain:
            answer[name] = value
    return answer


def _plain(value: Any) -> Any:
    if hasattr(value, "requestPolicy"):
        return _quantity(value.value)
    for scalar in (value.text, value.number, value.flag):
        if scalar is not None:
            return scalar
    raise Unclear("versions are not compared here")


def _call_node(name: str, target: Node, arguments: list[Node]) -> Node:
    def apply(subject: CelDevice) -> Any:
        value, other = target(subject), arguments[0](subject)
        if isinstance(value, Quantity) and isinstance(other, Quantity):
            order = (value > other) - (value < other)
            return {"compareTo": order, "isGreaterThan": order > 0, "isLessThan": order < 0}[name]
        if isinstance(value, str) and isinstance(other, str) and name in _OF_TEXTS:
            return _OF_TEXTS[name](value, other)
        raise Unclear(f"{name}() is not evaluated here")

    if len(arguments) != 1 or name not in (*_OF_TEXTS, "compareTo", "isGreaterThan", "isLessThan"):
        raise Unclear(f"{name}() is not evaluated here")
    return apply


_OF_TEXTS: dict[str, Callable[[str, str], bool]] = {
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "contains": lambda value, part: part in value,
}
