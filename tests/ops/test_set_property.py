"""Properties of the table: what may change, what comes in between, and what readers find."""

import os
from collections.abc import Callable

import pytest

from hudictl.errors import Conflict, HudictlError, Refused, Unreadable, UsageError
from hudictl.ops.set_property import PropertyOptions, PropertyPlan, plan_properties, set_properties
from hudictl.table.operations import operation_instants, read_operation
from hudictl.table.properties import read_properties
from tests import support
from tests.fixtures import Unpack
from tests.helpers import OWN, Copy, put, session, tree

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
NAME = "hoodie.database.name"
ORDER = "hoodie.record.merge.mode"
NEW = "20271121000000000"


def options(*unset: str, dangerous: tuple[str, ...] = (), **values: str) -> PropertyOptions:
    named = {key.replace("_", "."): value for key, value in values.items()}
    return PropertyOptions(named, unset, dangerous, idle_ms=0)


def plan(copy: Copy, wanted: PropertyOptions) -> PropertyPlan:
    return plan_properties(session(copy.table), wanted)


def change(copy: Copy, wanted: PropertyOptions) -> PropertyPlan:
    return set_properties(session(copy.table), plan(copy, wanted), wanted)


@VERSIONS
def test_only_what_is_named_changes(unpack: Unpack, version: str) -> None:
    """The checksum, which is of the names, too; the record has the values before."""
    copy = unpack(version, "cow_savepoints")
    before, files = read_properties(copy.table.storage), tree(copy.path, OWN)
    made = change(copy, options(hoodie_database_name="lake"))
    after = read_properties(copy.table.storage)
    changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    assert changed == {NAME, "hoodie.table.checksum"}
    assert [(row.name, row.before, row.after) for row in made.changes] == [(NAME, before.get(NAME), "lake")]
    now = tree(copy.path, OWN)
    assert {path for path in {*files, *now} if files.get(path) != now.get(path)} <= {
        ".hoodie",
        ".hoodie/hoodie.properties",
        ".hoodie/.hoodie.properties.crc",
    }
    (time,) = operation_instants(copy.table.storage)
    record = read_operation(copy.table.storage, time)
    assert record is not None
    assert record.plan["changes"] == [[NAME, before.get(NAME), "lake"]]
    assert plan(copy, options(hoodie_database_name="lake")).changes == ()


