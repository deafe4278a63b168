"""How much a compaction reads, in a sentence."""

from collections.abc import Sequence

from hudictl.phrases import count_of
from hudictl.render.words import size
from hudictl.reports.logs.slices import SliceRow


def compaction_lines(rows: Sequence[SliceRow]) -> list[str]:
    """A line for each pending compaction, and one for the next."""
    found: dict[str, list[int]] = {}
    for row in rows:
        if row.compaction is not None:
            found.setdefault(row.compaction, []).append(row.compaction_bytes or 0)
    return [
        f"{'A compaction started now would read' if key == 'next' else f'The pending compaction {key} reads'} "
        f"{count_of(len(read), 'slice')}, {size(sum(read))}."
        for key, read in sorted(found.items())
    ]
