"""An undo of a restore or rollback that kept its files: Hudi reads what it read before, and goes on from there."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from hudictl.errors import StorageFailed
from hudictl.formats.plans import decode_compaction_groups
from hudictl.ops.put_back import execute
from hudictl.ops.repair import plan
from hudictl.table.kept import room_times
from hudictl.table.open import open_table
from tests import support
from tests.helpers import assert_listed
from tests.interop import product
from tests.interop.check_support import findings
from tests.interop.indexes_support import SKIP
from tests.interop.judge import Judge, JudgeError
from tests.interop.make_indexes import RECORD_INDEX
from tests.interop.make_overlaps import BY_HAND, CLUSTER, COMPACT, MOR, ONE_VERSION, rows
from tests.interop.overlaps_support import upsert_all
from tests.interop.scenarios import MERGE_ON_READ, batch, digest

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
KINDS = {"cow": BY_HAND, "mor": MOR}
ARCHIVE = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1"}


def _files(base: Path) -> dict[str, tuple[bytes, int]]:
    """All files but hudictl's own, with content and modification time."""
    found = {path.relative_to(base).as_posix(): path for path in base.rglob("*") if path.is_file()}
    return {
        name: (path.read_bytes(), path.stat().st_mtime_ns)
        for name, path in found.items()
        if not name.startswith(".hoodie/.hudictl")
    }


def _undo(base: Path) -> None:
    time = max(room_times(open_table(str(base))))
    assert product.command(base, "undo", time, idle="0s") == 0
    assert [*room_times(open_table(str(base)))] == []


def _history(hudi: Judge, base: Path, kind: str) -> str:
    """Two writes, an instant to go back to, then an overwrite, a clustering or compaction, a deletion. Returns it."""
    options = KINDS[kind]
    hudi.create(base, rows("abc", 1), options)
    target = hudi.upsert(base, rows("abc", 2), options=options)
    hudi.upsert(base, rows("ab", 3), options=options)
    hudi.upsert(base, rows("c", 4)[:3], "insert_overwrite", options)
    if kind == "cow":
        hudi.cluster(base, "scheduleAndExecute", {**options, **CLUSTER})
    else:
        hudi.compact(base, "scheduleAndExecute", {**options, **COMPACT})
    hudi.delete(base, [row[0] for row in rows("a", 1)[:2]], options=options)
    return target


def _goes_on(hudi: Judge, base: Path, kind: str) -> None:
    """Upserts of all keys, a deletion, cleaning, compaction, archiving: no key comes twice, none is lost."""
    options = KINDS[kind]
    upsert_all(hudi, base)
    count = hudi.both_rows(base)["count"]
    hudi.delete(base, [hudi.read(base)[0][0]], options=options)
    hudi.clean(base, {**ONE_VERSION, **options})
    if kind == "mor":
        hudi.compact(base, "scheduleAndExecute", {**options, **COMPACT})
    for ts in (121, 122, 123):
        changed = [[row[0], ts, *row[2:]] for row in hudi.read(base, columns=("id", "ts", "val", "p"))[:2]]
        hudi.upsert(base, changed, options={**options, **ARCHIVE})
    assert hudi.both_rows(base)["count"] == count - 1
    assert not findings(base)


@pytest.mark.full
@pytest.mark.short("restore-mor-v6", "restore-cow-v9")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", ["restore", "rollback"])
def test_all_is_as_before(judge: Judges, tmp_path: Path, version: str, kind: str, what: str) -> None:
    hudi, base = judge(version), tmp_path / "table"
    target = _history(hudi, base, kind)
    seen, files = hudi.both_rows(base), _files(base)
    filtered = hudi.read(base)
    if what == "restore":
        assert product.command(base, "restore", f"--to-instant={target}", "--keep-files", idle="0s") == 0
    else:
        last = max(entry[0] for entry in hudi.timeline(base))
        assert product.command(base, "rollback", last, "--keep-files", idle="0s") == 0
    # What is kept is nothing to Hudi.
    assert hudi.both_rows(base) != seen
    _undo(base)
    assert _files(base) == files
    assert hudi.both_rows(base) == seen
    assert hudi.read(base) == filtered
    _goes_on(hudi, base, kind)


