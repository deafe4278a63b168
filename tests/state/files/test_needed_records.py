"""What records say of a partition, gathered each by itself: no other record of the partition, and often no file."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from hudictl.errors import Unreadable
from hudictl.formats.restore import StoredRestorePlan, encode_plan
from hudictl.formats.rollback import InstantInfo
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.files.borrowed import Borrowed
from hudictl.state.files.needed import Case, Names, Outcome, judged, needed_files
from hudictl.state.timeline.clean_plans import pending_cleans
from hudictl.table.files.saved import NOTHING_SAVED, kept_saved
from hudictl.table.open import open_table
from tests import records
from tests.helpers import ENGINE, Copy, required
from tests.state.files.needed_records_support import SILENT, VERSIONS, at, base, done, made, stamp, wrote
from tests.table.conftest import Small
from tests.table.conftest import small as small

MOR = "MERGE_ON_READ"


def log(number: int, version: int = 1) -> str:
    return f".f-0_{at(number)}.log.{version}_0-1-1"


def case_of(
    folder: Path,
    removed: tuple[int, ...] = (),
    savepointed: Names | None = None,
    owners: Mapping[int, set[str]] | None = None,
    borrowed: Borrowed | None = None,
    bases_only: tuple[int, ...] = (),
) -> tuple[Case, Outcome]:
    table = open_table(str(folder), zone="UTC")
    facts = read_facts(table, ENGINE, read_signs(table), savepointed=savepointed or {})
    own = {at(number): paths for number, paths in (owners or {}).items()}
    return judged(facts, [*map(at, removed)], kept_saved(savepointed or {}), own, borrowed, [*map(at, bases_only)])


def outcome_of(folder: Path, *given: object, **named: object) -> Outcome:
    return case_of(folder, *given, **named)[1]  # type: ignore[arg-type]


def required_of(folder: Path, *given: object) -> set[str]:
    """The paths of the required files."""
    return set(required(open_table(str(folder), zone="UTC"), case_of(folder, *given)[0]))  # type: ignore[arg-type]


def gone(outcome: Outcome) -> dict[str, list[str]]:
    """What goes, by instant."""
    return {time: [file.path for file in files] for time, files in outcome.removed.items()}


# What is needed, and not there.


@VERSIONS
def test_of_a_partition_that_is_gone_all_is_missed(small: Small, version: int) -> None:
    folder = made(small, version, {done(version, 1): wrote(f"p/{base(1)}")})
    assert outcome_of(folder).missing == (f"p/{base(1)}",)


@VERSIONS
def test_what_the_savepoint_alone_names_is_missed(small: Small, version: int) -> None:
    folder = made(small, version, {done(version, 1): SILENT})
    assert outcome_of(folder, (), {"p": (base(1),)}).missing == (f"p/{base(1)}",)


@VERSIONS
def test_a_group_that_comes_back_is_missed_where_its_partition_is_gone(small: Small, version: int) -> None:
    replacing = wrote(replaced={"p": ["f-0"]})
    folder = made(small, version, {done(version, 1): SILENT, done(version, 2, "replacecommit"): replacing})
    assert outcome_of(folder, (2,)).missing == ("p/f-0",)
    assert outcome_of(folder).missing == ()


@VERSIONS
def test_what_a_clean_took_before_the_newest_removed_commit_is_missed(small: Small, version: int) -> None:
    """Between the target and that: the kept commits decide which cleans are old."""
    files = {
        done(version, 1): SILENT,
        done(version, 2, "clean"): records.clean_metadata([f"p/{base(1)}"]),
        done(version, 3): SILENT,
    }
    folder = made(small, version, files, f"p/{base(3)}")
    stamp(folder, files)
    assert outcome_of(folder, (3,)).missing == (f"p/{base(1)}",)
    assert outcome_of(folder).missing == ()


@VERSIONS
@pytest.mark.parametrize("state", ["requested", "inflight"])
def test_a_pending_clean_of_before_the_newest_commit_may_have_taken_files(
    small: Small, version: int, state: str
) -> None:
    """However old it is, it may have worked a moment ago; its plan may be in either file, and the other one empty."""
    plan = records.clean_plan([f"p/{base(2)}"])
    files = {
        f"{at(1)}.clean.requested": plan if state == "requested" else b"",
        f"{at(1)}.clean.inflight": plan if state == "inflight" else b"",
        done(version, 2): SILENT,
        done(version, 3): SILENT,
    }
    folder = made(small, version, files, f"p/{base(0)}")
    assert outcome_of(folder).missing == (f"p/{base(2)}",)


@VERSIONS
def test_all_cleans_of_a_partition_count(small: Small, version: int) -> None:
    files = {
        done(version, 1): SILENT,
        done(version, 2, "clean"): records.clean_metadata([f"p/{base(1)}"]),
        done(version, 3, "clean"): records.clean_metadata([f"p/{base(1, 'g-0')}"]),
        done(version, 4): SILENT,
    }
    folder = made(small, version, files, f"p/{base(0)}", f"p/{base(0, 'g-0')}")
    stamp(folder, files)
    assert outcome_of(folder, (4,)).missing == (f"p/{base(1)}", f"p/{base(1, 'g-0')}")


@VERSIONS
def test_a_completed_clean_took_what_it_says_and_not_what_it_had_planned(small: Small, version: int) -> None:
    files = {
        done(version, 1): SILENT,
        f"{at(2)}.clean.requested": records.clean_plan([f"p/{base(1)}"]),
        done(version, 2, "clean"): records.clean_metadata([]),
        done(version, 3): SILENT,
    }
    folder = made(small, version, files, f"p/{base(0)}")
    assert outcome_of(folder, (3,)).missing == ()


def test_the_archive_tells_the_slice_of_a_log_that_a_clean_has_taken(small: Small) -> None:
    """It was begun before its slice's base file, and completed after it: its rows are missed."""
    files = {
        done(9, 20, end=30): SILENT,
        done(9, 40, "clean"): records.clean_metadata([f"p/{log(15)}"]),
        done(9, 50): SILENT,
    }
    folder = made(small, 9, files, f"p/{base(20)}", kind=MOR)
    assert outcome_of(folder, (50,)).missing == ()
    records.archive(Copy("v9", "small", folder), at(15), "deltacommit", end=at(35))
    assert outcome_of(folder, (50,)).missing == (f"p/{log(15)}",)


