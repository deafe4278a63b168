"""What a restore or rollback means to others, in a line for each."""

from hudictl.ops.undo.afterwards import Afterwards, Consumers, Moment
from hudictl.render.afterwards import afterwards_lines, checkpoint_lines
from hudictl.state.files.catalog import CatalogGap
from hudictl.state.timeline.checkpoints import StreamerCheckpoint

S, X = Moment("20261121030414313", "20261121030415173"), Moment("20261121030415374", "20261121030416322")
Y = Moment("20261121030417000", "20261121030418000")
WHO = "Consumers (incremental queries, streams, CDC) at 20261121030415374 or later have read removed rows: start them"


def test_nothing_is_said_of_what_has_not_changed() -> None:
    assert afterwards_lines(Afterwards()) == []


def test_each_has_its_line() -> None:
    consumers = Consumers(X, Y, X.time, S, S.completion_time, by_completion=True)
    gap = CatalogGap(returning_partitions=("p=1",))
    lines = afterwards_lines(Afterwards(S, StreamerCheckpoint("t,0:9", "t,0:5"), consumers, gap))
    assert lines[:4] == [
        "Newest commit after it: 20261121030414313, completed 20261121030415173.",
        "Hudi Streamer: its next run goes on from the checkpoint t,0:5 (before: t,0:9); --checkpoint sets another.",
        f"{WHO} again at 20261121030415173 (completion time).",
        "Partitions with data again: 1 (p=1).",
    ]


def test_where_consumers_start() -> None:
    by_request = Consumers(X, X, X.time, S, S.time, by_completion=False)
    assert afterwards_lines(Afterwards(consumers=by_request)) == [f"{WHO} again at 20261121030414313."]
    nothing = Consumers(X, X, X.time, None, None, by_completion=True)
    assert afterwards_lines(Afterwards(consumers=nothing)) == [f"{WHO} again from the beginning."]


def test_no_checkpoint_is_left() -> None:
    (line,) = checkpoint_lines(StreamerCheckpoint("t,0:9", None), "now")
    assert (
        line
        == "Hudi Streamer: no commit is left with a checkpoint (now: t,0:9). Set one for its next run: --checkpoint."
    )
