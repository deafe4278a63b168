"""hoodie.properties written again: what is proved is as it was, the rest is said, and nothing sound is touched."""

from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

import pytest

from hudictl.errors import Conflict, NotFound, Refused, UsageError
from hudictl.formats import properties as fmt
from hudictl.ops.put_back.execute import execute_undo
from hudictl.ops.put_back.planning import plan_undo
from hudictl.ops.repair.plan import RepairPlan, RepairResult, execute_repair
from hudictl.ops.repair.properties import plan_properties_repair
from hudictl.table.open import open_table
from hudictl.table.properties import read_properties
from hudictl.table.table import Table
from tests import support
from tests.damage.harms import do_harm
from tests.fixtures import Unpack
from tests.helpers import OWN, drop, put, session, tree

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
MOMENT = datetime(2026, 11, 21, tzinfo=timezone.utc)
PATH = ".hoodie/hoodie.properties"
NOTHING: Mapping[str, str] = {}
DEFAULTS = {
    "hoodie.datasource.write.partitionpath.urlencode": {"false"},
    "hoodie.datasource.write.drop.partition.columns": {"false"},
    "hoodie.datasource.write.hive_style_partitioning": {"false"},
    "hoodie.partition.metafile.use.base.format": {"false"},
    "hoodie.table.multiple.base.file.formats.enable": {"false"},
    "hoodie.table.cdc.enabled": {"false"},
    "hoodie.table.cdc.supplemental.logging.mode": {"DATA_BEFORE_AFTER"},
    "hoodie.table.format": {"native"},
    "hoodie.table.metadata.partitions": {""},
    "hoodie.database.name": {"", "default"},
    "hoodie.table.timeline.timezone": {"LOCAL", "UTC"},
    "hoodie.archivelog.folder": {"history"},
    "hoodie.table.initial.version": {"8", "9"},
    "hoodie.compaction.record.merger.strategy": {"eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"},
    "hoodie.record.merge.strategy.id": {"eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"},
    "hoodie.compaction.payload.class": {
        "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
        "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
    },
    "hoodie.table.legacy.payload.class": {"org.apache.hudi.common.model.DefaultHoodieRecordPayload"},
    "hoodie.table.keygenerator.class": {"org.apache.hudi.keygen.SimpleKeyGenerator"},
    "hoodie.table.partition_extractor_class": {
        "org.apache.hudi.hive.SinglePartPartitionValueExtractor",
        "org.apache.hudi.hive.MultiPartKeysValueExtractor",
    },
}
"""What may be lost: readers and writers take the same without it, or the plan says it."""
WITHOUT_VERSION = {"cow_flat_nomdt", "mor_flat_nomdt", "resized", "rescaled"}
"""Without a metadata table and without a line of the file, table versions 8 and 9 are the same."""


def opened(base: Path, given: Mapping[str, str] = NOTHING) -> Table:
    return open_table(str(base), salvage=given)


def plan(base: Path, given: Mapping[str, str] = NOTHING) -> RepairPlan:
    return plan_properties_repair(session(opened(base, given)), given, 0)


def repair(base: Path, given: Mapping[str, str] = NOTHING) -> RepairResult:
    at = session(opened(base, given))
    return execute_repair(at, plan_properties_repair(at, given, 0), lambda: plan_properties_repair(at, given, 0))


def undo(base: Path, time: str) -> None:
    at = session(opened(base))
    execute_undo(at, plan_undo(at, time, 0), 0)


