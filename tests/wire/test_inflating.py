"""What is inflated has a size that it may have."""

import gzip
import random
import tracemalloc
import zlib

import pytest

from rescheduler.wire.inflating import inflate

MIB = 2**20
NOISE = random.Random(1).randbytes(3 * MIB)
PACKED = gzip.compress(NOISE, 1)


@pytest.mark.parametrize("plain", [b"", b"x", bytes(5 * MIB), NOISE], ids=len)
def test_what_fits_is_whole(plain: bytes) -> None:
    assert inflate(gzip.compress(plain), 5 * MIB) == plain


def test_what_does_not_fit_is_not_inflated() -> None:
    packed = gzip.compress(bytes(40 * MIB))
    assert len(packed) < MIB
    tracemalloc.start()
    with pytest.raises(zlib.error, match="larger than 8 MiB"):
        inflate(packed, 8 * MIB)
    assert tracemalloc.get_traced_memory()[1] < 20 * MIB
    tracemalloc.stop()


def test_the_most_is_exact() -> None:
    packed = gzip.compress(bytes(MIB + 1))
    assert len(inflate(packed, MIB + 1)) == MIB + 1
    with pytest.raises(zlib.error, match="larger than 1 MiB"):
        inflate(packed, MIB)


@pytest.mark.parametrize(
    ("packed", "words"),
    [
        (PACKED[:-1], "cut off"),
        (PACKED[: MIB // 2], "cut off"),
        (b"", "cut off"),
        (gzip.compress(b"x") + b"more", "4 bytes follow"),
        (b"not gzip at all", "incorrect header"),
        (PACKED[:-8] + bytes(8), "incorrect data check"),
    ],
    ids=["no end", "half", "nothing", "more", "foreign", "edited"],
)
def test_what_is_damaged_is_an_error(packed: bytes, words: str) -> None:
    with pytest.raises(zlib.error, match=words):
        inflate(packed, 5 * MIB)
