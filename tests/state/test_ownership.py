"""The verdict on orphans, without any table: made-up histories, of which parts are lost."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product

from hypothesis import given, settings
from hypothesis import strategies as st

from hudictl.formats.file_names import DataFile
from hudictl.state.ownership import Index, Records, TakenBack, Verdict, index_of, judge
from hudictl.table.file_view import StoredFile

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


def said(writes: list[Write], loss: Loss) -> tuple[Records, list[StoredFile]]:
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
    records = Records(
        owned=frozenset(write.time for write in (*active, *archived, *pending)),
        newest=max((write.time for write in active), default=""),
        logs_named_by_writer=True,
        partitions=frozenset(PARTITIONS),
        taken_back=taken_back,
        marked=frozenset(marked),
        index=index,
    )
    return records, stored


def verdicts(records: Records, stored: list[StoredFile]) -> Iterator[tuple[StoredFile, Verdict]]:
    for partition in PARTITIONS:
        files = [file for file in stored if file.partition == partition]
        found = judge(files, {}, records)
        yield from ((file, found[file.path]) for file in files if file.path in found)


@settings(max_examples=500)
@given(histories, losses)
def test_no_file_of_a_completed_write_is_ever_sure(writes: list[Write], loss: Loss) -> None:
    """Whatever end of the timeline, of the archive or of the metadata table is lost, also where writers went on."""
    completed = {write.time for write in writes if write.kind != "failed"}
    for file, verdict in verdicts(*said(writes, loss)):
        assert not (verdict.sure and file.data.instant in completed), verdict.why


@settings(max_examples=150)
@given(histories)
def test_with_nothing_lost_all_that_failed_is_sure_and_nothing_else_is_an_orphan(writes: list[Write]) -> None:
    whole = Loss(0, 200, 0, 200, 0, later=False)
    found = list(verdicts(*said(writes, whole)))
    assert {file.path for file, _ in found} == {
        file.path for write in writes if write.kind == "failed" for file in write.files
    }
    assert all(verdict.sure and not verdict.beyond for _, verdict in found)


@settings(max_examples=150)
@given(histories, moments)
def test_what_a_timeline_has_lost_at_its_end_is_beyond_it(writes: list[Write], end: int) -> None:
    lost = {write.time for write in writes if write.at > end}
    records, stored = said(writes, Loss(0, end, 0, end, 0, later=False))
    beyond = {file.data.instant for file, verdict in verdicts(records, stored) if verdict.beyond}
    assert beyond == lost


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


def alone(records: Records, *others: StoredFile) -> Verdict:
    """The verdict on one file that nobody owns, beside others in its folder."""
    (file,) = Write(20, "failed", frozenset({("p=0", "a")}), True).files
    return judge([file, *others], {}, records)[file.path]


def test_a_metadata_table_that_does_not_know_the_folder_proves_nothing() -> None:
    """It says what is in the partitions that it lists, and nothing of others."""
    (file,) = Write(20, "failed", frozenset({("p=0", "a")}), True).files
    marked = Records(frozenset(), "", True, marked=frozenset({file.path}))
    newer = Write(90, "commit", frozenset(), False).time
    assert alone(replace(marked, index=Index({"p=0": frozenset()}, frozenset(), newer))).sure
    assert not alone(replace(marked, index=Index({"p=1": frozenset()}, frozenset(), newer))).sure


def test_what_a_clean_took_is_proved_by_a_newer_base_file_and_by_no_log() -> None:
    later = Write(40, "commit", frozenset({("p=0", "a")}), False)
    (base,) = later.files
    log = StoredFile("p=0", DataFile(f".a_{later.time}.log.1_1-0-1", "a", later.time, 1, "1-0-1"), 9, 0)
    (file,) = Write(20, "failed", frozenset({("p=0", "a")}), True).files
    cleaned = Records(frozenset({later.time}), later.time, True, cleaned={file.path: "the clean"})
    assert alone(cleaned, base).sure
    assert not alone(cleaned, log).sure
