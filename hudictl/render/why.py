"""Whether a table service is due, and what blocks it, as lines."""

from collections.abc import Iterator, Sequence

from hudictl.phrases import count_of
from hudictl.state.services.due import Due
from hudictl.table.settings import Used


def due_lines(due: Due) -> Iterator[str]:
    """The count and its threshold, what blocks it, and the way out of each block."""
    yield f"{due.service}: {due.counted:,} {due.counts}; the threshold is {due.threshold:,}"
    for block in due.blocks:
        name = f" {block.instant}" if block.instant else ""
        yield f"blocked by {block.kind}{name}: {block.because}"
        for way in block.remedy:
            yield f"  `{way.command}`: {way.leaves}"
    if not due.blocks:
        yield "nothing blocks it" if due.due else "it is not due yet; nothing blocks it"
    given = [entry for entry in due.settings if entry.given]
    assumed = [entry for entry in due.settings if not entry.given]
    if given:
        yield f"{count_of(len(given), 'setting')} given: {_pairs(given)}"
    if assumed:
        yield f"not given, Hudi's default is used: {_pairs(assumed)}"


def _pairs(settings: Sequence[Used]) -> str:
    return ", ".join(f"{entry.setting}={entry.value}" for entry in settings)
