"""What each operator makes of a small module, and what is said where it cannot."""

import ast
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.cases import every
from tests.mutants.operators import Change, mutated
from tests.mutants.places import DoesNotApply, Program

GATE = '''"""A module."""

from somewhere import FRESH, Late, Refused

LIMIT, REST = 3, 5


def guard(actor, moves, *, stop=False):
    """Guard all.

    In order.
    """
    began = actor.steady()  # now
    if actor.ledger.paused and not stop:
        raise Refused("paused")
    elif began > FRESH:
        return []
    waiting = [m for m in moves if m.open and m.at <= FRESH] + [began]
    try:
        actor.send(waiting, timeout=actor.pace.call)
    except Late as error:
        return {"late": error, "moves": moves}
    finally:
        actor.close()
    return waiting


class Gate:
    OPEN = frozenset({1, 2})

    @property
    def held(self):
        return self.lease.held or self.renewed is not None

    def check(self, pod):
        self.look(pod)
        if pod is None:
            return f"{self.name}/gone"
        self.look(pod)
        return "" if self.held else "lost"


def twice():
    return 1
'''
OTHER = "def twice():\n    return 2\n"


@cache
def program() -> Program:
    with TemporaryDirectory() as folder:
        Path(folder, "app", "inner").mkdir(parents=True)
        Path(folder, "app", "gate.py").write_text(GATE)
        Path(folder, "app", "inner", "__init__.py").write_text(OTHER)
        return Program(Path(folder), "app")


def made(at: str, change: Change) -> str:
    return mutated(program().place(at), change)


@every(
    {
        "never": ("guard", Change("never", "paused"), "actor.ledger.paused and not stop", "False"),
        "always": ("guard", Change("always", "began > FRESH"), "elif began > FRESH", "elif True"),
        "a condition of a comprehension": (
            *("guard", Change("never", "open")),
            *("m.open and m.at <= FRESH", "False"),
        ),
        "a condition that is returned": (
            *("Gate.held", Change("always", "renewed")),
            *("self.lease.held or self.renewed is not None", "True"),
        ),
        "one half remains": ("Gate.check", Change("never", "held"), '"" if self.held else ', ""),
        "boundary": ("guard", Change("boundary", "at"), "m.at <= FRESH", "m.at < FRESH"),
        "boundary of an elif": ("guard", Change("boundary", "began"), "began >", "began >="),
    }
)
def test_conditions(at: str, change: Change, old: str, new: str) -> None:
    assert GATE.count(old) == 1
    assert ast.dump(ast.parse(made(at, change))) == ast.dump(ast.parse(GATE.replace(old, new)))


@every(
    {
        "a statement": (
            "guard",
            Change("drop", "steady"),
            "    began = actor.steady()  # now\n",
            "",
        ),
        "with its block": (
            *("Gate.check", Change("drop", "if pod is None: ...")),
            *('        if pod is None:\n            return f"{self.name}/gone"\n', ""),
        ),
        "the only one of a block": ("guard", Change("drop", "close"), "actor.close()", "pass"),
        "the first of two": (
            *("Gate.check", Change("drop", "look", before="None")),
            *("        self.look(pod)\n        if", "        if"),
        ),
        "the second of two": (
            *("Gate.check", Change("drop", "look", after="None")),
            *("        self.look(pod)\n        return", "        return"),
        ),
        "a term": ("guard", Change("without", "stop"), " and not stop", ""),
        "a term of or": ("Gate.held", Change("without", "lease"), "self.lease.held or ", ""),
        "a side of a sum": ("guard", Change("without", "[began]"), " + [began]", ""),
        "a keyword argument": (
            *("guard", Change("without", "timeout")),
            *(", timeout=actor.pace.call", ""),
        ),
        "an element": ("Gate.OPEN", Change("without", "2"), ", 2", ""),
        "an entry": ("guard", Change("without", '"late"'), '"late": error, ', ""),
    }
)
def test_what_goes(at: str, change: Change, old: str, new: str) -> None:
    assert GATE.count(old) == 1
    assert ast.dump(ast.parse(made(at, change))) == ast.dump(ast.parse(GATE.replace(old, new)))


@every(
    {
        "the end of a dotted name": ("guard", ("call", "0.0"), "actor.pace.call", "0.0"),
        "a keyword argument": ("guard", ("timeout", "None"), "actor.pace.call", "None"),
        "a call with any arguments": ("guard", ("close(...)", "0"), "actor.close()", "0"),
        "any operand": (
            "guard",
            ("... > FRESH", "_ or stop"),
            "began > FRESH",
            "began > FRESH or stop",
        ),
        "what was there": ("guard", ("open", "not _"), "m.open", "not m.open"),
        "a caught exception": ("guard", ("Late", "OSError"), "except Late", "except OSError"),
        "a statement": ("guard", ("Refused", "return"), 'raise Refused("paused")', "return"),
        "a statement follows": ("guard", ("close", "_\npass"), "close()", "close()\n        pass"),
        "a condition goes before": (
            "guard",
            ("close", "if stop: _"),
            "actor.c",
            "if stop: actor.c",
        ),
        "a part of a text": ("Gate.check", ('"/gone"', '""'), "/gone", ""),
        "a constant": ("REST", ("5", "6"), "5", "6"),
        "in a class": ("Gate", ('"lost"', "self.name"), '"lost"', "self.name"),
    }
)
def test_what_is_replaced(at: str, texts: tuple[str, str], old: str, new: str) -> None:
    assert GATE.count(old) == 1
    text = made(at, Change("replace", *texts))
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(GATE.replace(old, new)))


def test_all_but_the_place_stays_as_it_is_written() -> None:
    text = made("Gate.held", Change("never", "renewed"))
    before, after = GATE.split("        return self.lease.held or self.renewed is not None\n")
    assert text == f"{before}        return False\n{after}"


@every(
    {
        "no place": ("gate", Change("drop", "x"), "nothing is called gate"),
        "a part of a name": ("check", Change("drop", "x"), "Maybe Gate.check"),
        "two places": ("twice", Change("drop", "x"), "2 meanings: app.gate.twice, app.inner.twice"),
        "no operator": ("guard", Change("skip", "x"), "skip is none of never, always"),
        "no fragment": ("guard", Change("drop", "until"), "guard: drop = 'until' has 0 meanings"),
        "two statements": ("Gate.check", Change("drop", "look"), "has 2 meanings\n  self.look"),
        "no condition": ("guard", Change("never", "close"), "has 0 meanings"),
        "two expressions": ("guard", Change("replace", "FRESH", "0"), "has 2 meanings"),
        "nothing before": ("guard", Change("drop", "close", before="now"), "'now' does not occur"),
        "no Python": ("guard", Change("drop", "if"), "'if' is no Python"),
        "several statements": ("guard", Change("drop", "a = 1\nb = 2"), "is 2 statements"),
        "a name that is nowhere": (
            "guard",
            Change("replace", "Late", "Never"),
            "gate.py has no Never",
        ),
    }
)
def test_what_does_not_apply_says_why(at: str, change: Change, said: str) -> None:
    with pytest.raises(DoesNotApply) as raised:
        made(at, change)
    assert said in str(raised.value)


def test_where_two_modules_have_a_name_the_module_goes_before_it() -> None:
    assert program().place("gate.twice").file == "app/gate.py"
    assert program().place("inner.twice").name == "app.inner.twice"
    assert mutated(program().place("inner.twice"), Change("replace", "2", "3")) == OTHER.replace(
        "2", "3"
    )
