"""The lists of planted faults, by name."""

from collections.abc import Mapping, Sequence

from tests.mutants.fault import Fault
from tests.mutants.faults import (
    around_restore,
    claim,
    formats,
    health,
    needed,
    orphans,
    restore,
    savepoint,
    storage,
    verify,
)

LISTS: Mapping[str, Sequence[Fault]] = {
    "around_restore": around_restore.FAULTS,
    "claim": claim.FAULTS,
    "formats": formats.FAULTS,
    "health": health.FAULTS,
    "needed": needed.FAULTS,
    "orphans": orphans.FAULTS,
    "restore": restore.FAULTS,
    "savepoint": savepoint.FAULTS,
    "storage": storage.FAULTS,
    "verify": verify.FAULTS,
}
