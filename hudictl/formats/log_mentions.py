"""Which instants the blocks of a log are of, or roll back."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from hudictl.formats.log_blocks import Block


@dataclass(frozen=True, slots=True)
class Mention:
    """An instant with blocks in a log, or (``target``) with rollback blocks for it. ``index`` and ``offset`` (in bytes)
    are those of the first block, ``last`` is the index of the last one. Corrupt blocks have no instant."""

    instant: str | None
    target: str | None
    index: int
    offset: int
    last: int


def mention(index: int, block: Block) -> Mention:
    """What one block mentions; ``index`` is its place in the log."""
    return Mention(block.instant, block.rollback_target, index, block.offset, index)


def merged(mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """The mentions of a log, one for each instant and target, in the order of their first blocks."""
    found: dict[tuple[str | None, str | None], Mention] = {}
    for one in sorted(mentions, key=lambda each: each.index):
        key = (one.instant, one.target)
        found[key] = replace(found[key], last=max(found[key].last, one.last)) if key in found else one
    return tuple(found.values())
