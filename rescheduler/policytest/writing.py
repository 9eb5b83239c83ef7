"""Results of policy tests as text, as JUnit, and as annotations of GitHub."""

from collections.abc import Sequence
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rescheduler.model.errors import PolicyError
from rescheduler.model.wording import count_text
from rescheduler.policytest.expectations import Difference
from rescheduler.policytest.github_annotations import annotation, annotations
from rescheduler.policytest.runner import Result


def to_text(results: Sequence[Result]) -> str:
    """File by file, each policy test on a line, and under it what is not as expected."""
    lines: list[str] = []
    for file, group in groupby(results, key=lambda result: result.file):
        lines.append(file)
        for result in group:
            lines += _lines(result)
    reported = [result for result in results if result.name]
    failed = sum(bool(result.differences) for result in reported)
    broken = sum(result.broken is not None for result in results)
    files = len({result.file for result in results})
    lines.append(
        f"{count_text(len(reported), 'policy test')} in {count_text(files, 'file')}, "
        f"{failed} failed{f', {broken} broken' if broken else ''}"
    )
    return "\n".join(lines) + "\n"


def to_junit(results: Sequence[Result]) -> str:
    """A JUnit file: one suite a file, one case a policy test; a broken file is one case."""
    root = Element("testsuites", _totals(results))
    for file, grouped in groupby(results, key=lambda result: result.file):
        group = list(grouped)
        suite = SubElement(root, "testsuite", {"name": file, **_totals(group)})
        for result in group:
            name = result.name or file
            case = SubElement(
                suite, "testcase", name=name, classname=file, file=file, line=str(result.line)
            )
            if result.broken is not None:
                error = SubElement(case, "error", message=_first_message(result.broken))
                error.text = str(result.broken)
            elif result.differences:
                reported = [" ".join(line.split()) for line in _difference_lines(result)]
                failure = SubElement(case, "failure", message="; ".join(reported))
                failure.text = "\n".join(reported)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def to_github(results: Sequence[Result]) -> str:
    """The text, and a mark on the line of each policy test that does not end as expected."""
    marks: list[str] = []
    for result in results:
        if result.broken is not None:
            marks += annotations(result.broken, result.file)
        elif result.differences:
            reported = "\n".join(_difference_lines(result))
            marks.append(
                annotation("error", reported, title=result.name, file=result.file, line=result.line)
            )
    return to_text(results) + "".join(f"{mark}\n" for mark in marks)


def _lines(result: Result) -> list[str]:
    """A policy test as text."""
    if result.broken is not None:
        reported = [f"        {line}" for line in str(result.broken).splitlines()]
        return [f"  BROKEN  {result.name}".rstrip(), *reported]
    if result.holds:
        return [f"  ok    {result.name}"]
    place = f"        {result.file}:{result.line}"
    return [
        f"  FAIL  {result.name}",
        place,
        *(f"        {line}" for line in _difference_lines(result)),
    ]


def _difference_lines(result: Result) -> list[str]:
    return [line for one in result.differences for line in _lines_of_difference(one)]


def _totals(results: Sequence[Result]) -> dict[str, str]:
    counts = {
        "tests": len(results),
        "failures": sum(bool(result.differences) for result in results),
        "errors": sum(result.broken is not None for result in results),
    }
    return {name: str(count) for name, count in counts.items()}


def _first_message(error: PolicyError) -> str:
    return error.places[0].message if error.places else error.message


def _lines_of_difference(difference: Difference) -> list[str]:
    """Lists entry by entry, so that the eye finds what differs."""
    expected, actual = difference.expected, difference.actual
    if isinstance(expected, list) and isinstance(actual, list):
        lines = [f"{difference.what}:"]
        lines += [f"  - expected  {line}" for line in expected if line not in actual]
        lines += [f"  + found     {line}" for line in actual if line not in expected]
        if len(lines) == 1:
            lines += [f"    expected  {', '.join(expected)}", f"    found     {', '.join(actual)}"]
        return lines
    return [f"{difference.what}: expected {_word(expected)}, found {_word(actual)}"]


def _word(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
