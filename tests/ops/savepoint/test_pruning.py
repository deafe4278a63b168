"""Which savepoints are deleted, and what becomes of the table."""

import json
import os
from dataclasses import asdict, replace

import pytest

from hudictl.errors import HudictlError, Unreadable
from hudictl.formats import savepoint as fmt
from hudictl.ops.savepoint.plan import PruneOptions
from hudictl.ops.savepoint.pruning import plan_prune
from hudictl.reports.savepoints import savepoint_rows, with_bytes
from hudictl.state.files.retention import Rules
from hudictl.state.files.savepoints import PROTECTION_COMMENT
from tests import support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, OWN, Copy, attempt, drop, put, rollback_plan, session, tree
from tests.ops.savepoint.pruning_support import LAST, NIGHTLY, comment, fates, planned, plant, prune, save, save_all

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
ALL = PruneOptions(LAST, untagged=True)
FUTURE = "20991231000000000"


def refused(copy: Copy, options: PruneOptions = NIGHTLY) -> HudictlError:
    before = tree(copy.path)
    with pytest.raises(HudictlError) as caught:
        planned(copy, options)
    assert tree(copy.path) == before
    return caught.value


@pytest.mark.slow
@VERSIONS
def test_those_that_no_rule_keeps_are_deleted_and_all_else_stays(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    first, second, third, fourth = save_all(copy)
    before = tree(copy.path, OWN)
    made = planned(copy, PruneOptions(Rules(last=2), "nightly"))
    assert fates(made) == {first: (), second: (), third: ("last",), fourth: ("last",)}
    assert made.savepoints_to_delete == (first, second)
    assert tree(copy.path, OWN) == before
    result = prune(copy, PruneOptions(Rules(last=2), "nightly"))
    assert (result.savepoints_deleted, result.savepoints_kept) == ((first, second), 2)
    assert copy.savepoints == [third, fourth]
    assert copy.having("savepoint") == [
        f"{time}.savepoint{more}" for time in (third, fourth) for more in ("", ".inflight")
    ]
    left = tree(copy.path, OWN)
    gone = {name for name in before if name not in left}
    assert {name.rpartition("/")[2].partition(".")[0].partition("_")[0] for name in gone} == {first, second}
    assert all(before[name] == found for name, found in left.items())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "tags", "kept"),
    [
        (NIGHTLY, ("nightly", None, None, "nightly"), [1, 2, 3]),
        (NIGHTLY, ("nightly", "hourly", "hourly", "nightly"), [1, 2, 3]),
        (PruneOptions(LAST), ("nightly", None, None, "nightly"), [1, 2, 3]),
        (PruneOptions(LAST), ("nightly", "hourly", "nightly", "nightly"), [1, 3]),
        (PruneOptions(LAST, "other"), ("nightly", "hourly", None, "nightly"), [0, 1, 2, 3]),
        (ALL, ("nightly", None, None, "nightly"), [2, 3]),
        (ALL, (None, "hourly", "hourly", None), [2, 3]),
    ],
)
def test_only_what_is_chosen_is_deleted_and_each_tag_counts_by_itself(
    unpack: Unpack, options: PruneOptions, tags: tuple[str | None, ...], kept: list[int]
) -> None:
    copy = unpack("v9", "cow_part")
    saved = save_all(copy, *tags)
    for time, tag in zip(saved, tags, strict=True):
        comment(copy, time, "[not a tag] x") if tag is None else None
    assert [saved.index(time) for time, reasons in fates(planned(copy, options)).items() if reasons] == kept
    prune(copy, options)
    assert [saved.index(time) for time in copy.savepoints] == kept


