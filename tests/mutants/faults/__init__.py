"""The lists of planted faults, by name."""

from collections.abc import Mapping, Sequence

from tests.mutants.fault import Fault
from tests.mutants.faults import claim

LISTS: Mapping[str, Sequence[Fault]] = {"claim": claim.FAULTS}
