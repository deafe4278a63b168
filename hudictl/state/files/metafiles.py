"""Partition metafiles: which are damaged, and which commit wrote into a partition first."""

from collections.abc import Collection
from functools import partial
from itertools import chain

from hudictl import workers
from hudictl.engine.base import Engine, picked, values
from hudictl.state.facts import Facts
from hudictl.table.table import Table

_A_TASK = 100


def damaged_metafiles(facts: Facts, engine: Engine) -> dict[str, tuple[str, str]]:
    """By partition the extension of a metafile without the values that readers use, and the problem: one read for each
    partition. Raises StorageFailed, EngineFailed."""
    partitions = sorted(facts.sweep.partitions)
    parts = [partitions[at : at + _A_TASK] for at in range(0, len(partitions), _A_TASK)]
    read = partial(workers.damaged_metafiles, facts.table.storage)
    found = values(engine.map("read metafiles", read, parts), "read metafiles")
    return {partition: (extension, problem) for partition, extension, problem in chain.from_iterable(found)}


def first_commits(facts: Facts, partitions: Collection[str]) -> dict[str, str]:
    """The oldest commit that is known to have written into a partition; none, where no commit is known to have."""
    written = picked(facts.written.files, partitions)
    times = {partition: [entry.time for entry in entries if entry.wrote] for partition, entries in written.items()}
    return {partition: min(found) for partition, found in times.items() if found}


def in_base_format(table: Table) -> bool:
    """Whether metafiles have the base file format, which hudictl does not write."""
    return table.properties.get("hoodie.partition.metafile.use.base.format") == "true"
