"""Results of stories, for people and for what reads JUnit."""

from collections.abc import Sequence
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rescheduler.stories.running import Result
from rescheduler.stories.telling import Difference


def to_text(results: Sequence[Result]) -> str:
    """File by file, each story on a line, and under it what is not as expected."""
    lines: list[str] = []
    for file, found in groupby(results, key=lambda result: result.file):
        lines.append(file)
        for each in found:
            lines.append(f"  {'FAIL' if each.differences else 'ok  '}  {each.name}")
            if each.differences:
                lines.append(f"        {each.file}:{each.line}")
            for one in each.differences:
                lines += [f"        {line}" for line in _shown(one)]
    failed = sum(bool(each.differences) for each in results)
    files = len({each.file for each in results})
    lines.append(
        f"{_count(len(results), 'story', 'stories')} in {_count(files, 'file', 'files')}, "
        f"{failed} failed"
    )
    return "\n".join(lines) + "\n"


def to_junit(results: Sequence[Result]) -> str:
    """A JUnit file: one suite a file, one case a story."""
    root = Element("testsuites", tests=str(len(results)), failures=_failures(results))
    for file, grouped in groupby(results, key=lambda result: result.file):
        found = list(grouped)
        suite = SubElement(
            root, "testsuite", name=file, tests=str(len(found)), failures=_failures(found)
        )
        for each in found:
            case = SubElement(
                suite, "testcase", name=each.name, classname=file, file=file, line=str(each.line)
            )
            if each.differences:
                told = [" ".join(line.split()) for one in each.differences for line in _shown(one)]
                failure = SubElement(case, "failure", message="; ".join(told))
                failure.text = "\n".join(told)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _failures(results: Sequence[Result]) -> str:
    return str(sum(bool(each.differences) for each in results))


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