# What a pending clean would delete.


def harmed(folder: Path) -> Mapping[str, int]:
    table = open_table(str(folder), zone="UTC")
    facts = read_facts(table, ENGINE, read_signs(table))
    return needed_files(facts, (), NOTHING_SAVED, pending_cleans(facts.timeline)).cleans


@VERSIONS
def test_the_files_that_a_pending_clean_would_delete_are_counted_in_all_partitions(small: Small, version: int) -> None:
    stored = [f"{partition}/{base(1, group)}" for partition in "pq" for group in ("f-0", "g-0")]
    plan = records.clean_plan([*stored[:3], f"p/{base(0)}"])
    folder = made(small, version, {done(version, 1): SILENT, f"{at(2)}.clean.requested": plan}, *stored)
    assert harmed(folder) == {at(2): 3}


@VERSIONS
def test_a_pending_clean_of_a_partition_that_nothing_else_names_counts(small: Small, version: int) -> None:
    plan = records.clean_plan([], partitions=["p"])
    files = {done(version, 1): SILENT, f"{at(2)}.clean.requested": plan}
    assert harmed(made(small, version, files, f"p/{base(1)}", f"q/{base(1)}")) == {at(2): 1}


# A compaction whose files a clean has taken.


def lost_compaction(small: Small, *stored: str, told: bytes = SILENT) -> Path:
    """The compaction 3 has read base file 1 with its log; the clean 5 has taken what it made."""
    read = {"partitionPath": "p", "fileId": "f-0", "dataFilePath": base(1), "deltaFilePaths": [log(1)]}
    files = {
        done(6, 1, "deltacommit"): SILENT,
        f"{at(3)}.compaction.requested": records.compaction_plan([read]),
        done(6, 3): SILENT,
        done(6, 4, "deltacommit"): told,
        done(6, 5, "clean"): records.clean_metadata([f"p/{base(3)}"]),
        done(6, 6, "deltacommit"): SILENT,
    }
    folder = made(small, 6, files, *stored, kind=MOR)
    stamp(folder, files)
    return folder


