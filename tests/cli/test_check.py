"""`hudictl check`, as it is typed: what it looks for, on how many tables, and what monitoring gets of it."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.cli.conftest import Tell, Unpack
from tests.helpers import Copy, alone, put
from tests.state.orphans.find_support import between_commits, orphan

LOCAL = ("--engine", "local")
Series = dict[tuple[str, str], float]


@pytest.fixture
def tables(unpack: Unpack) -> tuple[Copy, Copy]:
    """A sound one, and one with a dead writer."""
    return unpack("v9", "cow_part"), unpack("v6", "cow_failed_direct")


def series(text: str) -> Series:
    """The numbers of a text of Prometheus by name and table, as its own parser reads them; a sum over severities."""
    found: Series = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = sample.name, sample.labels["table"]
            found[key] = found.get(key, 0) + sample.value
    return found


@pytest.mark.slow
def test_check(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    said = tell("check", "-t", copy.path, *LOCAL)
    assert (said.code, said.out.splitlines()[0], said.err) == (0, "no findings", "")
    assert tell("check", "-t", copy.path, *LOCAL, "-o", "json").json["rows"] == []
    orphan(copy, between_commits(copy))
    copy.write(f"{between_commits(copy)}.savepoint.inflight")
    said = tell("check", "-t", copy.path, *LOCAL)
    assert said.code == 3
    assert "  do: `hudictl orphans delete`" in alone(said.out).splitlines()
    assert said.line == "hudictl: findings (3): 2 warnings"
    said = tell("check", "-t", copy.path, *LOCAL, "-o", "json")
    assert [row["finding"] for row in said.json["rows"]] == ["savepoint-interrupted", "orphans"]
    assert list(said.json["rows"][0]) == ["table", "finding", "severity", "subject", "meaning", "remedy"]
    assert said.error["fields"] == {"findings": 2, "errors": 0}


def test_only_and_skip(tables: tuple[Copy, Copy], tell: Tell) -> None:
    _, failed = tables
    asked = ("check", "-t", failed.path, *LOCAL)
    assert tell(*asked).code == 3
    assert tell(*asked, "--skip", "failed-write").code == 0
    assert tell(*asked, "--only", "orphans", "--only", "lock-held").code == 0
    assert tell(*asked, "--only", "failed-write").code == 3
    said = tell(*asked, "--only", "failed-writes")
    assert said.code == 2
    assert (
        said.line
        == "hudictl: usage (2): --only failed-writes: check has no such finding (known findings: failed-write)"
    )
    assert tell(*asked, "--skip", "no").code == 2
    assert tell(*asked, "--only", "orphans", "--skip", "orphans").code == 2


def test_only_what_needs_footers_reads_them(tables: tuple[Copy, Copy], tell: Tell) -> None:
    """Asked for by its name it would be found never, without the option."""
    sound, _ = tables
    file = max(sound.path.glob("part-0/*.parquet"))
    put(file, file.read_bytes()[:-4] + b"NONE")
    assert tell("check", "-t", sound.path, *LOCAL).code == 0
    for options in (("--only", "not-parquet"), ("--footers",)):
        said = tell("check", "-t", sound.path, *LOCAL, *options, "-o", "json")
        assert (said.code, [row["finding"] for row in said.json["rows"]]) == (3, ["not-parquet"])


@pytest.mark.slow
def test_several_tables(tables: tuple[Copy, Copy], tell: Tell, tmp_path: Path) -> None:
    """One that is no table is a finding; the others are looked at, and the highest exit code counts."""
    sound, failed = tables
    nowhere = tmp_path / "no where"
    named = ("-t", sound.path, "-t", nowhere, "-t", failed.path, "-t", sound.path)
    said = tell("check", *named, *LOCAL)
    assert said.code == 10
    assert said.line.startswith(f"hudictl: not-found (10): file://{nowhere} is not a Hudi table")
    assert [line for line in said.out.splitlines() if line.startswith("file:")] == [
        f"{uri}:" for uri in (sound.table.uri, f"file://{nowhere}", failed.table.uri)
    ]
    said = tell("check", *named, *LOCAL, "-o", "json")
    assert said.json["table"] is None
    assert [(row["table"], row["finding"]) for row in said.json["rows"]] == [
        (f"file://{nowhere}", "not-checked"),
        (failed.table.uri, "failed-write"),
    ]
    said = tell("check", "-t", sound.path, "-t", failed.path, *LOCAL)
    assert (said.code, said.line) == (3, "hudictl: findings (3): 1 warning in 2 tables")
    assert tell("check", "-t", sound.path, "-t", failed.path, *LOCAL, "--fail-on", "error").code == 0


def test_a_table_that_is_damaged_does_not_stop_the_others(tables: tuple[Copy, Copy], tell: Tell) -> None:
    sound, failed = tables
    put(sound.meta / "hoodie.properties", b"hoodie.table.version=nine\nhoodie.table.name=x\n")
    said = tell("check", "-t", sound.path, "-t", failed.path, *LOCAL, "-o", "json")
    rows = said.json["rows"]
    assert [row["finding"] for row in rows] == ["not-checked", "failed-write"]
    assert said.code == said.error["exit_code"] != 3


def test_tables_by_a_file(
    tables: tuple[Copy, Copy], tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which the environment adds nothing to; it may name several, too, a line each."""
    sound, failed = tables
    file = put(tmp_path / "tables", f"# ours\n\n  {sound.path}\n{failed.path}\n{sound.path}\n")
    monkeypatch.setenv("HUDICTL_TABLE", "/nowhere")
    said = tell("check", "--tables", file, *LOCAL)
    assert (said.code, said.out.count("file:")) == (3, 2)
    assert tell("check", *LOCAL).code == 10
    monkeypatch.setenv("HUDICTL_TABLE", f"{sound.path}\n{failed.path}")
    said = tell("check", *LOCAL)
    assert (said.code, said.out.count("file:")) == (3, 2)
    assert tell("check", "--tables", put(tmp_path / "none", "#\n"), *LOCAL).code == 2
    assert tell("check", "--tables", tmp_path / "absent", *LOCAL).code == 2


