"""Logs of archives whose archiver died: Hudi 0.15.0 writes the log, closes it, and deletes the instants' files then."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from hudictl.errors import Unreadable
from hudictl.formats import archived_timeline as fmt
from hudictl.formats.archived_timeline import ArchivedInstant
from hudictl.formats.instants import State, instant_file_name
from hudictl.formats.rollback import InstantInfo, RollbackMetadata, encode_metadata
from hudictl.table.open import open_table
from hudictl.table.table import Table
from hudictl.table.timeline import active as timelines
from hudictl.table.timeline import archive_logs
from hudictl.table.timeline.archive import archived_after, archived_files, archived_in_order, torn_logs
from tests import records, support
from tests.helpers import Copy
from tests.table.conftest import put

FOLDER = ".hoodie/archived"
NAME = ".commits_.archive.3_1-0-1"
NEWEST = f"{FOLDER}/{NAME}"
BODIES = {"commit": b"{}", "clean": records.clean_metadata([])}
Keys = set[tuple[str, str, State]]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return open_table(str(support.unpack("v6", "cow_cleaned", tmp_path)), zone="UTC")


@pytest.fixture
def alive(table: Table) -> list[ArchivedInstant]:
    """The instants of the newest log, which are on the timeline again: their archiver has deleted nothing yet."""
    entries = list(fmt.decode_log(table.storage.read(NEWEST), NEWEST))
    for entry in entries:
        name = instant_file_name(entry.time, entry.action, entry.state, 1)
        put(table, f".hoodie/{name}", BODIES[entry.action] if entry.state is State.COMPLETED else b"")
    return entries


def log(number: int) -> str:
    return f"{FOLDER}/.commits_.archive.{number}_1-0-1"


def keys(entries: Iterable[ArchivedInstant]) -> Keys:
    return {(entry.time, entry.action, entry.state) for entry in entries}


def cuts(body: bytes) -> list[int]:
    """Places where a write may have ended: around the edges of records, and in the last blocks' headers."""
    blocks = [at for at in range(len(body)) if body.startswith(b"#HUDI#", at)]
    records_at = [entry.record.offset + entry.record.length for entry in fmt.decode_log(body, "it") if entry.record]
    near = {at + delta for at in [*records_at, len(body)] for delta in (-1, 0)}
    near |= {at + delta for at in blocks[-2:] for delta in (0, 1, 5, 6, 13, 14, 22, 30, 5000)}
    return sorted({0, *(at for at in near if at < len(body))})


@pytest.mark.slow
def test_a_log_that_is_cut_off_anywhere_is_read_while_its_instants_are_active(
    table: Table, alive: list[ArchivedInstant]
) -> None:
    body = table.storage.read(NEWEST)
    older = keys(archived_after(table, "")) - keys(alive)
    seen = set()
    for cut in cuts(body):
        put(table, NEWEST, body[:cut])
        found = keys(archived_after(table, ""))
        assert older <= found <= older | keys(alive)
        assert [*archived_in_order(table)]
        seen.add(len(found - older))
        assert torn_logs(table) in ((NAME,), ())
    assert seen == set(range(len(alive) + 1))
    put(table, NEWEST, b"")
    assert keys(archived_after(table, "")) == older
    assert torn_logs(table) == (NAME,)
    put(table, NEWEST, body)
    assert torn_logs(table) == ()


def test_records_before_the_cut_have_their_contents(table: Table, alive: list[ArchivedInstant]) -> None:
    body = table.storage.read(NEWEST)
    whole = archived_files(table, alive[0].time)
    put(table, NEWEST, body[:-20])
    for entry, found, _ in archived_files(table, alive[0].time):
        assert found == next(body for other, body, _ in whole if other.state == entry.state)


@pytest.mark.slow
def test_a_log_that_is_cut_off_is_unreadable_where_an_instant_of_its_end_is_gone(table: Table) -> None:
    """So it was written whole, and its instants deleted. Wherever it is cut: on what it had, later commits built."""
    body = table.storage.read(NEWEST)
    blocks = {at for at in range(len(body)) if body.startswith(b"#HUDI#", at)}
    for cut in cuts(body):
        put(table, NEWEST, body[:cut])
        if cut in blocks and cut:
            # At the end of a block nothing shows.
            continue
        with pytest.raises(Unreadable, match="is incomplete, and its instant 2026"):
            archived_after(table, "")
        with pytest.raises(Unreadable, match="is incomplete, and its instant 2026"):
            torn_logs(table)


