"""``compaction unschedule``, ``clustering prune``, ``clean discard``, and plans that are lost."""

from tests.mutants.fault import Fault

FILE = "ops/repair/services.py"
PLAN = "ops/repair/plan.py"
BESIDE = "ops/repair/test_services.py::test_what_came_beside_the_change_of_a_plan"
PROBLEMS = "state/services/plan_problems.py"

FAULTS = (
    Fault(
        FILE,
        "    _no_later_rows(session, signs, instant, groups)\n",
        "",
        "readers of version 6 lose the rows of later writes",
    ),
    Fault(
        FILE,
        "    if instant.state is not State.REQUESTED or request is None:\n",
        "    if request is None:\n",
        "a plan changes while a run goes on by it",
    ),
    Fault(
        FILE,
        "    if entries_of(table.storage, HASHING_METADATA):\n",
        "    if False:\n",
        "a resize of buckets is done in a part",
    ),
    Fault(
        FILE,
        "signs.timeline.modified_ms[request.name] if body else None)\n",
        "None)\n",
        "after one change of a plan the next one is refused: the plan seems to be at work",
    ),
    Fault(
        "formats/plans.py",
        'if (one["partitionPath"] or "", one["fileId"]) not in groups]',
        'if (one["partitionPath"] or "") not in {path for path, _ in groups}]',
        "all operations of a partition go, as with hudi-cli",
        ("ops/repair/test_services.py",),
    ),
    Fault(
        PROBLEMS,
        "            if records[log.path] and (log.partition, log.data.name) not in files:\n",
        "            if False:\n",
        "a log outside of the plan is not told",
    ),
    Fault(
        PROBLEMS,
        "        if other.pending and other.time != instant.time and service_of(facts.table, other) is not None:\n",
        "        if False:\n",
        "a second plan over a file group is not told",
    ),
    Fault(
        "state/timeline/lost_plans.py",
        "    except Unreadable:\n        return True\n",
        "    except Unreadable:\n        return False\n",
        "no command ends a compaction whose plan is damaged",
        ("ops/rollback/test_lost_plan.py",),
    ),
    Fault(
        "ops/clean_up/service.py",
        "        if stays:\n",
        "        if False:\n",
        "readers look for files that a discarded clean has deleted",
        ("ops/clean_up/test_discard.py",),
    ),
    Fault(
        "state/files/instant_files.py",
        "and not partial and not self.damaged)",
        "and not partial)",
        "files of a failed write stay in partitions that only its cut profile named",
    ),
    Fault(
        FILE,
        "session.lock, alone=alone)",
        "session.lock)",
        "rows of a writer that has read the old plan are lost",
        (BESIDE,),
    ),
    Fault(
        PLAN,
        "        settle()\n",
        "",
        "a writer that had looked just before begins by the old plan, and its rows are lost",
        (BESIDE,),
    ),
    Fault(
        PLAN,
        "        yield\n        _nothing_came(table, run.found, own)\n",
        "        yield\n",
        "a run goes on by the old plan, and what is written by the new one is lost",
        (BESIDE,),
    ),
    Fault(
        PLAN,
        "        _as_before(table, run.time)\n",
        "",
        "the plan stays changed under a run",
        (BESIDE,),
    ),
    Fault(
        PLAN,
        "request_for_nobody(kept, run.time)",
        "request_for_nobody(table, run.time)",
        "a change that died cannot be undone, and no writer begins",
        ("ops/repair/test_services.py::test_what_kept_writers_out_of_a_change_that_died_goes_with_its_undo",),
    ),
)
