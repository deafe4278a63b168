"""``marker list`` and ``marker delete``."""

import pytest

from tests.cli.conftest import Tell, Unpack
from tests.helpers import OWN, Copy, alone, put, through_shell, tree

GONE = "20201121000000000"


def instant_of(copy: Copy) -> str:
    (found,) = [path.name for path in (copy.meta / ".temp").iterdir()]
    return found


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
@pytest.mark.parametrize("name", ["cow_failed_tls", "mor_failed_direct"])
def test_list(tell: Tell, unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    instant = instant_of(copy)
    head, row = tell("marker", "list", "-t", copy.path).out.splitlines()
    assert head.split()[:4] == ["instant", "type", "state", "action"]
    kind = "TIMELINE_SERVER_BASED" if name.endswith("tls") else "DIRECT"
    assert row.split()[:3] == [instant, kind, "pending"]
    rows = tell("marker", "list", instant, "-t", copy.path, "-o", "json").json["rows"]
    for found in rows:
        assert found["on_storage"]
        assert (copy.path / found["partition"] / found["name"]).stat().st_size == found["bytes"]
    assert [found["partition"] for found in rows] == sorted(found["partition"] for found in rows)


def test_none(tell: Tell, unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    assert tell("marker", "list", "-t", copy.path).out == "no markers\n"
    for name in (GONE, ".."):
        said = tell("marker", "list", name, "-t", copy.path)
        assert (said.code, said.out) == (0, f"no markers of {name}\n")


def test_what_a_crash_tore_is_told(tell: Tell, unpack: Unpack) -> None:
    copy = unpack("v9", "cow_failed_tls")
    instant = instant_of(copy)
    path = next((copy.meta / ".temp" / instant).glob("MARKERS[0-9]"))
    put(path, path.read_bytes() + b"part-0/half")
    said = tell("marker", "list", instant, "-t", copy.path, "-o", "json")
    assert said.json["notes"] == [f"the list may be incomplete: the last line of {path.name} is incomplete"]
    assert len(said.json["rows"]) == 3
    (row,) = tell("marker", "list", "-t", copy.path, "-o", "json").json["rows"]
    assert row["partial"] == f"the last line of {path.name} is incomplete"


def test_a_type_to_come(tell: Tell, unpack: Unpack) -> None:
    """Its folder is listed, its markers cannot be."""
    copy = unpack("v9", "cow_failed_tls")
    instant = instant_of(copy)
    put(copy.meta / ".temp" / instant / "MARKERS.type", "BROADCAST")
    (row,) = tell("marker", "list", "-t", copy.path, "-o", "json").json["rows"]
    assert row["type"] == "unknown"
    said = tell("marker", "list", instant, "-t", copy.path)
    assert said.code == 14
    assert "'BROADCAST'" in said.line


def test_delete(tell: Tell, unpack: Unpack) -> None:
    """Planned, not agreed to, done, and nothing to do."""
    copy = unpack("v9", "cow_failed_tls")
    before = tree(copy.path, OWN)
    put(copy.meta / ".temp" / GONE / "p" / "f.parquet.marker.CREATE")
    planned = tell("marker", "delete", GONE, "-t", copy.path, "--plan")
    said = f"would delete the marker folder of {GONE} (gone) with 1 marker"
    table = f"Table cow_failed_tls: file://{copy.path}"
    assert planned.out == f"{table}\n{said}\nNo lock is taken: none is configured.\n"
    planned = tell("marker", "delete", GONE, "-t", copy.path, "--plan", "-o", "json")
    assert planned.json["notes"] == ["planned only: nothing was changed"]
    assert planned.json["result"]["lock"]["provider"] is None
    assert tell("marker", "delete", GONE, "-t", copy.path).code == 4
    assert (copy.meta / ".temp" / GONE).exists()
    done = tell("marker", "delete", GONE, "-t", copy.path, "--yes")
    assert done.out == f"{table}\ndeleted the marker folder of {GONE} (gone) with 1 marker\n"
    assert tree(copy.path, OWN) == before
    again = tell("marker", "delete", GONE, "-t", copy.path, "--yes")
    assert (again.code, again.out) == (0, f"there are no markers of {GONE}: nothing to do\n")
    (entry,) = tell("history", "-t", copy.path, "-o", "json").json["rows"]
    assert (entry["operation"], entry["target"]) == ("marker delete", GONE)


@pytest.mark.parametrize("how", [["--yes"], ["--plan"]])
def test_those_of_a_pending_write_are_refused(tell: Tell, unpack: Unpack, how: list[str]) -> None:
    copy = unpack("v9", "cow_failed_tls")
    instant = instant_of(copy)
    before = tree(copy.path, OWN)
    said = tell("marker", "delete", instant, "-t", copy.path, *how, "-o", "json")
    assert (said.code, said.error["slug"]) == (13, "refused")
    assert "would become orphans" in said.error["message"]
    assert f"hudictl rollback {instant}" in alone(said.error["hint"])
    assert tree(copy.path, OWN) == before


def test_a_folder_that_is_named_like_a_command_is_told_as_one_word(tell: Tell, unpack: Unpack) -> None:
    """The remedy of its finding, run by a shell, deletes this folder and does nothing else."""
    copy = unpack("v9", "cow_part")
    names = ("$(id>&2)", "1; touch PWNED #", "--help", "it's", "\x1b[31m\u202e\nx")
    for name in names:
        put(copy.meta / ".temp" / name / "p" / "f.parquet.marker.CREATE")
    rows = tell("check", "-t", copy.path, "--assume-defaults", "--idle", "0s", "-o", "json").json["rows"]
    remedies = {row["subject"]: row["remedy"][0]["command"] for row in rows if row["finding"] == "stale-markers"}
    assert set(remedies) == set(names)
    for name, command in remedies.items():
        words = through_shell(command)
        assert words[-1] == name
        assert words[:3] == ["marker", "delete", f"--table={copy.path}"]
        assert tell(*words[:3], "--yes", *words[3:]).code == 0
        assert not (copy.meta / ".temp" / name).exists()
