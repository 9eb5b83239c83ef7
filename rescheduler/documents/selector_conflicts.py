"""Label selectors that no object can satisfy."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rescheduler.documents.field_problems import FieldError


@dataclass
class _Wanted:
    """What the requirements on one key leave. values: those that it may have, None: any."""

    values: set[str] | None = None
    present: bool = False
    absent: bool = False
    refused: set[str] = field(default_factory=set)

    def add(self, operator: str, values: Iterable[str]) -> None:
        """One requirement more. Source: apimachinery pkg/labels/selector.go, Matches."""
        if operator == "In":
            self.values = set(values) if self.values is None else self.values & set(values)
        elif operator == "NotIn":
            self.refused |= set(values)
        self.present |= operator in ("In", "Exists")
        self.absent |= operator == "DoesNotExist"

    def possible(self) -> bool:
        """Whether an object can satisfy all of them."""
        if not self.present:
            return True
        return not self.absent and (self.values is None or bool(self.values - self.refused))


def refuse_conflict(
    labels: Mapping[str, str], expressions: Iterable[tuple[str, str, Iterable[str]]]
) -> None:
    """Refuse what nothing can satisfy. expressions: key, operator and values of each.

    Raises:
        FieldError: at the first expression that fits neither the labels nor those before it.
    """
    wanted = {key: _Wanted({value}, present=True) for key, value in labels.items()}
    for number, (key, operator, values) in enumerate(expressions):
        of_key = wanted.setdefault(key, _Wanted())
        of_key.add(operator, values)
        if not of_key.possible():
            message = f"nothing satisfies this together with the other requirements of `{key}`"
            raise FieldError(message, ("matchExpressions", number))
