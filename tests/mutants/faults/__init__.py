"""The lists of planted faults, by name."""

from collections.abc import Mapping, Sequence

from tests.mutants.fault import Fault
from tests.mutants.faults import claim, guards, pending, publish, rollback, second_looks

LISTS: Mapping[str, Sequence[Fault]] = {
    "claim": claim.FAULTS,
    "guards": guards.FAULTS,
    "pending": pending.FAULTS,
    "publish": publish.FAULTS,
    "rollback": rollback.FAULTS,
    "second_looks": second_looks.FAULTS,
}
