"""The table of what must hold before an eviction, made from the rows of the gates."""

from rescheduler.model.moves.gates import GATES
from rescheduler.model.reasons import CATALOG


def gates_part() -> str:
    """The gates in the order in which they are looked at."""
    lines = ["| when | what must hold | otherwise |", "| --- | --- | --- |"]
    for gate in GATES:
        codes = ", ".join(_link(code) for code in gate.codes)
        ends = "; the run ends" if gate.halts else ""
        lines.append(f"| {gate.moment} | **{gate.name}**: {gate.sentence} | {codes}{ends} |")
    return "\n".join(lines) + "\n"


def _link(code: str) -> str:
    return f"[{code}{'' if code in CATALOG else '...'}](reasons.md#{code.lower()})"
