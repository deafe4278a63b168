"""What those who read and write a table must know after a restore or a rollback, as text."""

from hudictl.ops.undo.afterwards import Afterwards, Consumers
from hudictl.render.catalog import catalog_lines
from hudictl.state.timeline.checkpoints import StreamerCheckpoint


def afterwards_lines(told: Afterwards) -> list[str]:
    """A line for each; none for what has not changed."""
    head = told.head
    return [
        *([f"Newest commit after it: {head.time}, completed {head.completion_time}."] if head else []),
        *checkpoint_lines(told.checkpoint, "before"),
        *([_consumers_line(told.consumers)] if told.consumers else []),
        *catalog_lines(told.catalog),
    ]


def checkpoint_lines(found: StreamerCheckpoint | None, when: str) -> list[str]:
    """From where Hudi Streamer goes on, ``when`` it still was, or is, at another place."""
    if found is None:
        return []
    at = f"({when}: {found.now})"
    if found.then is None:
        return [f"Hudi Streamer: no commit is left with a checkpoint {at}. Set one for its next run: --checkpoint."]
    return [f"Hudi Streamer: its next run goes on from the checkpoint {found.then} {at}; --checkpoint sets another."]


def _consumers_line(gone: Consumers) -> str:
    kind = " (completion time)" if gone.by_completion else ""
    begin = f"at {gone.begin}{kind}" if gone.begin else "from the beginning"
    who = "Consumers (incremental queries, streams, CDC)"
    return f"{who} at {gone.gone_from} or later have read removed rows: start them again {begin}."
