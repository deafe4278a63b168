"""What check says of what lies beside the timeline: properties, the metadata table, temporary files, checksums."""

import os
import shutil

import pytest

from hudictl.errors import Unreadable
from hudictl.ops.restore.leftovers import plan_leftovers, remove_leftovers
from hudictl.ops.savepoint.planning import plan_savepoint
from hudictl.reports.health.finding import ERROR, INFO, WARNING
from hudictl.reports.table import describe_table
from hudictl.state.writable import TYPE_AGAIN
from hudictl.storage.local import LocalStorage
from hudictl.table.metadata.place import MADE_ANEW
from hudictl.table.properties import update_properties
from tests.damage import metadata_table_version
from tests.fixtures import Unpack
from tests.helpers import LONG_AGO, Copy, drop, first_command, put, session
from tests.metadata_edits import newest_log
from tests.reports.health.check_support import VERSIONS, brief, check, one

HOUR_MS = 3_600_000
UUID = "0d5f2bb4-6a52-4b8e-9a5b-1f2f3a4b5c6d"


def say(copy: Copy, **changed: str) -> None:
    """Properties of the metadata table's partitions, with others left as they are."""
    path = copy.meta / "hoodie.properties"
    keys = {f"hoodie.table.metadata.partitions{suffix}": value for suffix, value in changed.items()}
    lines = [line for line in path.read_text().splitlines() if line.partition("=")[0] not in keys]
    put(path, "\n".join([*lines, *(f"{key}={value}" for key, value in keys.items()), ""]))


# Properties.


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("line", ["", "hoodie.table.type=COPY_ON_WRITE\n"], ids=["lost", "changed"])
def test_a_table_type_that_the_timeline_contradicts(unpack: Unpack, version: str, line: str) -> None:
    """Hudi reads the table without its logs then (0.15.0, 1.0.2, 1.2.0), and a rollback would leave their rows."""
    copy = unpack(version, "mor_part")
    properties = copy.meta / "hoodie.properties"
    put(properties, properties.read_text().replace("hoodie.table.type=MERGE_ON_READ\n", line))
    assert brief(one(copy)) == ("table-type-wrong", ERROR, ".hoodie/hoodie.properties")
    assert first_command(one(copy)) == TYPE_AGAIN
    assert describe_table(copy.table).writers_can_start is False
    with pytest.raises(Unreadable, match="merge-on-read"):
        plan_savepoint(session(copy.table), None)


@VERSIONS
@pytest.mark.parametrize(
    ("key", "value"), [("hoodie.table.partition.fields", ""), ("hoodie.table.base.file.format", "ORC")]
)
def test_properties_unlike_the_data(unpack: Unpack, version: str, key: str, value: str) -> None:
    """Of partitions or of a file format that the data does not have, Hudi reads no rows, without an error."""
    copy = unpack(version, "cow_part")
    update_properties(copy.table.storage, {key: value})
    found = [brief(entry) for entry in check(copy)]
    assert found == [("properties-wrong", ERROR, ".hoodie/hoodie.properties")]


