"""Pending table services whose plan is lost."""

from tests.mutants.fault import Fault

GUARDS = "ops/guards/rollback.py"
OWN = ("ops/rollback/test_lost_plan.py",)

FAULTS = (
    Fault(
        GUARDS,
        "    if has_lost_plan(table, timeline, target) and not can_be_planned_again(table, target):\n",
        "    if False:\n",
        "a plan that is lost is said to be kept, and the instant is gone",
        OWN,
    ),
    Fault(
        "ops/rollback/failed.py",
        " and row.instant not in lost\n",
        "\n",
        "failed-writes clean cannot end a table service without its plan",
        OWN,
    ),
    Fault(
        "ops/rollback/publish.py",
        "        if plan.planned_again:\n",
        "        if False:\n",
        "a compaction without plan is removed from under the logs of later writes",
        OWN,
    ),
    Fault(
        "ops/rollback/publish.py",
        "State.REQUESTED and not has_lost_plan(table, timeline, instant)\n",
        "State.REQUESTED\n",
        "a result says that a table service is requested again, and there is no plan",
        OWN,
    ),
)