@pytest.mark.short("cow-v6", "mor-v9")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_is_nothing_to_hudi(judge: Judges, tmp_path: Path, version: str, kind: str) -> None:
    hudi, base = judge(version), tmp_path / "table"
    target = _history(hudi, base, kind)
    assert product.command(base, "restore", f"--to-instant={target}", "--keep-files", idle="0s") == 0
    (time,) = room_times(open_table(str(base)))
    room = base / ".hoodie/.hudictl/undo" / time
    kept = {path: path.read_bytes() for path in room.rglob("*") if path.is_file()}
    assert hudi.both_rows(base)["count"] == len(rows("abc", 1))
    _goes_on(hudi, base, kind)
    # Neither cleaning nor archiving has seen it; and after a write there is no way back.
    assert {path: path.read_bytes() for path in room.rglob("*") if path.is_file()} == kept
    assert product.command(base, "undo", time, idle="0s") == 13
    assert product.command(base, "undo", "drop", time) == 0
    assert not room.exists()


def _dies(base: Path) -> str:
    """An undo ends when all is back that readers do not see, and before it publishes the first instant."""
    (time,) = room_times(open_table(str(base)))

    def died(*_: object) -> None:
        raise StorageFailed("it dies here")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execute, "timeline_again", died)
        assert product.command(base, "undo", time, idle="0s") == StorageFailed.exit_code
    return time


@pytest.mark.parametrize("version", support.VERSIONS)
def test_no_writer_begins_beside_one_that_died(judge: Judges, tmp_path: Path, version: str) -> None:
    """It can be finished; or dropped, and then writers go on."""
    hudi, base = judge(version), tmp_path / "table"
    hudi.create(base, rows("ab", 1), MOR)
    hudi.upsert(base, rows("ab", 2), options=MOR)
    left = hudi.both_rows(base)
    last = hudi.upsert(base, rows("ab", 3), options=MOR)
    seen, files = hudi.both_rows(base), _files(base)
    for ends in ("undo", "drop"):
        assert product.command(base, "rollback", last, "--keep-files", idle="0s") == 0
        time = _dies(base)
        with pytest.raises(JudgeError, match="Found pending restore"):
            hudi.upsert(base, rows("a", 4), options=MOR)
        assert hudi.both_rows(base) == left
        if ends == "undo":
            _undo(base)
            assert (_files(base), hudi.both_rows(base)) == (files, seen)
    assert product.command(base, "undo", "drop", time) == 0
    hudi.upsert(base, rows("ab", 4), options=MOR)
    assert hudi.both_rows(base) == digest(rows("ab", 4))


@pytest.mark.full
@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_nor_while_a_plan_or_the_metadata_table_comes_back(judge: Judges, tmp_path: Path, version: str) -> None:
    """Below version 8 it would put its logs where the plan says; and a metadata table that it does not use lacks its
    rows. Nor does one begin while a plan of version 6 loses an operation."""
    hudi, base = judge(version), tmp_path / "table"
    options, off = {**MERGE_ON_READ, **BY_HAND}, {"hoodie.metadata.enable": "false"}
    once = {"hoodie.compact.inline.max.delta.commits": "1"}
    later = {"hoodie.compact.inline": "false", **BY_HAND, **off}
    hudi.create(base, rows("ab", 1), {**options, "hoodie.compact.inline": "false"})
    hudi.upsert(base, rows("ab", 2), options={**BY_HAND, "hoodie.compact.inline": "false"})
    hudi.compact(base, "schedule", once)
    seen, files, steps = hudi.both_rows(base), _files(base), list[str]()

    def writer() -> None:
        with pytest.raises(JudgeError, match="Found pending restore"):
            hudi.upsert(base, rows("a", 4), options=later)
        # Readers see all the same.
        assert hudi.both_rows(base) == seen

    def watched(module: ModuleType, name: str, *command: str) -> None:
        real = getattr(module, name)

        def beside(*arguments: object) -> object:
            writer()
            steps.append(name)
            return real(*arguments)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, name, beside)
            assert product.command(base, *command, idle="0s") == 0

    request = max(base.rglob("*.compaction.requested"))
    time = request.name.partition(".")[0]
    group = "/".join(min(decode_compaction_groups(request.read_bytes(), "it")))
    unschedule = ("compaction", "unschedule", time, f"--group={group}")
    if version == "v6":
        watched(plan, "_change", *unschedule)
    else:
        assert product.command(base, *unschedule, idle="0s") == 0
    watched(execute, "timeline_again", "undo", max(room_times(open_table(str(base)))))
    assert product.command(base, "metadata", "drop", "--keep-files", idle="0s") == 0
    watched(execute, "_remove_own", "undo", max(room_times(open_table(str(base)))))
    assert len(steps) == (3 if version == "v6" else 2)
    assert _files(base) == files
    hudi.upsert(base, rows("ab", 4), options=BY_HAND | once)
    assert hudi.both_rows(base) == digest(rows("ab", 4))


