"""What each pending instant of a table waits for, and the command that ends it."""

from collections.abc import Mapping, Sequence

from hudictl.errors import HudictlError
from hudictl.formats.instants import CLEAN, Instant, State
from hudictl.phrases import span
from hudictl.state.facts import read_signs
from hudictl.state.services.stalled import find_stalled
from hudictl.state.timeline.remedy import Remedy
from hudictl.state.timeline.unfinished import find_unfinished, in_words
from hudictl.state.writers.activity import DEFAULT_IDLE_MS
from hudictl.state.writers.failed_writes import pending_writes_seen
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline


def diagnoses(table: Table) -> Mapping[str, str]:
    """By requested time. What cannot be read is said of all."""
    try:
        return _diagnoses(table)
    except HudictlError as error:
        return {entry.time: _with_remedy(error.message) for entry in load_timeline(table).instants if entry.pending}


def _diagnoses(table: Table) -> Mapping[str, str]:
    signs = read_signs(table)
    timeline, now_ms = signs.timeline, signs.now_ms
    pending = [entry for entry in timeline.instants if entry.pending]
    said = {entry.time: _waits(entry, span(timeline.idle_ms(entry, now_ms))) for entry in pending}
    for write in pending_writes_seen(table, signs, DEFAULT_IDLE_MS, None):
        said[write.instant] = _with_remedy(f"{write.verdict}: {write.reason}", write.remedy)
    for one in find_stalled(table, timeline, now_ms, DEFAULT_IDLE_MS):
        said[one.time] = _with_remedy(one.at_work or one.meaning, one.remedy)
    for unfinished in find_unfinished(table, signs, DEFAULT_IDLE_MS):
        said[unfinished.time] = _with_remedy(unfinished.at_work or unfinished.told, unfinished.remedy)
    return said


def _waits(entry: Instant, age: str) -> str:
    if entry.action == CLEAN:
        return f"no activity for {age}: Hudi's next clean executes its plan"
    begun = "scheduled, not started" if entry.state is State.REQUESTED else "begun, not completed"
    return f"{begun}; no activity for {age}"


def _with_remedy(text: str, remedy: Sequence[Remedy] = ()) -> str:
    # Only the remedy has commands to copy: the text can have names of the table, and what another process runs.
    text = text.replace("`", "'")
    return f"{text} ({in_words(remedy)})" if remedy else text
