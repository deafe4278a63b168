"""Parts of sentences that messages of all rooms have in common: a few names of many, counts, ages."""

from collections.abc import Sequence


def first_few(names: Sequence[str], *, most: int = 5, rest: str = "", between: str = ", ") -> str:
    """The first of some names; ``rest``, as " and {} more", says how many others there are, where there are others."""
    others = len(names) - most
    return between.join(names[:most]) + (rest.format(others) if others > 0 else "")


def seconds(milliseconds: int) -> str:
    """An age in whole seconds, cut: what was asked for in seconds is compared with it."""
    return f"{milliseconds // 1000} s"


def span(milliseconds: int) -> str:
    """A duration for eyes, in the largest unit of which there are two."""
    for unit, length_ms in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000)):
        if milliseconds >= 2 * length_ms:
            return f"{milliseconds // length_ms} {unit}"
    return seconds(milliseconds)


def count_of(count: int, noun: str) -> str:
    """How many there are of something, for a sentence."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
