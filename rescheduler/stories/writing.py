"""Results of stories, for people, for what reads JUnit, and for GitHub."""

from collections.abc import Sequence
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rescheduler.model.errors import PolicyError
from rescheduler.model.wording import counted
from rescheduler.stories.annotations import annotation, annotations
from rescheduler.stories.running import Result
from rescheduler.stories.telling import Difference


def to_text(results: Sequence[Result]) -> str:
    """File by file, each story on a line, and under it what is not as expected."""
    lines: list[str] = []
    for file, found in groupby(results, key=lambda result: result.file):
        lines.append(file)
        for each in found:
            lines += _lines(each)
    told = [each for each in results if each.name]
    failed = sum(bool(each.differences) for each in told)
    broken = sum(each.broken is not None for each in results)
    files = len({each.file for each in results})
    lines.append(
        f"{counted(len(told), 'story', 'stories')} in {counted(files, 'file')}, "
        f"{failed} failed{f', {broken} broken' if broken else ''}"
    )
    return "\n".join(lines) + "\n"


def to_junit(results: Sequence[Result]) -> str:
    """A JUnit file: one suite a file, one case a story; a file that is broken is one case too."""
    root = Element("testsuites", _totals(results))
    for file, grouped in groupby(results, key=lambda result: result.file):
        found = list(grouped)
        suite = SubElement(root, "testsuite", {"name": file, **_totals(found)})
        for each in found:
            name = each.name or file
            case = SubElement(
                suite, "testcase", name=name, classname=file, file=file, line=str(each.line)
            )
            if each.broken is not None:
                error = SubElement(case, "error", message=_first(each.broken))
                error.text = str(each.broken)
            elif each.differences:
                told = [" ".join(line.split()) for line in _told(each)]
                failure = SubElement(case, "failure", message="; ".join(told))
                failure.text = "\n".join(told)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def to_github(results: Sequence[Result]) -> str:
    """The text, and a mark on the line of each story that does not end as expected."""
    marks: list[str] = []
    for each in results:
        if each.broken is not None:
            marks += annotations(each.broken, each.file)
        elif each.differences:
            told = "\n".join(_told(each))
            marks.append(annotation("error", told, title=each.name, file=each.file, line=each.line))
    return to_text(results) + "".join(f"{mark}\n" for mark in marks)


def _lines(each: Result) -> list[str]:
    """A story as text."""
    if each.broken is not None:
        told = [f"        {line}" for line in str(each.broken).splitlines()]
        return [f"  BROKEN  {each.name}".rstrip(), *told]
    if each.holds:
        return [f"  ok    {each.name}"]
    place = f"        {each.file}:{each.line}"
    return [f"  FAIL  {each.name}", place, *(f"        {line}" for line in _told(each))]


def _told(each: Result) -> list[str]:
    return [line for one in each.differences for line in _shown(one)]


def _totals(results: Sequence[Result]) -> dict[str, str]:
    counts = {
        "tests": len(results),
        "failures": sum(bool(each.differences) for each in results),
        "errors": sum(each.broken is not None for each in results),
    }
    return {name: str(count) for name, count in counts.items()}


def _first(error: PolicyError) -> str:
    return error.places[0].message if error.places else error.message


def _shown(difference: Difference) -> list[str]:
    """Lists entry by entry, so that the eye finds what differs."""
    expected, found = difference.expected, difference.found
    if isinstance(expected, list) and isinstance(found, list):
        lines = [f"{difference.what}:"]
        lines += [f"  - expected  {each}" for each in expected if each not in found]
        lines += [f"  + found     {each}" for each in found if each not in expected]
        if len(lines) == 1:
            lines += [f"    expected  {', '.join(expected)}", f"    found     {', '.join(found)}"]
        return lines
    return [f"{difference.what}: expected {_word(expected)}, found {_word(found)}"]


def _word(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