def written(made: RepairPlan) -> dict[str, str]:
    (body,) = [file.body for file in made.files if file.path == PATH]
    assert body is not None
    return fmt.decode(body)


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["missing", "empty", "cut", "flipped", "version"])
@VERSIONS
def test_no_property_gets_another_value_on_any_table(version: str, harm: str, tmp_path: Path) -> None:
    made, refused = 0, {}
    for name in support.every_name(version):
        base = support.unpack(version, name, tmp_path / name)
        right = fmt.decode((base / PATH).read_bytes())
        do_harm(base, PATH, harm)
        try:
            found = plan(base)
        except Refused as error:
            refused[name] = error.hint
            continue
        if not found.files:
            # A flipped sign in a comment, or in a text.
            assert harm == "flipped"
            continue
        made += 1
        now = written(found)
        assert fmt.valid(now)
        lost_database = right.get(fmt.DATABASE) == "default" and fmt.DATABASE not in now
        other = {key for key in now.keys() & right.keys() if now[key] != right[key]}
        assert other == ({fmt.CHECKSUM} if lost_database else set()), (name, other)
        for key in right.keys() - now.keys() - {"hoodie.table.create.schema"}:
            assert right[key] in DEFAULTS[key], (name, key)
        assert now.keys() - right.keys() <= {"hoodie.timeline.history.path"}, name
        # The last column of the proof: what is not said to be guessed has two reasons.
        assert all(len(file.reasons) >= 2 for file in found.files)
    assert made > 25
    assert refused.keys() <= {"resizing"} | (WITHOUT_VERSION if harm in ("missing", "empty") else set())
    assert all("--set " in hint for hint in refused.values())