def test_back_again(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_part")
    before = read_properties(copy.table.storage)
    change(copy, options(hoodie_database_name="lake"))
    wanted = options(hoodie_database_name=before[NAME]) if NAME in before else options(NAME)
    change(copy, wanted)
    assert read_properties(copy.table.storage) == before


@pytest.mark.parametrize(
    ("wanted", "kind", "said"),
    [
        (PropertyOptions({"hoodie.table.type": "COPY_ON_WRITE"}), Refused, "--dangerous hoodie.table.type"),
        (PropertyOptions({"hoodie.table.recordkey.fields": "id"}), Refused, "--dangerous"),
        (PropertyOptions({}, ("hoodie.table.partition.fields",)), Refused, "--dangerous"),
        (PropertyOptions({"hoodie.table.version": "8"}, dangerous=("hoodie.table.version",)), Refused, "safety"),
        (PropertyOptions({"hoodie.table.checksum": "1"}, dangerous=("hoodie.table.checksum",)), Refused, "safety"),
        (PropertyOptions({"hoodie.timeline.path": "../x"}, dangerous=("hoodie.timeline.path",)), Refused, "safety"),
        (PropertyOptions({"hoodie.table.tpye": "x"}), UsageError, "did you mean hoodie.table.type"),
        (PropertyOptions({"hoodie.table.type": "MOR"}, dangerous=("hoodie.table.type",)), UsageError, "MERGE_ON_READ"),
        (PropertyOptions({ORDER: "newest"}, dangerous=(ORDER,)), UsageError, "CUSTOM"),
        (
            PropertyOptions({"hoodie.populate.meta.fields": "no"}, dangerous=("hoodie.populate.meta.fields",)),
            UsageError,
            "true or false",
        ),
        (PropertyOptions({NAME: "a\nhoodie.table.type=MERGE_ON_READ"}), UsageError, "ISO 8859-1"),
        (PropertyOptions({NAME: "\u4e2d"}), UsageError, "ISO 8859-1"),
    ],
)
def test_what_is_refused(unpack: Unpack, wanted: PropertyOptions, kind: type[HudictlError], said: str) -> None:
    copy = unpack("v9", "mor_part")
    before = tree(copy.path)
    with pytest.raises(kind) as refused:
        plan(copy, wanted)
    assert said in f"{refused.value.message} {refused.value.hint}"
    assert tree(copy.path) == before


def test_what_was_agreed_to(unpack: Unpack) -> None:
    """By its name: also a property that this Hudi does not know."""
    copy = unpack("v9", "mor_part")
    wanted = PropertyOptions({"our.own": "1", ORDER: "COMMIT_TIME_ORDERING"}, (), ("our.own", ORDER), 0)
    change(copy, wanted)
    now = read_properties(copy.table.storage)
    assert (now["our.own"], now[ORDER]) == ("1", "COMMIT_TIME_ORDERING")


@VERSIONS
def test_a_lost_type_comes_back(unpack: Unpack, version: str) -> None:
    """It is what stops every other change; and nothing but a compaction makes the table one of copy on write."""
    copy = unpack(version, "mor_savepoints")
    kind = "hoodie.table.type"
    away = options(dangerous=(kind,), hoodie_table_type="COPY_ON_WRITE")
    with pytest.raises(Refused, match="timeline is that of a merge-on-read table"):
        plan(copy, away)
    file = copy.meta / "hoodie.properties"
    file.write_text(file.read_text().replace(f"{kind}=MERGE_ON_READ", f"{kind}=COPY_ON_WRITE"))
    with pytest.raises(Unreadable):
        plan(copy, options(hoodie_database_name="lake"))
    change(copy, options(dangerous=(kind,), hoodie_table_type="MERGE_ON_READ"))
    assert not copy.table.is_cow
    assert plan(copy, options(hoodie_database_name="lake")).changes


def test_what_an_update_that_died_has_left_goes(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_part")
    change(copy, options(hoodie_database_name="lake"))
    file = copy.meta / "hoodie.properties"
    backup = put(copy.meta / "hoodie.properties.backup", file.read_text())
    made = change(copy, options(hoodie_database_name="lake"))
    assert (made.changes, made.unfinished, backup.exists()) == ((), True, False)


def _write_begins(copy: Copy) -> None:
    copy.write(f"{NEW}.deltacommit.requested", b"")
    copy.write(f"{NEW}.deltacommit.inflight", b"")
    put(copy.meta / ".heartbeat" / NEW, old=False)


def _another_changes(copy: Copy) -> None:
    file = copy.meta / "hoodie.properties"
    file.write_bytes(file.read_bytes() + b"hoodie.table.cdc.enabled=false\n")
    os.utime(file)
    change(copy, options(hoodie_database_name="other"))


def _restore_begins(copy: Copy) -> None:
    copy.write(f"{NEW}.restore.requested", b"")


@pytest.mark.parametrize("comes", [_write_begins, _another_changes, _restore_begins])
@VERSIONS
def test_what_comes_after_the_plan(unpack: Unpack, version: str, comes: Callable[[Copy], None]) -> None:
    copy = unpack(version, "mor_part")
    wanted = options(hoodie_database_name="lake")
    made = plan(copy, wanted)
    comes(copy)
    before = tree(copy.path, OWN)
    with pytest.raises((Conflict, Refused)):
        set_properties(session(copy.table), made, wanted)
    assert tree(copy.path, OWN) == before


def test_a_secret_is_shown_nowhere(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_part")
    key = "our.secret.key"
    made = change(copy, PropertyOptions({key: "hush-hush"}, (), (key,), 0))
    assert [row.after for row in made.changes] == ["***"]
    (time,) = operation_instants(copy.table.storage)
    assert "hush" not in str(read_operation(copy.table.storage, time))
