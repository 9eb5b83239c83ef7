"""Decompresses gzip up to a number of bytes."""

import zlib

_GZIP = 16 + zlib.MAX_WBITS


def inflate(packed: bytes, most: int) -> bytes:
    """The contents of one gzip member; a kilobyte of gzip may hold a megabyte.

    most: bytes that it may have.

    Raises:
        zlib.error: it is damaged, cut off, followed by something, or larger.
    """
    inflater = zlib.decompressobj(_GZIP)
    plain = inflater.decompress(packed, most + 1)
    if len(plain) > most:
        raise zlib.error(f"it is larger than {most // 2**20} MiB when inflated")
    if not inflater.eof:
        raise zlib.error("it is cut off")
    if inflater.unused_data:
        raise zlib.error(f"{len(inflater.unused_data)} bytes follow the compressed data")
    return plain
