"""What restore and rollback plans decide in the same way: what becomes of the table's files; and what is removed with
an instant: its files, its rollback blocks, and the rollback that is stored for it."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from hudictl.engine.base import Engine
from hudictl.formats.archived_timeline import ArchivedInstant
from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.instants import COMPACTION, DELTACOMMIT, LOGCOMPACTION, Instant
from hudictl.formats.rollback import StoredRollbackPlan
from hudictl.ops.guards import files as file_guards
from hudictl.ops.undo.blocks import marked_slices
from hudictl.ops.undo.plan import BlockTarget, MarkedSlice, Removal, Undo, kept_rows
from hudictl.ops.undo.verify import refuse_wrong_outcome
from hudictl.state.facts import Facts
from hudictl.state.files.borrowed import borrowed_logs
from hudictl.state.files.catalog import catalog_gap
from hudictl.state.files.instant_files import known_partitions, partitions_of
from hudictl.state.files.needed import Case, Outcome, judged
from hudictl.state.files.savepoints import savepointed_files
from hudictl.state.metadata.undo import MetadataPlan
from hudictl.state.timeline.clean_plans import pending_cleans
from hudictl.storage import is_hdfs, without_name_node
from hudictl.table.files.choose import is_empty
from hudictl.table.files.hashing import hashing_files
from hudictl.table.files.saved import NOTHING_SAVED, SavedFiles
from hudictl.table.files.slices import StoredFile
from hudictl.table.metadata.listing import written_partitions
from hudictl.table.table import Table
from hudictl.table.timeline.commits import Commits

_SCHEME = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]*:)?(//)?")


@dataclass(frozen=True)
class Judged:
    """What becomes of the table's files without some instants; ``backup`` is the metadata of un-published ones,
    ``owners`` the partitions that the own records of each instant name."""

    case: Case
    outcome: Outcome
    backup: Commits
    owners: Mapping[str, frozenset[str]]


def judge_files(
    facts: Facts,
    removed: Mapping[str, Instant | None],
    backup: Commits,
    savepointed: SavedFiles = NOTHING_SAVED,
    *,
    readers_see: bool = True,
    bases_only: Collection[str] = (),
    listed: Mapping[str, frozenset[str]] = MappingProxyType({}),
) -> Judged:
    """Judges the files of all partitions that were listed.

    Args:
        removed: the instants to remove; None for one that is already removed.
        backup: the metadata of un-published instants.
        savepointed: the files of the target's savepoint.
        readers_see: whether readers see the instants, so that files that other instants need must stay.
        bases_only: instants of which only base files are deleted.
        listed: see ``written_partitions``; looked up where files are found that the instants' own records do not name.

    Raises:
        Refused: a file is also another instant's, or of another table; timeline and files contradict each other.
        Unsupported, Unreadable, StorageFailed, EngineFailed.
    """
    borrowed = borrowed_logs(facts, removed, backup)
    if readers_see:
        file_guards.own_files_only(facts, removed, borrowed)
    owners = {time: own | listed.get(time, frozenset()) for time, own in partitions_of(facts, removed, backup).items()}
    cleans = pending_cleans(facts.timeline) if readers_see else () if backup else None
    case, outcome = judged(facts, removed.keys(), savepointed, owners, borrowed, bases_only, cleans)
    if outcome.unproved and not listed:
        listed = written_partitions(facts.table, {file.data.instant for file in outcome.unproved} & owners.keys())
        if any(listed[time] - owners[time] for time in listed):
            return judge_files(
                facts, removed, backup, savepointed, readers_see=readers_see, bases_only=bases_only, listed=listed
            )
    file_guards.no_other_table(facts, owners)
    file_guards.nothing_contradicts(outcome)
    return Judged(case, outcome, backup, owners)


def slices_to_mark(facts: Facts, found: Judged, removals: Sequence[Removal]) -> tuple[MarkedSlice, ...]:
    """The slices that get rollback blocks. Raises Refused: the plan would not lead to the outcome that was judged."""
    # Oldest first, so that a reader finds the blocks in the order of the commits.
    targets = ((removal.time, block) for removal in reversed(removals) for block in removal.blocks)
    marked = marked_slices(targets, facts.sweep)
    refuse_wrong_outcome(found.case, found.outcome, removals, marked, facts.sweep)
    return marked


def plan_undo(
    facts: Facts,
    engine: Engine,
    removed: Mapping[str, Instant | None],
    found: Judged,
    removals: tuple[Removal, ...],
    marked: tuple[MarkedSlice, ...],
    metadata_table: MetadataPlan,
) -> Undo:
    """What is undone, and what is left of the table then. Raises Unreadable, StorageFailed, EngineFailed."""
    outcome = found.outcome
    # Of a resumed one, only the plans of its rollbacks name what is deleted already.
    written = {
        time: named.union(file.partition for file in outcome.removed.get(time, ()))
        for time, named in found.owners.items()
    }
    # With its plan readers take both slices of a group: the base file hides nothing, and the plan goes last.
    planned = {time for time, entry in removed.items() if entry and entry.pending and entry.action == COMPACTION}
    return Undo(
        removals=removals,
        marked=marked,
        needed=outcome.needed,
        case=found.case,
        files_kept=kept_rows(outcome.unproved),
        files_lost=outcome.missing,
        cleans_discarded=outcome.cleans,
        partition_metafiles_made=outcome.bare,
        metadata_table=metadata_table,
        hashing=hashing_files(facts.table, engine, removed),
        timeline=frozenset(facts.timeline.modified_ms),
        hiding=tuple(file for file in outcome.hiding if file.data.instant not in planned),
        metadata_table_unread=facts.known.unread,
        catalog=catalog_gap(facts.table, removed, facts.commits, found.backup, outcome.needed, written),
    )


def plan_removals(
    facts: Facts,
    removed: Mapping[str, Instant | None],
    blocks: Mapping[str, tuple[BlockTarget, ...]],
    actions: Mapping[str, str],
    found: Judged,
    bases_only: Collection[str] = (),
    empty: Sequence[StoredFile] = (),
    archived: Mapping[str, ArchivedInstant] = MappingProxyType({}),
) -> tuple[Removal, ...]:
    """A removal for each instant, in the given order.

    Args:
        removed: the instants to remove; None for one that is already removed.
        blocks: the slices that get a rollback block, by instant.
        actions: their actions before un-publishing, if known from a stored plan: Hudi's metadata names these actions.
        bases_only: instants of which only base files are deleted.
        empty: empty logs, which are deleted with the first instant: see ``empty_logs``.
        archived: those that the archive has.
    """
    files, backup = found.outcome.removed, found.backup
    own = {time: list(files.get(time, ())) for time in removed}
    for file in empty:
        if file.data.instant not in own:
            own[next(iter(own))].append(file)

    removals = []
    for time, instant in removed.items():
        known = (backup if instant is None or instant.pending else facts.commits).get(time)
        told = known or CommitMetadata()
        profile = facts.commits.get(time, CommitMetadata())
        there = instant or archived.get(time)
        action = actions.get(time) or (there.action if there else "")
        removal = Removal(
            time=time,
            # A pending log compaction becomes a pending deltacommit: see ``unpublish``.
            action=DELTACOMMIT if action == LOGCOMPACTION else action,
            instant=instant,
            operation=told.operation if told.stats else profile.operation,
            records=None if known and known.silent else told.records,
            files=tuple(own[time]),
            blocks=blocks.get(time, ()),
            rollback=None,
            bases_only=time in bases_only,
            borrowed=frozenset(file for file in files.get(time, ()) if file.data.instant != time),
            archived=archived.get(time),
        )
        removals.append(replace(removal, rollback=_stored_rollback(facts, removal)))
    return tuple(removals)


def _stored_rollback(facts: Facts, removal: Removal) -> str | None:
    """The pending rollback of the instant whose stored plan contains everything to do, if there is one."""
    of = [entry for entry in facts.signs.live_rollbacks if entry.plan and entry.target == removal.time]
    if not of or of[-1].plan is None or not _covers(facts.table, of[-1].plan, removal.files, removal.blocks):
        return None
    return of[-1].instant.time


def empty_logs(facts: Facts, begun: Collection[str], idle_ms: int) -> list[StoredFile]:
    """The empty logs of a table below version 8, where a log's name does not contain its writer's instant.

    A writer that died right after it had created a log leaves one. Readers skip it, but Hudi (0.15.0) cannot build a
    metadata table again while there is one. Logs that a savepoint names are kept, and so are young ones, which may
    still be written.

    Args:
        begun: paths to delete even if they are young: the writer that created them is dead.
        idle_ms: the time without activity after which a writer counts as dead.
    """
    table, signs = facts.table, facts.signs
    if table.rules.logs_named_by_writer or table.is_cow:
        return []
    found = facts.sweep.select("look for empty files", is_empty)
    found = [file for file in found if not file.data.is_base]
    if not found:
        return []
    saved = savepointed_files(table, signs.timeline)
    own = known_partitions(facts) - facts.sweep.linked
    return [
        file
        for file in found
        if file.path not in saved
        and (file.path in begun or (file.partition in own and signs.now_ms - file.modified_ms >= idle_ms))
    ]


def _covers(table: Table, plan: StoredRollbackPlan, files: Iterable[StoredFile], blocks: Iterable[BlockTarget]) -> bool:
    """Whether a stored rollback plan contains everything to do, with paths of this table: in a copied table it has the
    paths of the original."""
    on_hdfs = is_hdfs(table.uri)
    paths = {_comparable(path, on_hdfs) for request in plan.requests for path in request.files}
    slices = {(request.partition, request.file_id, request.base_instant) for request in plan.requests}
    return all(_comparable(table.storage.absolute(file.path), on_hdfs) in paths for file in files) and all(
        block.slice in slices for block in blocks
    )


def _comparable(path: str, on_hdfs: bool) -> str:
    """Writers use s3: and s3a: for the same store, and Hudi's listing shortens both to ``//bucket/...`` (0.15.0 to
    1.2.0). On HDFS they use the name of the name node or of the name service: there the path decides."""
    return without_name_node(path) if on_hdfs else _SCHEME.sub("", path)