def test_the_slice_before_it_is_taken_where_all_is_there_that_it_read(small: Small) -> None:
    folder = lost_compaction(small, f"p/{base(1)}", f"p/{log(1)}")
    assert outcome_of(folder, (6,)).missing == ()
    assert required_of(folder, (6,)) == {f"p/{base(1)}", f"p/{log(1)}"}


@pytest.mark.parametrize("there", [base(1), log(1)])
def test_it_is_not_where_a_part_of_that_is_gone(small: Small, there: str) -> None:
    folder = lost_compaction(small, f"p/{there}")
    assert outcome_of(folder, (6,)).missing == (f"p/{base(3)}",)


def test_nor_where_a_commit_has_written_into_its_slice(small: Small) -> None:
    """Its rows are nowhere else."""
    folder = lost_compaction(small, f"p/{base(1)}", f"p/{log(1)}", told=wrote(f"p/{log(3)}"))
    assert outcome_of(folder, (6,)).missing == tuple(sorted((f"p/{base(3)}", f"p/{log(3)}")))


# What a savepoint's names bind.


@VERSIONS
def test_a_savepoint_that_names_no_data_file_cannot_be_trusted(small: Small, version: int) -> None:
    folder = made(small, version, {done(version, 1): SILENT}, f"p/{base(1)}")
    with pytest.raises(Unreadable, match="strange"):
        outcome_of(folder, (), {"p": (base(1), "strange")})


@VERSIONS
def test_what_has_come_again_since_a_restore_binds(small: Small, version: int) -> None:
    """A restore took the instant back, a service wrote it anew, and the savepoint is of then."""
    plan = encode_plan(StoredRestorePlan((InstantInfo(at(2), "replacecommit"),), at(1)))
    files = {
        done(version, 1): SILENT,
        done(version, 2, "replacecommit"): SILENT,
        f"{at(3)}.restore.requested": plan,
        done(version, 3, "restore"): b"done",
    }
    folder = made(small, version, files, f"p/{base(1)}")
    assert outcome_of(folder, (), {"p": (base(2),)}).missing == (f"p/{base(2)}",)


def test_of_an_instant_that_the_timeline_does_not_have_base_files_bind_and_logs_below_version_8(small: Small) -> None:
    """The archive may be lost. From version 8 on a log of a commit that does not count is in Hudi's own map."""
    folder = made(small, 9, {done(9, 1): SILENT, done(9, 3): SILENT}, f"p/{base(1)}", kind=MOR)
    assert outcome_of(folder, (), {"p": (base(1), base(2))}).missing == (f"p/{base(2)}",)
    assert outcome_of(folder, (), {"p": (base(1), log(2))}).missing == ()
    assert outcome_of(folder, (), {"p": (base(1), base(2), log(2))}).missing == (f"p/{base(2)}",)


def test_below_version_8_a_log_binds_by_its_slice(small: Small) -> None:
    folder = made(small, 6, {done(6, 1): SILENT, done(6, 3): SILENT}, f"p/{base(1)}", kind=MOR)
    assert outcome_of(folder, (), {"p": (base(1), log(2))}).missing == (f"p/{log(2)}",)


# What goes, and what keeps it.


@VERSIONS
def test_what_carries_a_removed_instants_name_goes_where_its_record_names_the_partition(
    small: Small, version: int
) -> None:
    """Nowhere else; and no other record has to name it."""
    folder = made(small, version, {done(version, 1): SILENT, done(version, 2): SILENT}, f"p/{base(2)}", f"q/{base(2)}")
    found = outcome_of(folder, (2,), owners={2: {"p"}})
    assert gone(found) == {at(2): [f"p/{base(2)}"]}
    assert [file.path for file in found.unproved] == [f"q/{base(2)}"]


@VERSIONS
def test_a_borrowed_log_goes_with_the_write_that_borrowed_the_name(small: Small, version: int) -> None:
    folder = made(
        small, version, {done(version, 1): SILENT, done(version, 2): SILENT}, f"p/{base(1)}", f"p/{log(1)}", kind=MOR
    )
    found = outcome_of(folder, (2,), owners={2: {"p"}}, borrowed={"p": {log(1): at(2)}})
    assert gone(found) == {at(2): [f"p/{log(1)}"]}
    alone = outcome_of(folder, (2,), borrowed={"p": {log(1): at(2)}})
    assert (gone(alone), [file.path for file in alone.unproved]) == ({}, [f"p/{log(1)}"])