@pytest.mark.parametrize("gone", [0, -1])
def test_an_instant_of_the_torn_log_is_gone(table: Table, alive: list[ArchivedInstant], gone: int) -> None:
    """Of its end, or of the blocks before it: deletion has begun, so the log was whole. Pending files go first."""
    put(table, NEWEST, table.storage.read(NEWEST)[:-1])
    assert archived_after(table, "")
    last = [entry for entry in alive if entry.state is State.REQUESTED][gone]
    table.storage.delete([f".hoodie/{instant_file_name(last.time, last.action, last.state, 1)}"])
    with pytest.raises(Unreadable, match=last.time) as caught:
        archived_after(table, "")
    assert caught.value.fields["file"] == NEWEST.rpartition("/")[2]


Damage = Callable[[Table, bytes], object]
DAMAGES: dict[str, Damage] = {
    "an older log": lambda table, body: put(table, log(2), body[:-1]),
    "a block behind it": lambda table, body: put(table, NEWEST, body[:-1] + body),
    "no block behind it": lambda table, body: put(table, NEWEST, body + b"\0" * 100),
    "a hole in its end": lambda table, body: put(table, NEWEST, body[:-500] + b"\0" * 500),
    "a flipped length": lambda table, body: put(table, NEWEST, body[:7] + b"\1" + body[8:]),
    "another version": lambda table, body: put(table, NEWEST, body[:17] + b"\2" + body[18:-1]),
    "a type that is none": lambda table, body: put(table, NEWEST, body[:21] + b"\x63" + body[22:-1]),
    "a header that is none": lambda table, body: put(table, NEWEST, body[:22] + b"\xff" * 4 + body[26:-1]),
}


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("damage", DAMAGES)
def test_any_other_damage_is_unreadable(table: Table, alive: list[ArchivedInstant], damage: str, behind: bool) -> None:
    """Also while all instants are active, and are in a later log."""
    body = table.storage.read(NEWEST)
    DAMAGES[damage](table, body)
    if behind:
        put(table, log(4), body)
    with pytest.raises(Unreadable):
        archived_after(table, "")


def test_the_torn_log_of_a_merge_names_what_the_others_have(table: Table) -> None:
    """Hudi (0.15.0) writes small logs into a new one, and deletes them then."""
    logs = [log(number) for number in (1, 2, 3)]
    merged = b"".join(table.storage.read(log) for log in logs)
    before = keys(archived_after(table, ""))
    for cut in (len(merged) - 1, len(merged) - 300, 20_000):
        put(table, log(4), merged[:cut])
        assert keys(archived_after(table, "")) == before
    table.storage.delete(logs[2:])
    with pytest.raises(Unreadable):
        archived_after(table, "")


def test_a_living_archiver_beside(table: Table, alive: list[ArchivedInstant], monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends its log, and deletes the instants, after the log was first read."""
    body = table.storage.read(NEWEST)
    put(table, NEWEST, body[: len(body) // 2])
    real = timelines.load_timeline

    def load(table: Table) -> object:
        timeline = real(table)
        put(table, NEWEST, body)
        for entry in alive:
            table.storage.delete([f".hoodie/{instant_file_name(entry.time, entry.action, entry.state, 1)}"])
        return timeline

    monkeypatch.setattr(archive_logs, "load_timeline", load)
    assert keys(alive) <= keys(archived_after(table, ""))


def test_the_record_that_the_cut_is_in_names_its_instant(table: Table, alive: list[ArchivedInstant]) -> None:
    """A clean, on which nothing is built: in the only record of its log."""
    record = alive[0].record
    assert alive[0].action == "clean"
    assert record is not None
    body = table.storage.read(NEWEST)
    for missing in (0, 30, 300):
        put(table, NEWEST, body[: record.offset + record.length - missing])
        assert archived_after(table, "")
    for entry in alive:
        if entry.time == alive[0].time:
            table.storage.delete([f".hoodie/{instant_file_name(entry.time, entry.action, entry.state, 1)}"])
    for missing in (0, 30, 300):
        put(table, NEWEST, body[: record.offset + record.length - missing])
        with pytest.raises(Unreadable, match=alive[0].time):
            archived_after(table, "")


def taken_again(table: Table, number: int) -> bytes:
    """A log's bytes, which the one behind it has, too: its archiver died, and the next one took the same instants."""
    bodies = [table.storage.read(log(each)) for each in (1, 2, 3)]
    for each, body in enumerate([*bodies[:number], *bodies[number - 1 :]], 1):
        put(table, log(each), body)
    return bodies[number - 1]


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_older_log_that_is_cut_off_anywhere_is_read_while_a_later_one_has_its_instants(
    table: Table, number: int
) -> None:
    """Its archiver died, and the next one took the same instants from the timeline: this log stays torn for good."""
    before = keys(archived_after(table, ""))
    body = taken_again(table, number)
    name = log(number).rpartition("/")[2]
    seen = set()
    for cut in cuts(body):
        put(table, log(number), body[:cut])
        assert keys(archived_after(table, "")) == before
        seen.add(tuple(torn_logs(table)))
    assert seen == {(name,), ()}, "at the end of a block nothing shows"


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2])
def test_an_older_log_that_is_cut_off_is_unreadable_where_an_instant_of_its_end_is_nowhere(
    table: Table, number: int
) -> None:
    """Also where it names none any more: on what it had, the commits of the next log built."""
    body = table.storage.read(log(number))
    for cut in cuts(body):
        if cut and body.startswith(b"#HUDI#", cut):
            continue
        put(table, log(number), body[:cut])
        with pytest.raises(Unreadable, match="is incomplete, and its instant 2026") as caught:
            archived_after(table, "")
        assert caught.value.fields["file"] == log(number).rpartition("/")[2]
        with pytest.raises(Unreadable):
            torn_logs(table)