def test_the_reasons_say_why_one_is_not_chosen(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    saved = save_all(copy, "hourly", None, "nightly")
    reasons = (("it has another tag",), ("it has no tag",), ("last",))
    assert fates(planned(copy)) == dict(zip(saved, reasons, strict=True))


@pytest.mark.slow
def test_hudictls_temporary_ones_are_never_touched(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    first, second, third, _ = save_all(copy)
    comment(copy, first, f"{PROTECTION_COMMENT}{FUTURE}")
    assert list(fates(planned(copy, ALL))) == copy.savepoints[1:]
    prune(copy, ALL)
    assert copy.savepoints == [first, copy.commits[3]]
    assert second < third


def test_without_any_to_delete_the_data_files_are_not_listed(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    save_all(copy, "nightly", "hourly")
    made = plan_prune(session(copy.table, engine=None), NIGHTLY)  # type: ignore[arg-type]
    assert (made.nothing_to_do, {row.own_bytes for row in made.savepoints}) == (True, {None})
    before = tree(copy.path)
    assert prune(copy).savepoints_deleted == ()
    assert tree(copy.path) == before


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name"), [(v, n) for v in support.VERSIONS for n in support.names(v)])
def test_the_bytes_are_those_of_the_list_and_what_goes_is_counted_once(unpack: Unpack, version: str, name: str) -> None:
    """On every sample table, with savepoints wherever one can be made."""
    copy = unpack(version, name)
    for time in copy.commits:
        attempt(lambda time=time: save(copy, time))  # type: ignore[misc]
    if attempt(lambda: planned(copy)) is not None:
        assert copy.having("restore") or copy.having("rollback")
        return
    made = planned(copy)
    rows = {row.instant: row for row in with_bytes(copy.table, savepoint_rows(copy.table), ENGINE)}
    if made.nothing_to_do:
        return
    assert {row.instant: row.own_bytes for row in made.savepoints} == {
        time: row.own_bytes for time, row in rows.items()
    }
    prune(copy)
    gone, left = set(made.savepoints_to_delete), set(copy.savepoints)
    assert gone.isdisjoint(left)
    assert made.bytes_freed >= sum(rows[time].own_bytes or 0 for time in gone)
    assert made.instants_freed == sum(min(gone) <= time < min(left) for time in copy.commits)


def test_what_two_of_those_to_delete_share_is_freed_too(unpack: Unpack) -> None:
    """The second one names the files of the first, too."""
    copy = unpack("v9", "cow_part")
    saved = save_all(copy)
    first, second = (fmt.decode(copy.file(time, "savepoint").read_bytes(), time) for time in saved[:2])
    both = {path: tuple({*names, *first.files.get(path, ())}) for path, names in second.files.items()}
    put(copy.file(saved[1], "savepoint"), fmt.encode(replace(second, files=both)))
    named = {}
    for time in saved:
        done = copy.file(time, "savepoint")
        files = fmt.decode(done.read_bytes(), done.name).files
        named[time] = {f"{path}/{name}" for path, names in files.items() for name in names}
    now = {f"{path}/{name}" for path, names in _newest(copy) for name in names}
    freed = set().union(*(named[time] for time in saved[:-1])) - named[saved[-1]] - now
    made = planned(copy)
    assert made.bytes_freed == sum((copy.path / path).stat().st_size for path in freed)
    shared = {path for path in freed if sum(path in named[time] for time in saved[:-1]) > 1}
    assert shared
    assert made.bytes_freed > sum(row.own_bytes or 0 for row in made.savepoints if not row.kept)


def _newest(copy: Copy) -> list[tuple[str, list[str]]]:
    groups: dict[str, dict[str, str]] = {}
    for path in copy.data():
        partition, _, name = path.rpartition("/")
        file_id, _, instant = name.removesuffix(".parquet").split("_")
        found = groups.setdefault(partition, {})
        if instant > found.get(file_id, "").removesuffix(".parquet").rpartition("_")[2]:
            found[file_id] = name
    return [(partition, list(found.values())) for partition, found in groups.items()]


@VERSIONS
def test_the_only_one_that_can_be_restored_is_kept(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    first, last = copy.savepoints
    drop(next(copy.path.rglob(f"*_{last}.parquet")))
    made = planned(copy, ALL)
    assert fates(made) == {first: ("no other savepoint can be restored",), last: ("last",)}
    assert made.nothing_to_do


@pytest.mark.slow
def test_the_newest_of_those_that_can_be_restored_is_kept(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    first, second, third, last = save_all(copy)
    for time in (third, last):
        drop(next(copy.path.rglob(f"*_{time}.parquet")))
    made = planned(copy)
    assert fates(made) == {first: (), second: ("no other savepoint can be restored",), third: (), last: ("last",)}
    prune(copy)
    assert copy.savepoints == [second, last]
    # It is still the only one.
    assert planned(copy).nothing_to_do


def test_one_that_another_tag_has_counts_as_one_that_can_be_restored(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    first, second, last = save_all(copy, "nightly", "manual", "nightly")
    drop(next(copy.path.rglob(f"*_{last}.parquet")))
    assert fates(planned(copy)) == {first: (), second: ("it has another tag",), last: ("last",)}


def test_13_where_none_can_be_restored(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    for time in copy.savepoints:
        drop(next(copy.path.rglob(f"*_{time}.parquet")))
    error = refused(copy, ALL)
    assert (error.exit_code, error.fields["savepoints"]) == (13, copy.savepoints[::-1])


@pytest.mark.slow
@pytest.mark.parametrize("damaged", [False, True])
def test_beside_a_running_writer_the_files_decide(unpack: Unpack, damaged: bool) -> None:
    """A restore would be refused; the savepoints are as good as before."""
    copy = unpack("v9", "cow_part")
    first, second, last = save_all(copy, "nightly", "nightly", "nightly")
    copy.write(f"{FUTURE[:-1]}1.commit.requested", old=False)
    copy.write(f"{FUTURE[:-1]}1.inflight", old=False)
    put(copy.meta / ".heartbeat" / f"{FUTURE[:-1]}1", old=False)
    if damaged:
        drop(next(copy.path.rglob(f"*_{last}.parquet")))
    found = fates(planned(copy))
    assert found == {first: (), second: ("no other savepoint can be restored",) if damaged else (), last: ("last",)}
    prune(copy)
    assert copy.savepoints == [second, last] if damaged else [last]


def test_one_from_before_an_upgrade_is_not_the_only_one_to_stay(unpack: Unpack) -> None:
    """If no restore can take later rows out of its logs; also beside a running writer."""
    copy = unpack("v9", "upgraded_mor")
    times = support.history_facts("v9", "upgraded_mor")["instants"]
    older, newest = save(copy, times["v6 second"]), save(copy, times["v8 first"])
    drop(next(path for path in copy.path.rglob(f"*_{newest}*.log.*") if path.suffix != ".crc"))
    plant(copy, times["v6 first"])
    copy.write(f"{FUTURE[:-1]}1.commit.requested", old=False)
    copy.write(f"{FUTURE[:-1]}1.inflight", old=False)
    put(copy.meta / ".heartbeat" / f"{FUTURE[:-1]}1", old=False)
    assert fates(planned(copy))[older] == ("no other savepoint can be restored",)


def test_13_where_one_is_ahead_of_the_clock(unpack: Unpack) -> None:
    """All others would be old."""
    copy = unpack("v9", "cow_part")
    _, last = save_all(copy, "nightly", "nightly")
    copy.write(f"{FUTURE}.savepoint.inflight")
    copy.write(f"{FUTURE}_{FUTURE}.savepoint", copy.file(last, "savepoint").read_bytes())
    error = refused(copy, PruneOptions(Rules(within_ms=86_400_000), "nightly"))
    assert (error.exit_code, error.fields["savepoint"]) == (13, FUTURE)


def test_13_while_a_restore_is_pending(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_restore_interrupted")
    assert refused(copy, ALL).exit_code == 13


def test_13_where_a_rollback_is_blocked_only_by_one_of_them(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    first, _, last = save_all(copy, "nightly", "nightly", "nightly")
    copy.write(f"{FUTURE}.rollback.requested", rollback_plan(first))
    error = refused(copy)
    assert (error.exit_code, "blocked only by this savepoint" in error.message) == (13, True)
    assert planned(copy, PruneOptions(Rules(last=5), "nightly")).nothing_to_do
    assert last in copy.savepoints


def test_14_where_one_cannot_be_read(unpack: Unpack) -> None:
    """Its tag is not known, nor which files it holds."""
    copy = unpack("v9", "cow_part")
    first, _ = save_all(copy, "nightly", "nightly")
    put(copy.file(first, "savepoint"), b"no Avro")
    with pytest.raises(Unreadable, match=first):
        planned(copy)


def test_the_record_says_what_was_deleted(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    first, second, _ = save_all(copy, "nightly", "nightly", "nightly")
    result = prune(copy)
    record = json.loads(max((copy.path / OWN / "operations").iterdir()).read_text())
    assert (record["operation"], record["target"]) == ("savepoint prune", "nightly")
    assert record["plan"]["savepoints"] == [first, second]
    assert record["attempts"][-1]["report"] == json.loads(json.dumps(asdict(result)))


@VERSIONS
def test_what_a_prune_that_died_has_left_is_deleted_and_no_other(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    first, _, last = save_all(copy, "nightly", "nightly", "nightly")
    prune(copy)
    copy.write(f"{first}.savepoint.inflight")
    # Of another one nobody knows who began it.
    copy.write(f"{copy.commits[3]}.savepoint.inflight")
    made = planned(copy, PruneOptions(Rules(last=5), "nightly"))
    assert (made.unfinished, made.savepoints_to_delete, made.nothing_to_do) == ((first,), (), False)
    assert prune(copy, PruneOptions(Rules(last=5), "nightly")).savepoints_deleted == (first,)
    assert copy.having("savepoint") == [
        f"{last}.savepoint",
        f"{last}.savepoint.inflight",
        f"{copy.commits[3]}.savepoint.inflight",
    ]


@VERSIONS
def test_a_savepoint_that_another_process_begins_again_is_not_what_a_prune_has_left(
    unpack: Unpack, version: str
) -> None:
    copy = unpack(version, "cow_part")
    first, _ = save_all(copy, "nightly", "nightly")
    prune(copy)
    file = copy.write(f"{first}.savepoint.inflight", old=False)
    record = max((copy.path / OWN / "operations").iterdir())
    later = record.stat().st_mtime + 1
    os.utime(file, (later, later))
    made = planned(copy, PruneOptions(Rules(last=5), "nightly"))
    assert (made.unfinished, made.nothing_to_do) == ((), True)
    os.utime(file, (later - 2, later - 2))
    assert planned(copy, PruneOptions(Rules(last=5), "nightly")).unfinished == (first,)


@pytest.mark.parametrize("named", [5, "text", None, {"a": 1}, [1, None]])
def test_odd_words_in_a_record_choose_nothing(unpack: Unpack, named: object) -> None:
    copy = unpack("v9", "cow_part")
    first, _ = save_all(copy, "nightly", "nightly")
    prune(copy)
    record = max((copy.path / OWN / "operations").iterdir())
    told = json.loads(record.read_text())
    put(record, json.dumps({**told, "plan": {"savepoints": named}}))
    copy.write(f"{first}.savepoint.inflight")
    assert planned(copy).unfinished == ()


def test_no_savepoints_at_all(unpack: Unpack) -> None:
    made = planned(unpack("v9", "cow_part"), ALL)
    assert (made.nothing_to_do, made.savepoints) == (True, ())
