"""What is wrong with the plan of a pending compaction."""

import pytest

from tests import support
from tests.fixtures import Unpack
from tests.helpers import put
from tests.ops.repair.services_support import compaction, files_of, groups_of, problems, without_later_logs
from tests.state.orphans.find_support import LATER
from tests.state.timeline.dropped_support import replaced

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


@VERSIONS
def test_a_sound_plan_has_none(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    assert problems(copy, compaction(copy)[0]) == []


@VERSIONS
def test_inputs_that_are_missing_empty_or_cut(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    time, path = compaction(copy)
    bases = [copy.path / name for name in files_of(path) if name.endswith(".parquet")]
    bases[0].unlink()
    put(bases[1], b"")
    put(bases[2], bases[2].read_bytes()[:-9])
    found = {problem.file: problem.problem for problem in problems(copy, time)}
    assert found[bases[0].name] == "missing on storage: every run fails"
    assert found[bases[1].name] == "empty"
    assert "not a Parquet file" in found[bases[2].name]
    assert len(found) == 3


@VERSIONS
def test_a_log_that_is_not_in_the_plan(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    time, path = compaction(copy)
    if version == "v6":
        without_later_logs(copy, time)
    body = path.read_bytes()
    log = next(name for name in files_of(path) if ".log." in name)
    name = log.rpartition("/")[2]
    # Another name of the same length: the log on storage is not in the plan then, and that in the plan is missing.
    other = name[:-1] + chr(ord(name[-1]) + 1)
    put(path, body.replace(name.encode(), other.encode()))
    found = {problem.file: problem.problem for problem in problems(copy, time)}
    assert found[other].startswith("missing")
    assert "not in the plan: its run loses" in found[name]


@VERSIONS
def test_a_second_plan_and_a_replaced_group(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    time, path = compaction(copy)
    copy.write(f"{LATER}.compaction.requested", path.read_bytes())
    partition, _, one = groups_of(path)[0].rpartition("/")
    replaced(copy, partition, [one], "INSERT_OVERWRITE")
    found = {(problem.file_group, problem.also_in): problem.problem for problem in problems(copy, time)}
    assert found[one, LATER] == f"also in the plan of {LATER} compaction REQUESTED"
    assert found[one, None].startswith("replaced by a later commit")
    assert len(found) == len(groups_of(path)) + 1
