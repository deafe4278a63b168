"""The steps that bring single partitions back."""

import pytest

from hudictl.errors import Refused
from hudictl.reports.partition_back import partitions_back
from tests import support
from tests.cli.conftest import Tell, _plain, tell
from tests.fixtures import Unpack, no_waiting, unpack
from tests.helpers import tree

__all__ = ["_plain", "no_waiting", "tell", "unpack"]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_the_steps(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = copy.commits[1]
    found = partitions_back(copy.table, target, ("part-0", "part-1"))
    place = f"{copy.path}-as-of-{target}"
    assert found.copy.split() == [
        *("hudictl", "copy", f"--as-of={target}", "--partition=part-0", "--partition=part-1", f"--to={place}")
    ]
    create, first, second, drop = found.statements
    assert create == f"CREATE TABLE hudictl_copy USING hudi LOCATION '{place}'"
    assert first == (
        "INSERT OVERWRITE `cow_part` PARTITION (`p`='part-0') SELECT `id`, `ts`, `val` FROM hudictl_copy "
        "WHERE `p`='part-0'"
    )
    assert "part-1" in second
    assert drop == "DROP TABLE hudictl_copy"


def test_what_sql_cannot_name(unpack: Unpack) -> None:
    """Two folders for one field; the way is the copy, and a job."""
    copy = unpack("v9", "cow_part")
    with pytest.raises(Refused, match="how SQL names the partition a/b") as caught:
        partitions_back(copy.table, copy.commits[1], ("a/b",))
    assert "--partition=a/b" in str(caught.value.hint)


def test_without_plan_it_is_refused(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    before = tree(copy.path)
    said = tell("restore", copy.commits[1], "--partition", "part-0", "-t", copy.path, "--yes")
    assert (said.code, "with --plan" in said.line) == (13, True)
    said = tell("restore", copy.commits[1], "--partition", "part-0", "-t", copy.path, "--plan")
    assert (said.code, "hudictl copy" in said.out, said.err) == (0, True, "")
    assert tree(copy.path) == before
