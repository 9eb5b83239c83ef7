"""Results of policy tests, for people, for what reads JUnit, and for GitHub."""

from collections.abc import Sequence
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rescheduler.model.errors import PolicyError
from rescheduler.model.wording import counted
from rescheduler.policytest.expectations import Difference
from rescheduler.policytest.github_annotations import annotation, annotations
from rescheduler.policytest.runner import Result


def to_text(results: Sequence[Result]) -> str:
    """File by file, each policy test on a line, and under it what is not as expected."""
    lines: list[str] = []
    for file, found in groupby(results, key=lambda result: result.file):
        lines.append(file)
        for each in found:
            lines += _lines(each)
    reported = [each for each in results if each.name]
    failed = sum(bool(each.differences) for each in reported)
    broken = sum(each.broken is not None for each in results)
    files = len({each.file for each in results})
    lines.append(
        f"{counted(len(reported), 'policy test')} in {counted(files, 'file')}, "
        f"{failed} failed{f', {broken} broken' if broken else ''}"
    )
    return "\n".join(lines) + "\n"


def to_junit(results: Sequence[Result]) -> str:
    """A JUnit file: one suite a file, one case a policy test; a broken file is one case."""
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
                reported = [" ".join(line.split()) for line in _reported(each)]
                failure = SubElement(case, "failure", message="; ".join(reported))
                failure.text = "\n".join(reported)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def to_github(results: Sequence[Result]) -> str:
    """The text, and a mark on the line of each policy test that does not end as expected."""
    marks: list[str] = []
    for each in results:
        if each.broken is not None:
            marks += annotations(each.broken, each.file)
        elif each.differences:
            reported = "\n".join(_reported(each))
            marks.append(
                annotation("error", reported, title=each.name, file=each.file, line=each.line)
            )
    return to_text(results) + "".join(f"{mark}\n" for mark in marks)


def _lines(each: Result) -> list[str]:
    """A policy test as text."""
    if each.broken is not None:
        reported = [f"        {line}" for line in str(each.broken).splitlines()]
        return [f"  BROKEN  {each.name}".rstrip(), *reported]
    if each.holds:
        return [f"  ok    {each.name}"]
    place = f"        {each.file}:{each.line}"
    return [f"  FAIL  {each.name}", place, *(f"        {line}" for line in _reported(each))]


def _reported(each: Result) -> list[str]:
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
