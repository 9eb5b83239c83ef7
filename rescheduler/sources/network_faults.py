"""Network errors in words: the innermost cause in one line."""


def cause(error: BaseException) -> str:
    """The innermost cause in one line: "Connection refused" rather than who says that it was.

    Clients of HTTP wrap an error of the operating system several times, as its cause, its reason
    or its first argument.
    """
    seen: set[int] = set()
    while id(error) not in seen:
        seen.add(id(error))
        first = error.args[0] if error.args else None
        for inner in (error.__cause__, getattr(error, "reason", None), first):
            if isinstance(inner, BaseException):
                error = inner
                break
    words = getattr(error, "strerror", None) or str(error)
    return " ".join(str(words).split()) or type(error).__name__
