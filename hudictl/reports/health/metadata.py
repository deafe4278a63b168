"""Findings of ``check`` on the metadata table against storage: what readers see through it alone, or without it alone.

What is not as it lists it, ``metadata verify`` says of each file.
"""

from collections import defaultdict
from collections.abc import Iterator

from hudictl.formats.layouts import METADATA_TABLE
from hudictl.reports.health.finding import ERROR, WARNING, Finding, Look, named
from hudictl.state.metadata_gap import metadata_gap
from hudictl.state.needed import needed_files


def listing(look: Look) -> Iterator[Finding]:
    """Raises Unreadable: a clean's metadata, or the plan of a compaction."""
    facts = look.facts
    if facts.known.unread is not None:
        meaning = f"{facts.known.unread}: queries that use it fail"
        yield Finding("metadata-table-unreadable", ERROR, METADATA_TABLE, meaning, "hudictl metadata verify")
    if facts.known.listing is None:
        return

    gap = metadata_gap(facts, look.engine, needed_files(facts, (), {}), (), {})
    for partition, above in gap.hidden.items():
        meaning = (
            f"it lies below {above!r}, where no listing looks: readers see it through the metadata table alone, and a "
            "restore is refused (Hudi's own loses it); have Hudi write its rows into a partition below no other"
        )
        yield Finding("nested-partition", WARNING, partition, meaning)

    unlisted: dict[str, list[str]] = defaultdict(list)
    for file in gap.unlisted:
        unlisted[file.partition].append(file.data.name)
    for partition, names in sorted(unlisted.items()):
        meaning = (
            f"{len(names):,} files that the metadata table does not list ({named(names)}): readers that list folders "
            "take them for committed, and all readers will once the metadata table is made anew"
        )
        yield Finding("unlisted-files", ERROR, partition or ".", meaning, "hudictl orphans list")