def test_a_path_with_a_blank_in_the_environment(
    tables: tuple[Copy, Copy], tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound, _ = tables
    path = sound.path.rename(sound.path.with_name("a table"))
    monkeypatch.setenv("HUDICTL_TABLE", str(path))
    said = tell("check", *LOCAL)
    assert (said.code, said.out.splitlines()[0]) == (0, "no findings")


def test_the_highest_exit_code_counts(tables: tuple[Copy, Copy], tell: Tell, tmp_path: Path) -> None:
    sound, failed = tables
    put(sound.meta / "hoodie.properties", b"hoodie.table.version=nine\nhoodie.table.name=x\n")
    for order in ((sound.path, tmp_path, failed.path), (tmp_path, failed.path, sound.path)):
        said = tell("check", *(word for path in order for word in ("-t", path)), *LOCAL)
        assert said.code == 14


def test_no_table_is_a_usage_error(tell: Tell) -> None:
    said = tell("check", *LOCAL)
    assert (said.code, said.line) == (
        2,
        "hudictl: usage (2): no table is given (use -t URI, or --tables FILE with one base path on each line)",
    )


def test_numbers_for_prometheus(tables: tuple[Copy, Copy], tell: Tell, tmp_path: Path) -> None:
    """Of a sound table, too, and of one that cannot be read: its series have the same name as ever."""
    sound, failed = tables
    gone = tmp_path / "gone"
    said = tell("check", "-t", sound.path, "-t", failed.path, "-t", gone, *LOCAL, "-o", "prometheus")
    assert said.code == 10
    found = series(said.out)
    for uri, up, findings in ((sound.table.uri, 1, 0), (failed.table.uri, 1, 1), (f"file://{gone}", 0, 1)):
        assert found["hudi_table_check_up", uri] == up
        assert found["hudi_table_findings", uri] == findings
        assert found.get(("hudi_table_finding", uri), 0) == findings
        assert found["hudi_table_check_timestamp_seconds", uri] > 1.7e9
    assert 'hudi_table_finding{finding="failed-write",severity="warning",table="' in said.out


def test_a_textfile_is_written_whole_or_not_at_all(tables: tuple[Copy, Copy], tell: Tell, tmp_path: Path) -> None:
    _, failed = tables
    folder = tmp_path / "collector"
    folder.mkdir()
    file = put(folder / "hudi.prom", b"of the last run")
    asked = ("check", "-t", failed.path, *LOCAL, "-o", "prometheus", "--textfile")
    said = tell(*asked, file)
    assert (said.code, said.out) == (3, "")
    assert series(file.read_text())["hudi_table_findings", failed.table.uri] == 1
    assert [path.name for path in folder.iterdir()] == ["hudi.prom"]

    said = tell(*asked, folder)
    assert (said.code, said.line) == (15, f"hudictl: storage (15): {folder} cannot be written: Is a directory")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("collector")] == ["collector"]
    assert tell("check", "-t", failed.path, *LOCAL, "--textfile", file).code == 2


@pytest.mark.parametrize(
    ("options", "code", "status"),
    [
        ((), 1, "WARNING - failed-write in 1 table | errors=0;;;0 warnings=1;;;0 infos=0;;;0 not_checked=0;;;0"),
        (("--fail-on", "error"), 0, "OK - failed-write in 1 table"),
        (("--skip", "failed-write"), 0, "OK - no findings in 1 table"),
    ],
)
def test_a_plugin_of_nagios(
    tables: tuple[Copy, Copy], tell: Tell, options: tuple[str, ...], code: int, status: str
) -> None:
    said = tell("check", "-t", tables[1].path, *LOCAL, "-o", "nagios", *options)
    assert (said.code, said.err) == (code, "")
    assert said.out.startswith(f"HUDI {status}")


def test_a_plugin_of_nagios_says_what_is_wrong(tables: tuple[Copy, Copy], tell: Tell, tmp_path: Path) -> None:
    """Critical for errors; unknown for all that it could not look at, also for what it was called with."""
    sound, _ = tables
    copy_of_commit = put(sound.path / "a|b/.hoodie_partition_metadata")
    put(sound.path / "part-0" / next(sound.path.glob("part-0/*.parquet")).name, b"cut")
    said = tell("check", "-t", sound.path, *LOCAL, "-o", "nagios")
    assert (said.code, copy_of_commit.exists()) == (2, True)
    first, *rest = said.out.splitlines()
    assert first.startswith("HUDI CRITICAL - ")
    assert first.count("|") == 1
    assert any(line.startswith("error: wrong-size: part-0/") for line in rest)
    assert not any("|" in line for line in rest)
    said = tell("check", "-t", tmp_path / "gone", "-t", tables[1].path, *LOCAL, "-o", "nagios")
    assert (said.code, said.out.splitlines()[0].startswith("HUDI UNKNOWN - ")) == (3, True)
    for wrong in (("-t", sound.path, "--idle", "x"), ("--no-such-option",), ()):
        said = tell("check", *wrong, *LOCAL, "--output=nagios")
        assert (said.code, said.err, said.out.count("\n")) == (3, "", 1)
        assert said.out.startswith("HUDI UNKNOWN - ")
