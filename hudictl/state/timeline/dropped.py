"""Partitions that a commit has dropped: Hudi's clean deletes their folders, with the files that savepoints name.

Seen with 0.15.0 and 1.2.0 (hudi#8506, #9602): the clean keeps single files that a savepoint names, but not in a
partition that has no file group any more.
"""

from collections.abc import Collection, Mapping
from functools import partial

from hudictl.engine.base import Engine
from hudictl.formats.instants import REPLACECOMMIT
from hudictl.phrases import command_of, count_of, first_few
from hudictl.state.timeline.remedy import Remedy
from hudictl.table.files.choose import is_of_other_groups
from hudictl.table.files.sweep import sweep
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline
from hudictl.table.timeline.commits import Commits, LazyCommits


def dropped_partitions(
    table: Table,
    timeline: Timeline,
    engine: Engine,
    names: Collection[str] | None = None,
    commits: Commits | None = None,
) -> dict[str, str]:
    """The partitions of which every file group is replaced, each with the last commit that left nothing in it.

    Args:
        names: the only partition paths to look at; None for all.
        commits: those of the timeline, if they were read already; damaged ones are empty.

    Raises StorageFailed, EngineFailed.
    """
    if commits is None:
        commits = LazyCommits(table, timeline, damaged_ok=True)
    replaced, by = dict[str, set[str]](), dict[str, str]()
    for instant in timeline.having(REPLACECOMMIT):
        commit = commits[instant.time] if instant.completed else None
        for path, groups in commit.replaced.items() if commit else ():
            if names is None or path in names:
                replaced.setdefault(path, set()).update(groups)
                if commit and path not in commit.stats:
                    by[path] = instant.time
    if not by:
        return {}
    # Without a metafile it is no partition for a clean, either.
    found = sweep(table, engine, (), within=frozenset(by))
    dead = frozenset((path, group) for path in by for group in replaced[path])
    alive = found.select("look for dropped partitions", partial(is_of_other_groups, dead))
    others = {file.partition for file in alive}
    return {path: time for path, time in by.items() if path in found.partitions and path not in others}


def told_dropped(dropped: Mapping[str, str], files: Mapping[str, Collection[str]]) -> str:
    """What threatens the files of a savepoint, by partition path; "" where nothing does."""
    # It names all partitions, also those in which it has no files.
    lost = {path: by for path, by in dropped.items() if files.get(path)}
    if not lost:
        return ""
    named = first_few(sorted(map(repr, lost)), most=3, rest=" and {:,} more")
    by = first_few(sorted(set(lost.values())), most=3, rest=" and {:,} more")
    return (
        f"{by} dropped {count_of(len(lost), 'partition')} with files of the savepoint ({named}): "
        "Hudi's next clean deletes the folder, although the savepoint names the files. Set "
        "hoodie.clean.automatic=false for all writers, and run no clean, until the savepoint is restored or deleted"
    )


def ways_out(savepoint: str, later: Collection[str], *, restorable: bool = True) -> tuple[Remedy, ...]:
    """The commands after which no savepoint depends on such a partition. ``later`` are savepoints after it."""
    options = ["--delete-later-savepoints"][: len(later)]
    what = f"later commits{' and savepoints' if later else ''} are removed"
    restore = Remedy(command_of("restore", savepoint, options=options), f"the partition is back; {what}")
    delete = Remedy(command_of("savepoint delete", savepoint), "its files may be deleted")
    return (restore, delete) if restorable else (delete,)