@VERSIONS
def test_copy_on_write_after_a_last_compaction_is_a_change_of_type(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    properties = copy.meta / "hoodie.properties"
    put(properties, properties.read_text().replace("MERGE_ON_READ", "COPY_ON_WRITE"))
    last = max(copy.timeline.glob("*.deltacommit"))
    put(last.with_name("2027" + last.name.removesuffix("deltacommit")[4:] + "commit"), last.read_bytes())
    assert "table-type-wrong" not in {found.finding for found in check(copy)}


@VERSIONS
def test_an_update_of_the_properties_that_is_at_work_is_none_that_died(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    put(copy.meta / "hoodie.properties.backup", (copy.meta / "hoodie.properties").read_bytes(), old=False)
    assert check(copy) == []


def test_properties_that_cannot_be_decoded_are_damaged(unpack: Unpack) -> None:
    """A cut escape: the table was opened by the backup."""
    copy = unpack("v9", "cow_part")
    table, properties = copy.table, copy.meta / "hoodie.properties"
    put(copy.meta / "hoodie.properties.backup", properties.read_bytes())
    put(properties, b"hoodie.table.name=\\u00")
    assert table.uri == copy.table.uri
    assert brief(one(copy)) == ("properties-damaged", ERROR, ".hoodie/hoodie.properties")


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("kept", [0, 40, "hoodie.table.checksum", "hoodie.table.name"])
def test_what_an_update_left_is_mended_by_resume(unpack: Unpack, version: str, kept: int | str) -> None:
    """Hudi takes the backup for a wrong checksum alone: one that is empty, or cut before it, stops everything."""
    copy = unpack(version, "cow_part")
    table, properties = copy.table, copy.meta / "hoodie.properties"
    body = properties.read_bytes()
    put(copy.meta / "hoodie.properties.backup", body)
    lines = body.decode().splitlines(keepends=True)
    cut = [line for line in lines if not line.startswith("hoodie.table.name=")]
    whole = "".join(cut) if kept == "hoodie.table.name" else body.decode()
    end = whole.index(kept) if kept == "hoodie.table.checksum" else kept if isinstance(kept, int) else len(whole)
    put(properties, whole[:end].encode())
    told, shown, stops = one(copy), describe_table(table), kept != "hoodie.table.name"
    assert (brief(told)[0], first_command(told)) == ("properties-damaged", "hudictl resume")
    assert ("every reader and writer fails" in told.meaning) == stops
    assert shown.writers_can_start != stops
    assert [way.command for way in shown.remedy] == (["hudictl resume"] if stops else [])
    remove_leftovers(session(table), plan_leftovers(session(table), HOUR_MS), HOUR_MS)
    assert properties.read_bytes() == body
    assert check(copy) == []


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("harm", ["empty", "gone"])
def test_an_update_of_the_metadata_tables_properties_is_mended_too(unpack: Unpack, version: str, harm: str) -> None:
    """An upgrade died in it: Hudi's writers fail where they are empty, and take the backup where they are gone."""
    copy = unpack(version, "cow_part")
    properties = copy.meta / "metadata/.hoodie/hoodie.properties"
    body = properties.read_bytes()
    put(properties.with_name("hoodie.properties.backup"), body)
    if harm == "empty":
        put(properties)
    else:
        drop(properties)
    told, stops = one(copy), harm == "empty"
    subject = ".hoodie/metadata/.hoodie/hoodie.properties"
    assert (brief(told), first_command(told)) == (("properties-damaged", ERROR, subject), "hudictl resume")
    assert describe_table(copy.table).writers_can_start != stops
    remove_leftovers(session(copy.table), plan_leftovers(session(copy.table), HOUR_MS), HOUR_MS)
    assert properties.read_bytes() == body
    assert check(copy) == []


def test_a_backup_of_whole_properties_is_removed_once_it_is_old(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    backup = put(copy.meta / "hoodie.properties.backup", (copy.meta / "hoodie.properties").read_bytes(), old=False)
    assert plan_leftovers(session(copy.table), HOUR_MS).nothing
    os.utime(backup, (LONG_AGO, LONG_AGO))
    assert first_command(one(copy)) == "hudictl resume"
    remove_leftovers(session(copy.table), plan_leftovers(session(copy.table), HOUR_MS), HOUR_MS)
    assert not backup.exists()


# The metadata table.


def test_a_metadata_table_that_is_being_built_is_listed(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    say(copy, **{"": "", ".inflight": "files"})
    assert "metadata-table-unlisted" not in {entry.finding for entry in check(copy)}


@VERSIONS
def test_a_metadata_table_without_its_properties_stops_writers(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    path = ".hoodie/metadata/.hoodie/hoodie.properties"
    drop(copy.path / path)
    told = next(entry for entry in check(copy) if entry.finding == "metadata-table-absent")
    assert brief(told) == ("metadata-table-absent", ERROR, path)
    shown = describe_table(copy.table)
    assert (shown.writers_can_start, shown.advice) == (False, MADE_ANEW)
    assert f"`{first_command(told)}` " in MADE_ANEW
    shutil.rmtree(copy.meta / "metadata")
    assert brief(one(copy)) == ("metadata-table-absent", ERROR, path)
    assert not describe_table(copy.table).writers_can_start


@VERSIONS
def test_a_metadata_table_of_a_later_version_stops_writers(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    metadata_table_version(copy.path, "99")
    told = next(entry for entry in check(copy) if entry.finding == "metadata-table-version")
    shown = describe_table(copy.table)
    assert (shown.writers_can_start, shown.advice) == (False, MADE_ANEW)
    assert f"`{first_command(told)}` " in MADE_ANEW


def test_what_is_left_of_a_metadata_table_is_in_the_next_writers_way(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    put(copy.meta / "metadata/files/x")
    assert brief(one(copy)) == ("metadata-table-unlisted", WARNING, ".hoodie/metadata")


@pytest.mark.parametrize("name", [".metadata_20261121040000000", ".hudictl/dropped-metadata-20261121040000000"])
def test_a_metadata_table_that_is_just_going_out_of_use_is_no_finding(unpack: Unpack, name: str) -> None:
    """Its restore deletes it by itself: Hudi's, or hudictl's."""
    copy = unpack("v9", "cow_flat_nomdt")
    folder = copy.meta / name
    put(folder / "files/x")
    assert check(copy) == []
    os.utime(folder, (LONG_AGO, LONG_AGO))
    assert brief(one(copy)) == ("metadata-table-leftover", INFO, f".hoodie/{name}")


# Temporary files, checksums.


@VERSIONS
def test_a_temporary_file_beside_the_properties(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    put(copy.meta / f"hoodie.properties.{UUID}")
    assert brief(one(copy)) == ("temporary-file", INFO, f".hoodie/hoodie.properties.{UUID}")


@VERSIONS
def test_checksums_of_the_metadata_tables_timeline_are_compared_and_those_of_its_data_are_not(
    unpack: Unpack, version: str
) -> None:
    """Hadoop reads the first as a whole; the others are many."""
    copy = unpack(version, "cow_part")
    log = newest_log(copy.path)
    put(log.with_name(f".{log.name}.crc"), b"crc\0\0\0\2\0wrong")
    assert check(copy) == []
    properties = copy.meta / "metadata/.hoodie/hoodie.properties"
    put(properties.with_name(".hoodie.properties.crc"), b"crc\0\0\0\2\0wrong")
    subject = ".hoodie/metadata/.hoodie/hoodie.properties"
    assert brief(one(copy)) == ("checksum-mismatch", ERROR, subject)


@pytest.mark.parametrize("folder", [".temp", ".heartbeat", ".hudictl", ".metadata_20261121040000000"])
def test_sidecars_of_what_comes_and_goes_are_not_looked_at(unpack: Unpack, folder: str) -> None:
    copy = unpack("v9", "cow_part")
    put(copy.meta / folder / ".gone.crc", b"crc\0\0\0\2\0")
    assert "lone-sidecars" not in {entry.finding for entry in check(copy)}


def test_a_file_that_goes_while_it_is_compared_is_no_mismatch(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    real, gone = LocalStorage.read, copy.file(copy.commits[0], "commit").name

    def read(storage: LocalStorage, path: str, *rest: int) -> bytes:
        if path.endswith(f".{gone}.crc"):
            raise FileNotFoundError(path)
        return real(storage, path, *rest)

    monkeypatch.setattr(LocalStorage, "read", read)
    assert check(copy) == []


def test_a_folder_that_goes_while_it_is_looked_at_is_empty(unpack: Unpack) -> None:
    """hudictl's own scratch, which a table without it never had."""
    copy = unpack("v9", "cow_part")
    shutil.rmtree(copy.meta / ".hudictl", ignore_errors=True)
    assert check(copy) == []
