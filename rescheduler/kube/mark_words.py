"""Words in names of taints, conditions, labels and annotations, and what they mean.

Tools and clouds name their taints, conditions, labels and annotations after what they mean, in the
same few words: `DiskHung`, `acme.test/reboot-pending`, `acme.test/do-not-evict`. A name that has
such a word by accident costs moves; one that is not understood costs an eviction too many.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
"""A word of `UpdateInProgress`, `NVLinkDown` or `acme.test/to-be-deleted`."""


def _pattern_of(words: str) -> re.Pattern[str]:
    return re.compile("|".join(words.split()))


_GOING = (
    "drain(s|ed|ing)? reboot(s|ed|ing)? restart maintenance decommission(ed|ing)? kexec "
    "retir(e|ed|ing|ement) terminat(e|es|ed|ing|ion) shutdown shutting evict(ed|ing|ion)? "
    "delet(e|ed|ing|ion) remov(ed|ing|al) upgrad(e|ing) updating cordon(ed|ing)? expir(ed|ing) "
    "interrupt(ed|ing|ion) preempt(ed|ing|ion)? reclaim(ed|ing|ation)? rebalanc(e|ing) "
    "disrupt(ed|ing|ion) quarantin(e|ed|ing) remediat(e|ing|ion) repair(ing)? redeploy(ing)? "
    "replac(ing|ement) outdated unschedulable"
)
_FAULTY = (
    "problems? errors? unhealthy deadlocks? corrupt(ed|ion)? fail(s|ed|ing|ure|ures)? degraded "
    "offline hung faults? faulty broken abnormal unstable unresponsive unavailable unreachable "
    "throttl(ed|ing) blocked suspect"
)
_BAD_CONDITION = _pattern_of(
    f"{_GOING} {_FAULTY} readonly missing pressure hang lost loss flap(s|ping)? inactive hog low "
    "frequent(ly)? overheat(ed|ing)? temperature thermal fatal crash(ed|es|ing)? panic(s)? stuck "
    "scheduled freez(e|ing) frozen slow down leak(s|ing)? full stall(s|ed|ing)? timeouts? xid ecc "
    "oom exhausted exceeded bad dead disconnected insufficient misconfigured drop(s|ped|ping)? "
    "reset watch"
)
_BAD_TAINT = _pattern_of(f"{_GOING} {_FAULTY}")
_GOOD = _pattern_of(
    "ready healthy available operational ok okay up online active alive reachable good"
)
_STATING = _pattern_of(
    "normal enabled complete(d)? succeeded success done running configured detection detector "
    "cleared tolerant allowed only"
)
"""The last words of names that state what a node is like, has done or can do."""
_UNDONE = _pattern_of("not no un non without free")
_MOVING = _pattern_of(
    "evict(ed|ing|ion|able)? disrupt(ed|ing|ion|able)? deschedul(e|ed|ing|er|able) "
    "reschedul(e|ed|ing|er|able) rebalanc(e|ed|ing|eable) mov(e|ed|ing|able|eable) "
    "drain(ing|able)? migrat(e|ed|ing|ion|able) consolidat(e|ed|ing|ion) "
    "relocat(e|ed|ing|ion|able) interrupt(ion|ible)? evictions disruptions moves migrations "
    "relocations interruptions reschedules (non|un)(evict|disrupt|mov|drain|migrat|relocat)able"
)
_REFUSING = _pattern_of(
    "not dont no never disabled? prevent(ed|s)? block(ed|s)? skip(ped)? forbid(den)? deny denied "
    "exclud(e|ed) ignored? protect(ed|ion)? restrict(ed)? disallow(ed)? avoid without un non "
    "(non|un)(evict|disrupt|mov|drain|migrat|relocat)able"
)
_DRAINING = _pattern_of("drain(ing)?")
_NO = frozenset({"false", "no", "0", "off"})
_NEVER = _NO | {"never", "none", "disabled", "disable", "deny", "denied", "forbidden", "prevent"}
"""Values that say no; the second of what could be allowed."""


def _words(key: str) -> list[str]:
    """The words of a name, without the domain before it."""
    return [word.lower() for word in _WORD.findall(key.rpartition("/")[2])]


def _has(pattern: re.Pattern[str], words: Iterable[str]) -> bool:
    return any(pattern.fullmatch(word) for word in words)


@lru_cache(maxsize=4096)
def condition_warns(kind: str, status: str) -> bool:
    """Whether a condition of a node says by its name that no pod should go there.

    A name such as `StorageReady` is good where it is True; another one bad, where its words are.
    """
    words = _words(kind)
    undone = _has(_UNDONE, words)
    if _has(_GOOD, words[-1:]):
        return status == ("True" if undone else "False")
    return status == "True" and not undone and _bad(_BAD_CONDITION, words)


@lru_cache(maxsize=4096)
def taint_warns(key: str) -> bool:
    """Whether a taint of a node says by its name that no pod should go there.

    Its words are fewer than those of conditions: taints also set nodes apart, such as slow ones.
    """
    words = _words(key)
    undone = _has(_UNDONE, words)
    return undone if _has(_GOOD, words[-1:]) else not undone and _bad(_BAD_TAINT, words)


def _bad(pattern: re.Pattern[str], words: Sequence[str]) -> bool:
    return _has(pattern, words) and not _has(_STATING, words[-1:])


@lru_cache(maxsize=4096)
def about_moving(key: str) -> bool:
    """Whether the name of a pod's label or annotation says that it is about being moved."""
    return _has(_MOVING, _words(key))


def forbids_moving(key: str, value: str) -> bool:
    """Whether a pod's label or annotation asks by its name and value to leave the pod alone."""
    if not about_moving(key):
        return False
    said, words = value.strip().lower(), _words(key)
    if _has(_REFUSING, words):
        return said not in _NO
    if "cost" in words:  # of Koordinator: the greatest forbids an eviction
        return said == "2147483647"
    # Proxies and servers drain connections, which is none of a pod's moves.
    return said in _NEVER and not _has(_DRAINING, words)
