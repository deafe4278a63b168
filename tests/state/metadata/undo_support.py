"""What the tests of undo share with others."""

from collections.abc import Collection
from pathlib import Path

from hudictl.state.metadata.facts import read_metadata_facts
from hudictl.state.metadata.undo import MetadataPlan, plan_metadata
from hudictl.table.timeline.active import load_timeline
from tests.helpers import Copy

LISTED = "hoodie.table.metadata.partitions"


def planned(copy: Copy, removed: Collection[str]) -> MetadataPlan:
    table = copy.table
    return plan_metadata(read_metadata_facts(table, load_timeline(table)), removed)


def reasons(plan: MetadataPlan) -> dict[str, str]:
    return {entry.partition: entry.reason for entry in plan.partitions if entry.reason is not None}


def first_logs(copy: Copy, partition: str) -> list[Path]:
    """The logs that begin the file groups."""
    return list((copy.meta / "metadata" / partition).glob(".[!.]*.log.1_0-0-0"))
