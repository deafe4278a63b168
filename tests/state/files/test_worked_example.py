"""The example of docs/restore-in-ten-steps.md is true of the sample table."""

from hudictl.ops.restore.plan import RestoreOptions
from hudictl.state.files.partition import judge
from hudictl.table.files.view import list_partition
from tests.fixtures import Unpack
from tests.helpers import Copy, plan

TARGET, LATER, OLDER = "20261121030414313", "20261121030415374", "20261121030413324"


def test_the_verdict_on_three_files(unpack: Unpack) -> None:
    copy: Copy = unpack("v9", "cow_savepoints")
    made = plan(copy, TARGET, RestoreOptions())
    files = list_partition(copy.table, "part-0") or ()
    case = made.undo.case
    records = case.records["part-0"].unpack(case.view)
    verdict = judge("part-0", files, records, case.view)
    assert made.undo.removed == {LATER} == records.owners
    assert {OLDER, TARGET, LATER} <= {file.data.instant for file in files}
    assert [file.data.instant for file in verdict.needed] == [TARGET]
    assert [file.data.instant for file in verdict.removed] == [LATER]
    assert (verdict.missing, verdict.unproved, verdict.contradictions) == ((), (), ())
