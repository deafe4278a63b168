"""The families of ``check``, in their order, with the findings that each can have."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module

from hudictl.errors import UsageError
from hudictl.reports.health.finding import UNREADABLE, Finding, Look, Skipped
from hudictl.reports.health.names import FINDINGS, NAMES

Family = Callable[[Look], Iterator[Finding | Skipped]]


def _family(name: str) -> Family:
    module, _, function = name.partition(".")
    found: Family = getattr(import_module(f"hudictl.reports.health.{module}"), function)
    return found


FAMILIES: Mapping[Family, tuple[str, ...]] = {
    _family(name): tuple(findings.split()) for name, findings in FINDINGS.items()
}


@dataclass(frozen=True)
class FindingSelection:
    """The selected findings: all, ``only`` some, or all except those to ``skip``.

    Raises UsageError: an unknown name, or nothing is left.
    """

    only: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for option, given in (("--only", self.only), ("--skip", self.skip)):
            for name in sorted(given - NAMES):
                near = get_close_matches(name, sorted(NAMES), n=3) or sorted(NAMES)
                raise UsageError(
                    f"{option} {name}: check has no such finding", hint=f"known findings: {', '.join(near)}"
                )

        if self.only and self.only <= self.skip:
            raise UsageError(f"--skip {', '.join(sorted(self.only))}: nothing of --only is left")

    def takes(self, finding: str) -> bool:
        """Unreadable files are always reported, because they can hide the selected findings."""
        asked = not self.only or finding in self.only or finding == UNREADABLE
        return asked and finding not in self.skip

    def families(self) -> Iterator[Family]:
        """The families that can have a selected finding; every family can find unreadable files."""
        every = UNREADABLE in self.only
        yield from (family for family, names in FAMILIES.items() if every or any(map(self.takes, names)))
