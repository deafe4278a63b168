"""``why``: what an operator reads, and what a script gets."""

import pytest

from tests.cli.conftest import Tell, Unpack
from tests.helpers import alone, put, tree

SMALL = ("hoodie.keep.min.commits=1", "hoodie.keep.max.commits=2", "hoodie.clean.commits.retained=1")
ARCHIVE = ("why", "archive", *(word for setting in SMALL for word in ("--hoodie-conf", setting)))


def test_a_savepoint_blocks_archiving_until_it_is_deleted(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    before = tree(copy.path)
    with_mdt = (*ARCHIVE, "--hoodie-conf", "hoodie.metadata.enable=false", "-t", copy.path)
    said = tell(*with_mdt)
    (savepoint, *others) = copy.savepoints
    assert said.code == 3
    assert f"blocked by savepoint {savepoint}: the oldest savepoint" in said.out
    assert f"  `hudictl savepoint delete {savepoint}`: " in alone(said.out)
    assert f"archive is blocked by {savepoint}" in said.line
    assert tree(copy.path) == before

    for instant in (savepoint, *others):
        tell("savepoint", "delete", instant, "--yes", "-t", copy.path)
    said = tell(*with_mdt)
    assert "savepoint 2" not in said.out


def test_as_json(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v6", "mor_pending_compaction")
    said = tell(*ARCHIVE, "-t", copy.path, "-o", "json")
    assert (said.code, said.error["slug"]) == (3, "findings")
    assert said.json["command"] == "why archive"
    result = said.json["result"]
    assert (result["service"], result["counted"], result["due"]) == ("archive", 7, True)
    assert {"setting": "hoodie.keep.max.commits", "value": "2", "given": True} in result["settings"]
    pending = next(block for block in result["blocks"] if block["kind"] == "pending")
    # Logs of later writes lie on its slices: it cannot be taken back, it has to run.
    assert (pending["remedy"], "it ends when Hudi runs it" in pending["because"]) == ([], True)


def test_the_way_out_of_a_failed_write_ends_the_block(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    time = str(int(copy.commits[0]) + 1)
    for name in (f"{time}.commit.requested", f"{time}.inflight"):
        put(copy.timeline / name)
    asked = (*ARCHIVE, "--hoodie-conf", "hoodie.metadata.enable=false", "--idle", "0s", "-t", copy.path)
    found = tell(*asked, "-o", "json")
    assert found.code == 3
    (block,) = found.json["result"]["blocks"]
    assert (block["kind"], block["instant"]) == ("pending", time)
    words = block["remedy"][0]["command"].split()[1:]
    assert tell(*words, "--yes", "--engine", "local", "--idle", "0s").code == 0
    assert tell(*asked).code == 0


def test_what_is_not_due(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    said = tell("why", "archive", "--assume-defaults", "-t", copy.path)
    assert (said.code, said.err) == (0, "")
    assert "the threshold is 30" in said.out
    assert "it is not due yet; nothing blocks it" in said.out
    assert "not given, Hudi's default is used: hoodie.keep.min.commits=20" in said.out


def test_settings_from_a_file(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    file = copy.path.parent / "writer.properties"
    file.write_text("hoodie.keep.min.commits=1\nhoodie.keep.max.commits=40\n")
    said = tell("why", "archive", "--props", file, "--hoodie-conf", "hoodie.keep.min.commits=7", "-t", copy.path)
    assert "2 settings given: hoodie.keep.min.commits=7, hoodie.keep.max.commits=40" in said.out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "not given: hoodie.keep.min.commits, hoodie.keep.max.commits"),
        (("--hoodie-conf", "hoodie.keep.min.commits=3"), "not given: hoodie.keep.max.commits"),
        (("--assume-defaults", "--hoodie-conf", "hoodie.keep.min.commits=31"), "Hudi refuses this"),
        (("--assume-defaults", "--hoodie-conf", "hoodie.keep.min.commits=x"), "not a whole number"),
    ],
)
def test_settings_that_are_missing_or_wrong(unpack: Unpack, tell: Tell, given: tuple[str, ...], said: str) -> None:
    answer = tell("why", "archive", *given, "-t", unpack("v9", "cow_part").path)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.line


@pytest.mark.parametrize(
    ("service", "missing"),
    [
        ("clean", "hoodie.clean.commits.retained"),
        ("compaction", "hoodie.compact.inline.max.delta.commits"),
    ],
)
def test_the_other_services(unpack: Unpack, tell: Tell, service: str, missing: str) -> None:
    copy = unpack("v9", "mor_pending_compaction")
    before = tree(copy.path)
    assert f"not given: {missing}" in tell("why", service, "-t", copy.path).line
    said = tell("why", service, "--hoodie-conf", f"{missing}=2", "-t", copy.path)
    assert (said.code, said.out.startswith(f"{service}: ")) == (3, True)
    assert "it ends when Hudi runs it" in said.out
    result = tell("why", service, "--hoodie-conf", f"{missing}=2", "-t", copy.path, "-o", "json").json["result"]
    assert list(result)[:4] == ["service", "counts", "counted", "threshold"]
    assert tell("why", service, "--hoodie-conf", f"{missing}=50", "-t", copy.path).code == 0
    assert tree(copy.path) == before


@pytest.mark.parametrize("settings", [(), ("--assume-defaults",)])
def test_skipped_ones_never_change_the_exit_code(unpack: Unpack, tell: Tell, settings: tuple[str, ...]) -> None:
    copy = unpack("v9", "cow_part")
    said = tell("check", "-t", copy.path, "--engine", "local", *settings)
    assert (said.code, said.err) == (0, "")
    line = "; 5 checks by the writers' settings (--props, --assume-defaults; -v names them)"
    assert (line in said.out) == (not settings)
    assert "not checked: the contents of data files (`log verify`" in said.out
    named = tell("check", "-v", "-t", copy.path, "--engine", "local", *settings).out
    assert ("--assume-defaults: archiving-behind, savepoint-old, " in named) == (not settings)
    document = tell("check", "-t", copy.path, "--engine", "local", "-o", "json", *settings).json
    assert document["rows"] == []
    assert [list(entry) for entry in document["skipped"]] == ([] if settings else [["table", "finding", "because"]] * 5)