@VERSIONS
def test_a_repair_is_done_once_and_undone(version: str, unpack: Unpack) -> None:
    copy = unpack(version, "mor_part")
    body = (copy.path / PATH).read_bytes()
    put(copy.path / PATH, body[: len(body) // 2])
    before = tree(copy.path, OWN)
    done = repair(copy.path)
    assert (done.files_written, done.files_set_aside) == (1, 0)
    assert read_properties(copy.table.storage)[fmt.NAME] == copy.table.name
    assert not plan(copy.path).files
    undo(copy.path, done.undo)
    assert tree(copy.path, OWN) == before
    done = repair(copy.path)
    put(copy.path / PATH, (copy.path / PATH).read_bytes() + b"my.own=1\n")
    with pytest.raises(Refused, match=r"hoodie\.properties has changed"):
        undo(copy.path, done.undo)


def test_a_missing_file_is_missing_again_after_an_undo(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    drop(copy.path / PATH)
    done = repair(copy.path)
    undo(copy.path, done.undo)
    assert not (copy.path / PATH).exists()
    # As of one that was interrupted at its end: the table is open all the same.
    with pytest.raises(Refused, match="nothing is kept"):
        undo(copy.path, done.undo)


@VERSIONS
def test_the_sidecar_of_a_missing_file_comes_back(version: str, unpack: Unpack) -> None:
    """With the new file it goes."""
    copy = unpack(version, "cow_part")
    drop(copy.path / PATH)
    alone = put(copy.meta / ".hoodie.properties.crc", b"crc")
    before = tree(copy.path, OWN)
    done = repair(copy.path)
    assert not alone.exists()
    undo(copy.path, done.undo)
    assert tree(copy.path, OWN) == before


@VERSIONS
def test_an_intact_backup_is_put_back_and_goes(version: str, unpack: Unpack) -> None:
    copy = unpack(version, "mor_part")
    body = (copy.path / PATH).read_bytes()
    for harmed in (None, b"", body[:300]):
        put(copy.path / f"{PATH}.backup", body)
        drop(copy.path / PATH) if harmed is None else put(copy.path / PATH, harmed)
        made = plan(copy.path)
        assert [(file.path, file.change) for file in made.files] == [(PATH, "write"), (f"{PATH}.backup", "set aside")]
        assert not made.guessed
        repair(copy.path)
        assert (copy.path / PATH).read_bytes() == body
        assert not (copy.path / f"{PATH}.backup").exists()


@VERSIONS
def test_two_damaged_files_are_no_dead_end(version: str, unpack: Unpack) -> None:
    """What the one has lost, the other may have."""
    copy = unpack(version, "cow_flat_nomdt")
    body = (copy.path / PATH).read_bytes()
    text = body.splitlines(keepends=True)
    half = len(text) // 2
    put(copy.path / PATH, b"".join(text[:half]))
    put(copy.path / f"{PATH}.backup", b"".join(text[:2] + text[half:]) + b"hoodie.table.chec")
    made = plan(copy.path)
    assert [file.change for file in made.files] == ["write", "set aside"]
    assert written(made) == fmt.decode(body)
    repair(copy.path)
    assert not plan(copy.path).files
    assert not (copy.path / f"{PATH}.backup").exists()


def test_a_name_that_nothing_says_is_asked_for(unpack: Unpack) -> None:
    """With Spark's records only the schema names the table; here it is another writer's."""
    copy = unpack("v6", "cow_flat_nomdt")
    for file in copy.timeline.glob("*.commit"):
        put(file, file.read_bytes().replace(b"hoodie.cow_flat_nomdt", b"another.namespace"))
    put(copy.path / PATH, b"")
    with pytest.raises(Refused, match=r"what hoodie\.table\.name is") as error:
        plan(copy.path)
    assert error.value.hint == "give it: --set hoodie.table.name=VALUE"
    given = {fmt.NAME: "mine"}
    assert written(plan(copy.path, given))[fmt.CHECKSUM] == fmt.checksum(given)
    repair(copy.path, given)
    assert open_table(str(copy.path)).name == "mine"


def test_what_is_given_must_be_a_value(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    put(copy.path / PATH, b"")
    with pytest.raises(UsageError, match="not a value of it"):
        plan(copy.path, {"hoodie.table.cdc.enabled": "perhaps"})


@VERSIONS
def test_sound_files_are_not_touched(version: str, unpack: Unpack) -> None:
    copy = unpack(version, "mor_part")
    body = (copy.path / PATH).read_bytes()
    for sound in (body, body * 2, body.replace(b"\n", b"\r\n"), body.rstrip(b"\n"), body + b"my.own=1\n"):
        put(copy.path / PATH, sound)
        assert not plan(copy.path).files


@VERSIONS
def test_a_file_that_is_not_that_of_the_data_is_mended(version: str, unpack: Unpack) -> None:
    copy = unpack(version, "mor_part")
    right = fmt.decode((copy.path / PATH).read_bytes())
    # What is not there for another reason stays away, also if it can be proved.
    del right["hoodie.populate.meta.fields"]
    for key, value in (("hoodie.table.partition.fields", None), ("hoodie.table.base.file.format", "ORC")):
        put(copy.path / PATH, fmt.encode({**right, key: value or ""}, MOMENT))
        made = plan(copy.path)
        assert written(made) == right
        assert not made.guessed


def test_an_earlier_copy_counts(unpack: Unpack) -> None:
    """A restore with --keep-files, or this repair, has kept one."""
    copy = unpack("v9", "cow_flat_nomdt")
    kept = copy.path / f"{OWN}/undo/20261121000000000/kept/{PATH}"
    kept.parent.mkdir(parents=True)
    kept.write_bytes((copy.path / PATH).read_bytes())
    right = fmt.decode((copy.path / PATH).read_bytes())
    put(copy.path / PATH, b"")
    now = written(plan(copy.path))
    assert now == right


def test_what_comes_in_between_is_seen(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_part")
    body = (copy.path / PATH).read_bytes()
    put(copy.path / PATH, body[:400])
    at = session(opened(copy.path))
    made = plan_properties_repair(at, {}, 0)
    put(copy.path / PATH, body)
    with pytest.raises(Conflict, match="changed since planning"):
        execute_repair(at, made, lambda: plan_properties_repair(at, {}, 0))
    assert (copy.path / PATH).read_bytes() == body


def test_no_table_is_none(tmp_path: Path) -> None:
    (tmp_path / ".hoodie").mkdir()
    with pytest.raises(NotFound):
        opened(tmp_path)


@VERSIONS
def test_a_metadata_table_without_the_newest_write_is_not_listed(version: str, unpack: Unpack) -> None:
    copy = unpack(version, "mor_part")
    last = copy.commits[-1]
    drop(copy.path / PATH)
    listed = "hoodie.table.metadata.partitions"
    assert "files" in written(plan(copy.path))[listed].split(",")
    for file in (copy.meta / "metadata/.hoodie").rglob(f"{last}*deltacommit"):
        drop(file)
    assert not written(plan(copy.path)).get(listed)
