"""Numbers in sentences, so that every message counts alike."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: "1 pod", "2 pods"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def agreed(number: int, one: str, many: str) -> str:
    """The verb that goes with the number: `one` with 1, else `many`."""
    return one if number == 1 else many
