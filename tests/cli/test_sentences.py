"""Sentences that were not true, or left people alone: each beside the facts that it is made of."""

import pytest

from hudictl.reports.table import DO_NOT_START
from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.helpers import Copy, alone, drop

TABLES = [(version, name) for version in support.VERSIONS for name in support.names(version)]


@pytest.mark.parametrize(("version", "name"), TABLES)
def test_the_verdict_is_made_of_the_facts_above_it(tell: Tell, unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    shown = tell("table", "show", "-t", copy.path, "-o", "json").json["result"]
    pending = [entry for kind in ("writes", "restores", "rollbacks", "cleans") for entry in shown[f"pending_{kind}"]]
    assert ("nothing is pending" in shown["verdict"]) == (not pending)
    assert shown["sound"] == (shown["writers_can_start"] and not shown["remedy"])
    if shown["sound"]:
        assert not any(entry["remedy"] for entry in shown["pending"])


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_service_that_waits_is_named(tell: Tell, unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    shown = tell("table", "show", "-t", copy.path, "-o", "json").json["result"]
    (waiting,) = shown["pending_writes"]
    assert shown["verdict"] == f"a writer can open the table; waiting: {waiting}"
    assert shown["sound"]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_an_armed_rollback_begins_with_what_not_to_do(tell: Tell, unpack: Unpack, version: str) -> None:
    """The next writer deletes a completed commit."""
    copy = unpack(version, "cow_rollback_interrupted")
    said = tell("table", "show", "-t", copy.path)
    assert f"verdict     {DO_NOT_START}: " in said.out
    assert "can open" not in said.out


def newest_base(copy: Copy) -> str:
    return max((path for path in copy.data() if path.endswith(".parquet")), key=lambda path: path.rpartition("_")[2])


@pytest.mark.parametrize("damage", ["lost", "cut", "no footer"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_each_damage_names_a_way_back(tell: Tell, unpack: Unpack, version: str, damage: str) -> None:
    """The restore that `check` names ends it."""
    copy = unpack(version, "cow_part")
    path = copy.path / newest_base(copy)
    before = copy.commits[-2]
    if damage == "lost":
        drop(path)
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:2000])
    else:
        path.write_bytes(path.read_bytes()[:-8] + b"\0" * 8)
    found = tell("check", "--footers", "-t", copy.path, "-o", "json").json["rows"]
    ways = {alone(way["command"]) for row in found for way in row["remedy"]}
    command = f"hudictl restore --to-instant={before}"
    assert command in ways
    assert tell("restore", f"--to-instant={before}", "--idle", "0", "--yes", "-t", copy.path).code == 0
    assert tell("check", "--footers", "-t", copy.path).code == 0


@pytest.mark.parametrize("version", support.VERSIONS)
def test_the_way_back_deletes_a_savepoint_and_says_so(tell: Tell, unpack: Unpack, version: str) -> None:
    """On the newest commit, which has no later one: only a backup could save it."""
    copy = unpack(version, "cow_part")
    *_, before, last = copy.commits
    assert tell("savepoint", "create", "--yes", "-t", copy.path).code == 0
    drop(copy.path / newest_base(copy))
    (found,) = (
        row for row in tell("check", "-t", copy.path, "-o", "json").json["rows"] if row["finding"] == "missing-file"
    )
    assert f"the way back also deletes 1 later savepoint: {last}" in found["meaning"]
    (way,) = found["remedy"]
    assert alone(way["command"]) == f"hudictl restore --to-instant={before} --delete-later-savepoints"

    said = tell("savepoint", "show", last, "--verify", "-t", copy.path).line
    assert f"{last} cannot be restored now: 1 required file missing" in said
    assert "; put them back from a backup)" in said
    asked = ("restore", f"--to-instant={before}", "--idle", "0", "--yes", "-t", copy.path)
    assert tell(*asked).code == 13
    assert tell(*asked, "--delete-later-savepoints").code == 0
    assert tell("check", "-t", copy.path).code == 0


@pytest.mark.parametrize(("rule", "more"), [((), ""), (("--rule", "requested"), ", or another --rule")])
def test_another_rule_is_offered_where_it_was_not_tried(
    tell: Tell, unpack: Unpack, rule: tuple[str, ...], more: str
) -> None:
    copy = unpack("v9", "cow_part")
    target = copy.commits[-2]
    lost = [path for path in copy.data() if path.endswith(f"_{target}.parquet")]
    drop(copy.path / lost[0])
    said = tell("restore", f"--to-instant={target}", *rule, "--idle", "0", "--plan", "-t", copy.path)
    assert (said.code, f"backup, or choose a later instant{more})" in said.line) == (13, True), said.line


@pytest.mark.slow
def test_what_is_planned_asked_and_done_names_the_table(tell: Tell, unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    line = f"Table cow_part: file://{copy.path}"
    target = copy.commits[0]
    assert tell("restore", "--to-instant", target, "--plan", "-t", copy.path).out.startswith(f"{line}\n")
    assert tell("savepoint", "create", target, "--yes", "-t", copy.path).out.startswith(f"{line}\n")
    assert tell("savepoint", "delete", target, "--plan", "-t", copy.path).out.startswith(f"{line}\n")
    assert tell("savepoint", "delete", target, "--yes", "-t", copy.path).out.startswith(f"{line}\n")
    assert tell("metadata", "drop", "--plan", "-t", copy.path).out.startswith(f"{line}\n")
    assert tell("restore", "--to-instant", target, "--yes", "-t", copy.path).out.startswith(f"{line}\n")


def test_no_command_is_named_that_refuses_the_table(tell: Tell, unpack: Unpack) -> None:
    """hudictl reads table version 5, and changes nothing in it (hudi#13642)."""
    copy = unpack("v6", "cow_part")
    properties = copy.meta / "hoodie.properties"
    properties.write_text(properties.read_text().replace("hoodie.table.version=6", "hoodie.table.version=5"))
    copy.meta.joinpath(".hoodie.properties.crc").unlink(missing_ok=True)
    found = tell("check", "-t", copy.path, "--idle", "0", "-o", "json").json["rows"]
    (version,) = [row for row in found if row["finding"] == "metadata-table-version"]
    assert all(row["remedy"] == [] for row in found)
    assert "hudictl metadata drop" not in version["meaning"]
    assert "hudictl cannot change table version 5" in version["meaning"]