@pytest.mark.parametrize("state", State)
def test_an_older_log_that_is_cut_off_is_unreadable_where_a_later_one_lacks_a_file_of_its_instants(
    table: Table, state: State
) -> None:
    """So its archiver had begun to delete, and the log was whole."""
    body = taken_again(table, 2)
    put(table, log(2), body[:-1])
    assert archived_after(table, "")
    (entry,) = [
        entry for entry in fmt.decode_log(body, "it") if entry.time == "20261121025337059" and entry.state is state
    ]
    ends = [at for at in range(len(body)) if body.startswith(b"#HUDI#", at)] + [len(body)]
    assert entry.record is not None
    start = max(at for at in ends if at < entry.record.offset)
    put(table, log(3), body[:start] + body[min(at for at in ends if at > start) :])
    with pytest.raises(Unreadable, match=entry.time):
        archived_after(table, "")


def test_two_torn_logs_do_not_prove_each_other(table: Table, alive: list[ArchivedInstant]) -> None:
    """Of archivers that died one after the other: what both name is on the timeline."""
    body = table.storage.read(NEWEST)
    put(table, NEWEST, body[:-1])
    put(table, log(4), body[:-300])
    assert keys(alive) - keys(archived_after(table, "")) == set()
    assert len(torn_logs(table)) == 2
    for entry in alive:
        table.storage.delete([f".hoodie/{instant_file_name(entry.time, entry.action, entry.state, 1)}"])
    with pytest.raises(Unreadable):
        archived_after(table, "")
    put(table, log(5), body)
    assert keys(alive) <= keys(archived_after(table, ""))


def test_what_an_older_torn_log_names_was_taken_back_by_a_rollback_that_is_archived_now(
    table: Table, alive: list[ArchivedInstant], tmp_path: Path
) -> None:
    put(table, NEWEST, table.storage.read(NEWEST)[:-1])
    commit = next(entry.time for entry in alive if entry.action == "commit")
    for entry in alive:
        if entry.time == commit:
            table.storage.delete([f".hoodie/{instant_file_name(entry.time, entry.action, entry.state, 1)}"])
    with pytest.raises(Unreadable, match=commit):
        archived_after(table, "")
    body = encode_metadata(RollbackMetadata("20261121025400000", 0, InstantInfo(commit, "commit"), {}))
    records.archive(Copy("v6", "cow_cleaned", tmp_path / "cow_cleaned/table"), "20261121025400000", "rollback", body)
    assert archived_after(table, "")


def test_an_archiver_ends_a_log_that_was_not_there_yet(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """And deletes what an older torn log names, before the timeline is read."""
    body = taken_again(table, 3)
    put(table, NEWEST, body[:-1])
    table.storage.delete([log(4)])
    real = timelines.load_timeline

    def load(table: Table) -> object:
        put(table, log(4), body)
        return real(table)

    monkeypatch.setattr(archive_logs, "load_timeline", load)
    assert keys(fmt.decode_log(body, NEWEST)) <= keys(archived_after(table, ""))


def test_no_timeline_is_read_for_logs_that_are_whole(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(archive_logs, "load_timeline")
    assert archived_after(table, "")