@pytest.mark.full
def test_removed_rows_stay_removed_after_one_that_was_given_up(judge: Judges, tmp_path: Path) -> None:
    """Also once the timeline begins after their commits: then rollback blocks alone hide them."""
    hudi, base = judge("v6"), tmp_path / "table"
    plain = {**MERGE_ON_READ, "hoodie.compact.inline": "false"}
    hudi.create(base, rows("ab", 1), plain)
    target = hudi.upsert(base, rows("ab", 2), options=plain)
    removed = [hudi.upsert(base, rows("ab", ts), options=plain) for ts in (50, 51)]
    assert product.command(base, "restore", f"--to-instant={target}", "--keep-files", idle="0s") == 0
    assert product.command(base, "undo", "drop", _dies(base)) == 0
    assert product.command(base, "resume", idle="0s") == 0
    assert hudi.both_rows(base) == digest(rows("ab", 2))
    retained = {"hoodie.cleaner.commits.retained": "1"}
    options, ts = {**plain, **ARCHIVE, **retained, "hoodie.metadata.compact.max.delta.commits": "2"}, 2
    while min(entry[0] for entry in hudi.timeline(base)) < max(removed):
        ts += 1
        assert ts < 30
        hudi.upsert(base, rows("a", ts)[:1], options=options)
    expected = digest([*rows("a", ts)[:1], *rows("ab", 2)[1:]])
    assert (hudi.rows(base, False), hudi.rows(base, True)) == (expected, expected)
    assert not findings(base)


@pytest.mark.full
def test_a_metadata_table_that_was_dropped(judge: Judges, tmp_path: Path) -> None:
    """Whole, and one index of it: writers and readers use it again, over its next compactions."""
    hudi, base = judge("v9"), tmp_path / "table"
    options = RECORD_INDEX | {"hoodie.index.type": "RECORD_INDEX", "hoodie.metadata.compact.max.delta.commits": "3"}
    hudi.create(base, batch(range(30), 1), options)
    hudi.upsert(base, batch(range(30), 2), options=options)
    files, seen = _files(base), hudi.both_rows(base)
    for names in ((), ("record_index",)):
        assert product.command(base, "metadata", "drop", *names, "--keep-files", idle="0s") == 0
        assert hudi.both_rows(base) == seen
        _undo(base)
        assert _files(base) == files
    before = {path for path in files if path.startswith(".hoodie/metadata/.hoodie/")}
    for ts in range(3, 8):
        hudi.upsert(base, batch(range(30), ts), options=options)
        assert hudi.both_rows(base) == digest(batch(range(30), ts))
        assert_listed(base)
    assert hudi.sql(base, ["SELECT id, val FROM judged WHERE id = 29"], SKIP) == [[29, "v7-29"]]
    assert "record_index" in open_table(str(base)).metadata_partitions
    # It is the one from before: nothing has built it anew.
    assert before <= _files(base).keys()
    assert not findings(base)
