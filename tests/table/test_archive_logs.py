"""Logs of archives whose archiver died: Hudi 0.15.0 writes the log, closes it, and deletes the instants' files then."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.errors import Unreadable
from hudictl.formats import archived_timeline as fmt
from hudictl.formats.archived_timeline import ArchivedInstant
from hudictl.formats.instants import State, instant_file_name
from hudictl.table import archive_logs
from hudictl.table import timeline as timelines
from hudictl.table.archive import archived_after, archived_files, archived_in_order, torn_log
from hudictl.table.table import Table, open_table
from tests import records, support
from tests.table.conftest import put

FOLDER = ".hoodie/archived"
NEWEST = f"{FOLDER}/.commits_.archive.3_1-0-1"
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


def keys(entries: list[ArchivedInstant]) -> Keys:
    return {(entry.time, entry.action, entry.state) for entry in entries}


def cuts(body: bytes) -> list[int]:
    """Places where a write may have ended: around the edges of records, and in the last blocks' headers."""
    blocks = [at for at in range(len(body)) if body.startswith(b"#HUDI#", at)]
    records_at = [entry.record.offset + entry.record.length for entry in fmt.decode_log(body, "it") if entry.record]
    near = {at + delta for at in [*records_at, len(body)] for delta in (-1, 0)}
    near |= {at + delta for at in blocks[-2:] for delta in (0, 1, 5, 6, 13, 14, 22, 30, 5000)}
    return sorted({0, *(at for at in near if at < len(body))})


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
        assert torn_log(table) in (NEWEST.rpartition("/")[2], None)
    assert seen == set(range(len(alive) + 1))
    put(table, NEWEST, b"")
    assert keys(archived_after(table, "")) == older
    assert torn_log(table) == NEWEST.rpartition("/")[2]
    put(table, NEWEST, body)
    assert torn_log(table) is None


def test_records_before_the_cut_have_their_contents(table: Table, alive: list[ArchivedInstant]) -> None:
    body = table.storage.read(NEWEST)
    whole = archived_files(table, alive[0].time)
    put(table, NEWEST, body[:-20])
    for entry, found, _ in archived_files(table, alive[0].time):
        assert found == next(body for other, body, _ in whole if other.state == entry.state)


def test_a_log_that_is_cut_off_is_unreadable_where_an_instant_of_its_end_is_gone(table: Table) -> None:
    """So it was written whole, and its instants deleted. Wherever it is cut: on what it had, later commits built."""
    body = table.storage.read(NEWEST)
    blocks = {at for at in range(len(body)) if body.startswith(b"#HUDI#", at)}
    for cut in cuts(body):
        put(table, NEWEST, body[:cut])
        if cut in blocks and cut:
            # At the end of a block nothing shows.
            continue
        with pytest.raises(Unreadable, match="is cut off, and 2026"):
            archived_after(table, "")
        with pytest.raises(Unreadable, match="is cut off, and 2026"):
            torn_log(table)


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
    "an older log": lambda table, body: put(table, f"{FOLDER}/.commits_.archive.2_1-0-1", body[:-1]),
    "a newer log behind it": lambda table, body: (
        put(table, NEWEST, body[:-1]),
        put(table, f"{FOLDER}/.commits_.archive.4_1-0-1", body),
    ),
    "two newest logs": lambda table, body: (
        put(table, NEWEST, body[:-1]),
        put(table, f"{FOLDER}/.commits_.archive.3_2-0-1", body),
    ),
    "a block behind it": lambda table, body: put(table, NEWEST, body[:-1] + body),
    "no block behind it": lambda table, body: put(table, NEWEST, body + b"\0" * 100),
    "a hole in its end": lambda table, body: put(table, NEWEST, body[:-500] + b"\0" * 500),
    "a flipped length": lambda table, body: put(table, NEWEST, body[:7] + b"\1" + body[8:]),
    "another version": lambda table, body: put(table, NEWEST, body[:17] + b"\2" + body[18:-1]),
    "a type that is none": lambda table, body: put(table, NEWEST, body[:21] + b"\x63" + body[22:-1]),
    "a header that is none": lambda table, body: put(table, NEWEST, body[:22] + b"\xff" * 4 + body[26:-1]),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_any_other_damage_is_unreadable(table: Table, alive: list[ArchivedInstant], damage: str) -> None:
    """Also while all instants are active."""
    DAMAGES[damage](table, table.storage.read(NEWEST))
    with pytest.raises(Unreadable):
        archived_after(table, "")


def test_the_torn_log_of_a_merge_names_what_the_others_have(table: Table) -> None:
    """Hudi (0.15.0) writes small logs into a new one, and deletes them then."""
    logs = [f"{FOLDER}/.commits_.archive.{number}_1-0-1" for number in (1, 2, 3)]
    merged = b"".join(table.storage.read(log) for log in logs)
    before = keys(archived_after(table, ""))
    for cut in (len(merged) - 1, len(merged) - 300, 20_000):
        put(table, f"{FOLDER}/.commits_.archive.4_1-0-1", merged[:cut])
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
