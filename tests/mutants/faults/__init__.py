"""The lists of planted faults, by name."""

from collections.abc import Mapping, Sequence

from tests.mutants.fault import Fault
from tests.mutants.faults import (
    around_restore,
    borrowed,
    claim,
    formats,
    guards,
    health,
    health_files,
    health_timeline,
    needed,
    orphans,
    pending,
    publish,
    restore,
    restore_plan,
    rollback,
    savepoint,
    second_looks,
    storage,
    verify,
    withdrawal,
)

LISTS: Mapping[str, Sequence[Fault]] = {
    "around_restore": around_restore.FAULTS,
    "borrowed": borrowed.FAULTS,
    "claim": claim.FAULTS,
    "formats": formats.FAULTS,
    "guards": guards.FAULTS,
    "health": health.FAULTS,
    "health_files": health_files.FAULTS,
    "health_timeline": health_timeline.FAULTS,
    "needed": needed.FAULTS,
    "orphans": orphans.FAULTS,
    "pending": pending.FAULTS,
    "publish": publish.FAULTS,
    "restore": restore.FAULTS,
    "restore_plan": restore_plan.FAULTS,
    "rollback": rollback.FAULTS,
    "savepoint": savepoint.FAULTS,
    "second_looks": second_looks.FAULTS,
    "storage": storage.FAULTS,
    "verify": verify.FAULTS,
    "withdrawal": withdrawal.FAULTS,
}
