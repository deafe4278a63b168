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
    needed,
    needed_records,
    orphans,
    orphans_deletion,
    ownership,
    pending,
    publish,
    restore,
    rollback,
    savepoint,
    savepoint_guards,
    savepoint_planning,
    second_looks,
    storage,
    verify,
)

LISTS: Mapping[str, Sequence[Fault]] = {
    "around_restore": around_restore.FAULTS,
    "borrowed": borrowed.FAULTS,
    "claim": claim.FAULTS,
    "formats": formats.FAULTS,
    "guards": guards.FAULTS,
    "health": health.FAULTS,
    "needed": needed.FAULTS,
    "needed_records": needed_records.FAULTS,
    "orphans": orphans.FAULTS,
    "orphans_deletion": orphans_deletion.FAULTS,
    "ownership": ownership.FAULTS,
    "pending": pending.FAULTS,
    "publish": publish.FAULTS,
    "restore": restore.FAULTS,
    "rollback": rollback.FAULTS,
    "savepoint": savepoint.FAULTS,
    "savepoint_guards": savepoint_guards.FAULTS,
    "savepoint_planning": savepoint_planning.FAULTS,
    "second_looks": second_looks.FAULTS,
    "storage": storage.FAULTS,
    "verify": verify.FAULTS,
}