@VERSIONS
def test_what_a_kept_commit_has_written_contradicts(small: Small, version: int) -> None:
    files = {done(version, 1): SILENT, done(version, 2): SILENT, done(version, 3): wrote(f"p/{base(2)}")}
    folder = made(small, version, files, f"p/{base(2)}")
    assert [entry.path for entry in outcome_of(folder, (2,), owners={2: {"p"}}).contradictions] == [f"p/{base(2)}"]
    assert outcome_of(folder, (2, 3), owners={2: {"p"}}).contradictions == ()


@VERSIONS
def test_what_a_pending_plan_reads_contradicts_unless_it_goes_too(small: Small, version: int) -> None:
    action = "replacecommit" if version == 6 else "clustering"
    read = {"partitionPath": "p", "fileId": "f-0", "dataFilePath": f"/lake/p/{base(2)}"}
    files = {
        done(version, 1): SILENT,
        done(version, 2): SILENT,
        f"{at(3)}.{action}.requested": records.clustering_plan([read]),
    }
    folder = made(small, version, files, f"p/{base(2)}")
    assert [entry.path for entry in outcome_of(folder, (2,), owners={2: {"p"}}).contradictions] == [f"p/{base(2)}"]
    assert outcome_of(folder, (2, 3), owners={2: {"p"}}).contradictions == ()


@VERSIONS
def test_what_is_behind_a_link_contradicts(small: Small, version: int, tmp_path: Path) -> None:
    folder = made(small, version, {done(version, 1): SILENT, done(version, 2): SILENT}, f"p/{base(1)}", f"p/{base(2)}")
    (folder / "p").rename(tmp_path / "elsewhere")
    (folder / "p").symlink_to(tmp_path / "elsewhere")
    (entry,) = outcome_of(folder, (2,), owners={2: {"p"}}).contradictions
    assert (entry.path, entry.instant, "symbolic link" in entry.needed_by) == (f"p/{base(2)}", at(2), True)


def test_of_a_compaction_whose_plan_stays_later_logs_stay(small: Small) -> None:
    files = {done(6, 1): SILENT, f"{at(2)}.compaction.requested": records.compaction_plan([]), done(6, 2): SILENT}
    folder = made(small, 6, files, f"p/{base(1)}", f"p/{base(2)}", f"p/{log(2)}", kind=MOR)
    kept = outcome_of(folder, (2,), owners={2: {"p"}}, bases_only=(2,))
    assert gone(kept) == {at(2): [f"p/{base(2)}"]}
    assert sorted(gone(outcome_of(folder, (2,), owners={2: {"p"}}))[at(2)]) == sorted([f"p/{base(2)}", f"p/{log(2)}"])


# Slices.


@VERSIONS
def test_a_replaced_group_is_not_needed_though_no_commit_has_written_there(small: Small, version: int) -> None:
    files = {done(version, 1): SILENT, done(version, 2, "replacecommit"): wrote(replaced={"p": ["f-0"]})}
    folder = made(small, version, files, f"p/{base(1)}", f"p/{base(1, 'g-0')}")
    assert required_of(folder) == {f"p/{base(1, 'g-0')}"}


def test_a_pending_compaction_opens_a_slice_unless_it_goes(small: Small) -> None:
    """Readers take it with the one before; no commit says that it has written there."""
    read = {"partitionPath": "p", "fileId": "f-0", "dataFilePath": base(1)}
    files = {done(6, 1): SILENT, f"{at(2)}.compaction.requested": records.compaction_plan([read])}
    folder = made(small, 6, files, f"p/{base(1)}", f"p/{log(2)}", kind=MOR)
    assert required_of(folder) == {f"p/{base(1)}", f"p/{log(2)}"}
    assert required_of(folder, (2,)) == {f"p/{base(1)}"}


@VERSIONS
def test_a_partition_without_metafile_is_bare_and_looked_into_again_afterwards(small: Small, version: int) -> None:
    folder = made(small, version, {done(version, 1): wrote(f"p/{base(1)}")}, f"p/{base(1)}")
    assert case_of(folder)[1].bare == ()
    (folder / "p/.hoodie_partition_metadata").unlink()
    case, found = case_of(folder)
    assert (found.bare, required_of(folder), case.named) == (("p",), {f"p/{base(1)}"}, {"p"})
