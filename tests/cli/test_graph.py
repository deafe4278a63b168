"""``timeline show --graph``: the command around the bars."""

import os
import subprocess
import sys

import pytest

from tests.cli.conftest import Tell, Unpack
from tests.helpers import put


def test_a_row_for_each_action(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    said = tell("timeline", "show", "--graph", "-t", copy.path, "--timezone", "UTC")
    assert (said.code, said.err) == (0, "")
    head, done, pending, *notes = said.out.splitlines()
    assert head.split() == ["2026-11-21", "03:06:16", "2026-11-21", "03:06:27", "UTC"]
    assert done.startswith("deltacommit  █")
    assert set(pending.strip()) == {"░", "▶"}
    assert max(map(len, (head, done, pending))) == 100
    assert notes[1:] == ["pending: 20261121030627840 deltacommit INFLIGHT"]


def test_the_options_of_the_list_choose_instants(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")

    def names(*options: str) -> list[str]:
        said = tell("timeline", "show", "--graph", "-t", copy.path, "--timezone", "UTC", *options)
        assert said.code == 0
        return [line.split("  ")[0] for line in said.out.splitlines()[1:] if line[:1].isalpha() and "  " in line]

    assert names() == ["commit", "savepoint"]
    assert names("--action", "savepoint") == ["savepoint"]
    assert names("--limit", "1") == ["commit"]
    assert names("--with-metadata-table") == ["commit", "savepoint", "deltacommit (metadata)"]
    for graph in (["--graph"], [], ["--with-metadata-table"]):
        said = tell("timeline", "show", *graph, "-t", copy.path, "--action", "clean").out
        assert said == "no such instants\n", "others there are"
    assert (
        tell("timeline", "show", "--graph", "-t", copy.path, "--until", "2020").out == "no row meets the conditions\n"
    )


@pytest.mark.parametrize(
    "options",
    [("-o", "json"), ("--where", "state=COMPLETED"), ("--columns", "time"), ("--sort", "time"), ("--relative",)],
)
def test_what_does_not_go_with_bars_is_refused(unpack: Unpack, tell: Tell, options: tuple[str, ...]) -> None:
    said = tell("timeline", "show", "--graph", "-t", unpack("v9", "cow_part").path, *options)
    assert (said.code, said.out) == (2, "")
    assert "--graph goes with --output text" in said.err


def test_a_damaged_file_of_the_archive_is_told_below_the_bars(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_cleaned")
    words = ("timeline", "show", "--graph", "--archived", "-t", copy.path, "--timezone", "UTC")
    whole = tell(*words)
    file = min(copy.timeline.glob("history/*.parquet"))
    put(file, file.read_bytes()[:-50])
    said = tell(*words)
    assert (whole.code, said.code) == (0, 14)
    assert file.name in said.err
    assert "archive repair" in said.err
    assert whole.out.split()[:2] < said.out.split()[:2]
    assert [line.split()[0] for line in said.out.splitlines()[1:3]] == ["commit", "clean"]


@pytest.mark.slow
def test_an_output_without_blocks_gets_ascii(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_restore_interrupted")
    command = [sys.executable, "-m", "hudictl", "timeline", "show", "--graph", "-t", str(copy.path)]
    done = subprocess.run(command, env=os.environ | {"PYTHONIOENCODING": "ascii"}, capture_output=True, check=True)
    assert done.stdout.isascii()
    assert b"# busy (- hardly), .> pending, S savepoint" in done.stdout
