"""What is wrong in a policy file, told as a compiler would: place, line, caret, advice."""

from collections.abc import Iterable
from dataclasses import dataclass

from rescheduler.model.errors import Place, PolicyError
from rescheduler.model.wording import counted


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file. line, column: from 1. length: how many characters it is about."""

    line: int = 1
    column: int = 1
    length: int = 1


@dataclass(frozen=True, slots=True)
class FileProblem:
    """One thing that is wrong. message: begins with the field, where there is one."""

    mark: Mark
    message: str
    hint: str = ""

    def told(self, file: str, text: str) -> str:
        """The flaw as people read it; text: the content of the file."""
        answer = [f"{file}:{self.mark.line}:{self.mark.column}: {self.message}"]
        lines = text.splitlines()
        if self.mark.line <= len(lines):
            line = lines[self.mark.line - 1].replace("\t", " ")
            room = max(1, len(line) - self.mark.column + 1)
            caret = "^" * max(1, min(self.mark.length, room))
            answer.append(f"  {self.mark.line:>4} | {line}")
            answer.append(f"       | {' ' * (self.mark.column - 1)}{caret}")
        if self.hint:
            answer.append(f"  Maybe {self.hint}")
        return "\n".join(answer)

    def place(self, file: str) -> Place:
        """The flaw as machines read it."""
        advice = f"\nMaybe {self.hint}" if self.hint else ""
        return Place(file, self.mark.line, self.mark.column, self.message + advice)


def policy_error(file_problems: Iterable[tuple[str, str, FileProblem]], files: int) -> PolicyError:
    """All flaws in one error. flaws: file, its content, and the flaw. files: how many were read."""
    known = list(file_problems)
    told = [file_problem.told(file, text) for file, text, file_problem in known]
    bad = len({file for file, _, _ in known})
    told.append(f"{counted(len(known), 'problem')} in {bad} of {counted(files, 'file')}")
    places = tuple(file_problem.place(file) for file, _, file_problem in known)
    return PolicyError("\n".join(told), places=places)
