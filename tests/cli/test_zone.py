"""A host in another zone than the table's writers, by the command line."""

import pytest

from hudictl.table.timeline.active import load_timeline
from tests.cli.conftest import Tell, Unpack
from tests.helpers import die, host_in, without_zone, written_in

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
LOCAL = ("--engine", "local", "--yes")


@VERSIONS
def test_the_refusal_names_the_option_and_with_it_the_command_goes_on(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = written_in(unpack(version, "cow_savepoints"), hours=5.5)
    line = ("restore", copy.savepoints[-1], "-t", copy.path, *LOCAL)
    for flags in ((), ("--plan",), ("--timezone", "Asia/Tokyo")):
        said = tell(*line, *flags, "-o", "json")
        assert said.code == 13
        assert "--timezone" in said.error["hint"]
        assert said.error["fields"]["offset"] == "UTC+05:30"
    assert tell(*line, "--timezone", "Asia/Kolkata").code == 0
    assert tell("rollback", copy.commits[-1], "-t", copy.path, *LOCAL).code == 13


@VERSIONS
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_resume_ends_what_an_operator_in_tokyo_has_begun(unpack: Unpack, tell: Tell, version: str, zone: str) -> None:
    copy = unpack(version, "cow_savepoints")
    with host_in("Asia/Tokyo"):
        die(without_zone(copy), copy.savepoints[-1], "delete files")
    with host_in(zone):
        assert tell("resume", "-t", copy.path, *LOCAL).code == 0
    (done,) = load_timeline(copy.table).having("restore")
    assert done.completed
    assert tell("table", "show", "-t", copy.path).code == 0
