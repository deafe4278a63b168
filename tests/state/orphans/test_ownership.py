"""The verdict on orphans, without any table: made-up histories, of which parts are lost."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudictl.formats.file_names import DataFile
from hudictl.state.orphans.ownership import Evidence, Index, Ownership, TakenBack, index_of, judge
from hudictl.table.files.slices import StoredFile

PARTITIONS = ("p=0", "p=1")
# What became of a write: the last is a table service that failed, was rolled back and has run again.
KINDS = ("commit", "failed", "again")


@dataclass(frozen=True)
class Write:
    """A write of a history, with the file groups that it wrote into; ``marked``: its markers are left."""

    at: int
    kind: str
    groups: frozenset[tuple[str, str]]
    marked: bool

    @property
    def time(self) -> str:
        return f"20260101000000{self.at:03d}"

    @property
    def files(self) -> list[StoredFile]:
        return [
            StoredFile(partition, DataFile(f"{group}_1-0-1_{self.time}.parquet", group, self.time, 0, "1-0-1"), 9, 0)
            for partition, group in sorted(self.groups)
        ]


@dataclass(frozen=True)
class Loss:
    """What of a history is left: the timeline and its markers up to ``end``, the archive of what is before ``start``
    up to ``archive``, the metadata table up to ``index``; ``kept`` is an old commit that stays active. ``later``:
    writers went on after that, with the timeline and the metadata table as they found them."""

    start: int
    end: int
    archive: int
    index: int
    kept: int
    later: bool


GROUPS = tuple(product(PARTITIONS, "ab"))
# One draw for each write: what is drawn takes more time than what is tried.
shapes = [
    (kind, frozenset(groups), marked)
    for kind in KINDS
    for groups in (*combinations(GROUPS, 1), *combinations(GROUPS, 2))
    for marked in (False, True)
]
histories = st.lists(st.sampled_from(shapes), min_size=1, max_size=7).map(
    lambda made: [Write(10 * at + 10, *shape) for at, shape in enumerate(made)]
)
moments = st.integers(0, 80)
losses = st.builds(Loss, moments, moments, moments, moments, moments, st.booleans())


def said(writes: list[Write], loss: Loss) -> tuple[Evidence, list[StoredFile]]:
    """What the records say after a loss, and all files."""
    stored = [file for write in writes for file in write.files]
    if loss.later:
        new = Write(900, "commit", frozenset({("p=0", "z")}), False)
        stored += new.files
    done = [write for write in writes if write.kind != "failed"]
    active = [write for write in done if (loss.start <= write.at or write.at == loss.kept) and write.at <= loss.end]
    active += [new] if loss.later else []
    archived = [write for write in done if write.at < loss.start and write.at <= loss.archive]

    taken_back = {}
    for write in writes:
        # Its rollback comes right behind it, and may be lost as any other instant.
        at = write.at + 1
        if write.kind != "commit" and (loss.start <= at <= loss.end or at <= min(loss.archive, loss.start)):
            taken_back[write.time] = TakenBack("the rollback", frozenset(), write.kind == "again")

    # Writers go on with a metadata table that was put back along, or was never lost.
    seen = max(loss.index, loss.end) if loss.later else loss.index
    knows = [write for write in done if write.at <= seen] + ([new] if loss.later else [])
    files = {
        partition: frozenset(file.data.name for write in knows for file in write.files if file.partition == partition)
        for partition in PARTITIONS
    }
    index = index_of(files, {write.time for write in knows}, (), {write.time for write in active})
    marked = {file.path for write in writes if write.marked and write.at <= loss.end for file in write.files}
    pending = [write for write in writes if write.kind == "failed" and write.at == loss.end]
    records = Evidence(
        owned=frozenset(write.time for write in (*active, *archived, *pending)),
        newest=max((write.time for write in active), default=""),
        logs_named_by_writer=True,
        partitions=frozenset(PARTITIONS),
        taken_back=taken_back,
        marked=frozenset(marked),
        index=index,
    )
    return records, stored


def verdicts(records: Evidence, stored: list[StoredFile]) -> Iterator[tuple[StoredFile, Ownership]]:
    for partition in PARTITIONS:
        files = [file for file in stored if file.partition == partition]
        found = judge(files, {}, records)
        yield from ((file, found[file.path]) for file in files if file.path in found)


@pytest.mark.slow
@settings(max_examples=500)
@given(histories, losses)
def test_no_file_of_a_completed_write_is_ever_sure(writes: list[Write], loss: Loss) -> None:
    """Whatever end of the timeline, of the archive or of the metadata table is lost, also where writers went on."""
    completed = {write.time for write in writes if write.kind != "failed"}
    for file, verdict in verdicts(*said(writes, loss)):
        assert not (verdict.sure and file.data.instant in completed), verdict.why


@pytest.mark.slow
@settings(max_examples=150)
@given(histories)
def test_with_nothing_lost_all_that_failed_is_sure_and_nothing_else_is_an_orphan(writes: list[Write]) -> None:
    whole = Loss(0, 200, 0, 200, 0, later=False)
    found = list(verdicts(*said(writes, whole)))
    assert {file.path for file, _ in found} == {
        file.path for write in writes if write.kind == "failed" for file in write.files
    }
    assert all(verdict.sure and not verdict.beyond for _, verdict in found)


@pytest.mark.slow
@settings(max_examples=150)
@given(histories, moments)
def test_what_a_timeline_has_lost_at_its_end_is_beyond_it(writes: list[Write], end: int) -> None:
    lost = {write.time for write in writes if write.at > end}
    records, stored = said(writes, Loss(0, end, 0, end, 0, later=False))
    beyond = {file.data.instant for file, verdict in verdicts(records, stored) if verdict.beyond}
    assert beyond == lost


@pytest.mark.slow
@given(histories, losses, st.data())
def test_what_is_needed_is_never_sure(writes: list[Write], loss: Loss, data: st.DataObject) -> None:
    """Two reasons or not."""
    records, stored = said(writes, loss)
    file = data.draw(st.sampled_from(stored))
    named = replace(records, named={file.path: "the savepoint"})
    built = replace(records, built_on=frozenset({file.data.instant}))
    for needed in (named, built):
        assert not any(verdict.sure for entry, verdict in verdicts(needed, stored) if entry.path == file.path)


def test_the_archive_with_its_end_lost_beside_an_old_commit() -> None:
    """A writer that archives beyond a savepoint: the timeline begins before what the archive has lost."""
    writes = [Write(at, "commit", frozenset({("p=0", "a")}), False) for at in (10, 20, 30, 40, 50)]
    records, stored = said(writes, Loss(start=45, end=50, archive=25, index=0, kept=10, later=False))
    found = {file.data.instant: verdict for file, verdict in verdicts(records, stored)}
    assert set(found) == {writes[2].time, writes[3].time}
    assert not any(verdict.sure or verdict.beyond for verdict in found.values())


def alone(records: Evidence, *others: StoredFile) -> Ownership:
    """The verdict on one file that nobody owns, beside others in its folder."""
    (file,) = Write(20, "failed", frozenset({("p=0", "a")}), True).files
    return judge([file, *others], {}, records)[file.path]


def test_a_metadata_table_that_does_not_know_the_folder_proves_nothing() -> None:
    """It says what is in the partitions that it lists, and nothing of others."""
    (file,) = Write(20, "failed", frozenset({("p=0", "a")}), True).files
    marked = Evidence(frozenset(), "", True, marked=frozenset({file.path}))
    newer = Write(90, "commit", frozenset(), False).time
    assert alone(replace(marked, index=Index({"p=0": frozenset()}, frozenset(), newer))).sure
    assert not alone(replace(marked, index=Index({"p=1": frozenset()}, frozenset(), newer))).sure


def test_what_a_clean_took_is_proved_by_a_newer_base_file_and_by_no_log() -> None:
    later = Write(40, "commit", frozenset({("p=0", "a")}), False)
    (base,) = later.files
    log = StoredFile("p=0", DataFile(f".a_{later.time}.log.1_1-0-1", "a", later.time, 1, "1-0-1"), 9, 0)
    (file,) = Write(20, "failed", frozenset({("p=0", "a")}), True).files
    cleaned = Evidence(frozenset({later.time}), later.time, True, cleaned={file.path: "the clean"})
    assert alone(cleaned, base).sure
    assert not alone(cleaned, log).sure


# Examples: each condition by itself, where others would hide that it is left out.


def at(number: int) -> str:
    """A time of the histories above."""
    return Write(number, "commit", frozenset(), False).time


def base_at(number: int) -> StoredFile:
    (file,) = Write(number, "commit", frozenset({("p=0", "a")}), False).files
    return file


def log_at(number: int, version: int = 1) -> StoredFile:
    name = f".a_{at(number)}.log.{version}_1-0-1"
    return StoredFile("p=0", DataFile(name, "a", at(number), version, "1-0-1"), 9, 0)


def undone(*numbers: int) -> dict[str, TakenBack]:
    return {at(number): TakenBack("the rollback", frozenset({"p=0"}), False) for number in numbers}


def of_log(file: StoredFile, records: Evidence, *writers: int, others: tuple[StoredFile, ...] = ()) -> Ownership:
    """The verdict on a log that holds rows of some writers."""
    return judge([file, *others], {file.path: frozenset(map(at, writers))}, records)[file.path]


def test_a_metadata_table_is_asked_for_the_writes_since_it_was_built() -> None:
    """Its own instants that have built it are older than all, and no writes."""
    known = {"00000000000000010", at(20), at(30)}
    found = index_of({}, known, (), {at(10), at(30)})
    assert found is not None
    assert found.newest == at(30)
    assert index_of({}, known, (), {at(10), at(30), at(40)}) is None


def test_a_metadata_table_knows_what_it_has_archived_and_what_its_own_services_tell() -> None:
    """Below table version 8 these have three digits more than the write that they came with."""
    found = index_of({}, {f"{at(20)}010", at(30)}, {at(10)}, {at(30)})
    assert found is not None
    assert {at(10), at(20), at(30)} <= found.completed


def test_a_metadata_table_that_is_ahead_of_the_timeline_knows_no_later_writes() -> None:
    """The timeline has lost its end: what it knew last decides."""
    found = index_of({}, {at(20), at(30), at(50)}, (), {at(20), at(30)})
    assert found is not None
    assert found.newest == at(30)


def test_what_the_metadata_table_lists_or_knows_is_not_passed_over() -> None:
    """It must have gone on after the instant, too. Each of the three is enough to keep the file."""
    file = base_at(20)
    marked = Evidence(frozenset(), at(90), True, marked=frozenset({file.path}))
    nothing = {"p=0": frozenset[str]()}
    assert alone(replace(marked, index=Index(nothing, frozenset(), at(90)))).sure
    listed = {"p=0": frozenset({file.data.name})}
    assert not alone(replace(marked, index=Index(listed, frozenset(), at(90)))).sure
    assert not alone(replace(marked, index=Index(nothing, frozenset({at(20)}), at(90)))).sure
    assert not alone(replace(marked, index=Index(nothing, frozenset(), at(10)))).sure


def test_a_newer_base_file_of_nobody_does_not_prove_what_a_clean_took() -> None:
    """It may be a copy, or of a commit that is lost, too."""
    file, newer = base_at(20), base_at(40)
    cleaned = Evidence(frozenset({at(40)}), at(40), True, cleaned={file.path: "the clean"})
    assert alone(cleaned, newer).sure
    assert not alone(replace(cleaned, owned=frozenset()), newer).sure


def test_the_newest_base_file_counts_in_whatever_order_a_folder_is_listed() -> None:
    cleaned = Evidence(frozenset({at(10), at(40)}), at(40), True, cleaned={base_at(20).path: "the clean"})
    assert alone(cleaned, base_at(10), base_at(40)).sure
    assert alone(cleaned, base_at(40), base_at(10)).sure


def test_a_name_without_instant_time_is_not_beyond_the_timeline() -> None:
    """Nobody knows when it was written; and that is said."""
    file = StoredFile("p=0", DataFile("a_1-0-1_99.parquet", "a", "99", 0, "1-0-1"), 9, 0)
    verdict = judge([file], {}, Evidence(frozenset(), at(10), True))[file.path]
    assert not verdict.beyond
    assert "the instant in its name is not a time" in verdict.why


def test_what_a_record_tells_of_is_not_beyond_the_timeline() -> None:
    """Its instant was there once, and did not complete: the timeline has lost nothing."""
    file = base_at(20)
    untold = Evidence(frozenset(), at(10), True)
    assert alone(untold).beyond
    assert not alone(replace(untold, taken_back=undone(20))).beyond
    assert not alone(replace(untold, cleaned={file.path: "the clean"})).beyond
    assert not alone(replace(untold, marked=frozenset({file.path}))).beyond


def test_a_slice_that_the_timeline_has_lost_keeps_its_logs_below_version_8() -> None:
    """A compaction at the lost end: its own base file may come back, and the rows in the log are older."""
    file, records = log_at(20), Evidence(frozenset(), at(10), False, taken_back=undone(5))
    assert of_log(file, replace(records, newest=at(30)), 5).sure
    verdict = of_log(file, records, 5)
    assert (verdict.sure, verdict.beyond) == (False, True)


def test_a_log_that_stays_keeps_its_own_slice_alone() -> None:
    named = log_at(20)
    records = Evidence(frozenset(), at(90), False, named={named.path: "the savepoint"}, taken_back=undone(20, 30))
    found = judge([named, base_at(20), log_at(20, 2), base_at(30), log_at(30)], {}, records)
    assert {path for path, verdict in found.items() if verdict.sure} == {base_at(30).path, log_at(30).path}


def test_a_base_file_that_stays_keeps_no_log_upon_it() -> None:
    """Nothing in it is taken back by the log."""
    base = base_at(20)
    records = Evidence(frozenset(), at(90), False, named={base.path: "the savepoint"}, taken_back=undone(20, 25))
    assert of_log(log_at(20), records, 25, others=(base,)).sure


def test_from_version_8_on_others_rows_do_not_prove_a_log() -> None:
    """Its own instant does, which is in its name; rows of others keep it where these were not taken back."""
    file, records = log_at(20), Evidence(frozenset(), at(90), True, taken_back=undone(15))
    assert not of_log(file, records, 15).sure
    both = replace(records, taken_back=undone(15, 20))
    assert of_log(file, both, 15, 20).sure
    assert not of_log(file, both, 15, 20, 17).sure


def test_rows_of_an_instant_on_the_timeline_keep_a_log_though_it_was_once_taken_back() -> None:
    """It has come again, under the same time."""
    records = Evidence(frozenset({at(30)}), at(90), True, taken_back=undone(20, 30))
    assert of_log(log_at(20), replace(records, owned=frozenset()), 20, 30).sure
    assert not of_log(log_at(20), records, 20, 30).sure


def test_markers_prove_no_log_below_version_8() -> None:
    """The instant in its name is that of its slice, and others write into the slice."""
    file = log_at(20)
    index = Index({"p=0": frozenset()}, frozenset(), at(90))
    records = Evidence(frozenset(), at(90), True, marked=frozenset({file.path}), index=index)
    assert of_log(file, records).sure
    assert not of_log(file, replace(records, logs_named_by_writer=False)).sure


def test_what_a_clean_took_of_a_log_is_kept_by_rows_that_it_would_not_hold() -> None:
    """Below table version 8 by those of its slice's own instant, too: there its name does not say who wrote it."""
    file = log_at(20)
    records = Evidence(frozenset({at(40)}), at(90), True, cleaned={file.path: "the clean"})
    assert of_log(file, records, 20, others=(base_at(40),)).sure
    assert not of_log(file, records, 20, 25, others=(base_at(40),)).sure
    below = replace(records, logs_named_by_writer=False)
    assert of_log(file, below, others=(base_at(40),)).sure
    assert not of_log(file, below, 20, others=(base_at(40),)).sure
