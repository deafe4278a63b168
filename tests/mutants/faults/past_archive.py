"""A restore past the archive: which archived writes go, and that they leave the archive."""

from tests.mutants.fault import Fault

TEST = ("ops/restore/test_past_archive.py",)
WRITER = ("table/timeline/test_archive_writer.py",)
FORMAT = ("formats/test_archived_timeline.py",)

FAULTS = (
    Fault(
        "ops/restore/execute.py",
        "    guards.archived_as_planned(table, plan.target, removed)\n",
        "",
        "a write that came into the archive meanwhile stays, and its files",
        TEST,
    ),
    Fault(
        "ops/restore/execute.py",
        "            take_out_of_archive(run.table, run.undo.removed)\n",
        "            pass\n",
        "archived writes that a restore has removed come back",
        TEST,
    ),
    Fault(
        "ops/restore/withdraw.py",
        "    lost += _archived_lost(facts, restore, instants)\n",
        "",
        "a restore is withdrawn that has deleted files of archived writes",
        TEST,
    ),
    Fault(
        "ops/guards/files.py",
        "any(entry is None or (entry.action == COMMIT and entry.completed) for entry",
        "any(entry is not None and entry.action == COMMIT and entry.completed for entry",
        "without an archived compaction, rows of kept archived writes are not read",
        TEST,
    ),
    Fault(
        "ops/guards/timeline.py",
        "if rule == COMPLETION else []",
        "if False else []",
        "a write that readers of the target saw is not read any more",
        TEST,
    ),
    Fault(
        "ops/restore/planning.py",
        "    for _ in archive_without(table, first.archived):\n        pass\n",
        "",
        "a restore cannot end, as its archive cannot be written",
        TEST,
    ),
    Fault(
        "ops/restore/planning.py",
        '        delete = delete or f"',
        '        delete = None and f"',
        "the metadata table is kept, which cannot go back past its own archive",
        TEST,
    ),
    Fault(
        "ops/restore/scope.py",
        "    seen = known | scope.savepointed.instants\n",
        "    seen = known\n",
        "a commit that the savepoint names goes with its files",
        ("ops/restore/test_overlaps.py",),
    ),
    Fault(
        "ops/restore/scope.py",
        "    if not times:\n        return scope\n",
        "    return scope\n",
        "files of writes whose archive is lost stay",
        TEST,
    ),
    Fault(
        "ops/restore/scope.py",
        "for time in lost - seen if",
        "for time in seen - seen if",
        "files of a lost write on which none is based stay, and are read once the timeline begins after it",
        TEST,
    ),
    Fault(
        "ops/restore/scope.py",
        "    return found if cut else found & known\n",
        "    return found if cut else found - known\n",
        "a delta commit that only the metadata table knows stays",
        TEST,
    ),
    Fault(
        "ops/restore/scope.py",
        "cut=bool(scope.archived or based)",
        "cut=bool(scope.archived)",
        "where the whole archive is lost, files of a write on which none is based stay",
        TEST,
    ),
    Fault(
        "ops/restore/scope.py",
        "        return frozenset(entry.time for entry in begun.instants) - scope.pending.instants\n",
        "        return frozenset()\n",
        "a resumed restore leaves the files of the lost writes of its plan",
        TEST,
    ),
    Fault(
        "state/orphans/lost_end.py",
        "    return without_record(facts, {time for time in times if since < time < facts.timeline.last_write})\n",
        "    return frozenset(time for time in times if since < time < facts.timeline.last_write)\n",
        "what a rollback explains counts as lost, and goes with a restore",
        TEST,
    ),
    Fault(
        "ops/guards/files.py",
        "    if lost := sorted(data_path(*group) for group in replaced - begun - there):\n",
        "    if lost := ():\n",
        "a restore without savepoint loses the rows of groups that were replaced and cleaned",
        TEST,
    ),
    Fault(
        "formats/archived_timeline.py",
        "    return entry.time in times and entry.action in WRITE_ACTIONS\n",
        "    return entry.time in times\n",
        "what else the archive has with a write's time is lost",
        FORMAT,
    ),
    Fault(
        "formats/archived_timeline.py",
        "if any(_goes(entry, times) for entry in torn) else body[end:])",
        "if True else body[end:])",
        "the incomplete end of a log is lost",
        FORMAT,
    ),
    Fault(
        "formats/guarded_parquet.py",
        "    if schema.names != [*columns, number]:\n",
        "    if False:\n",
        "what a later release has written into the archive is lost",
        FORMAT,
    ),
    Fault(
        "formats/guarded_parquet.py",
        "        writer.add_key_value_metadata(file.metadata.metadata or {})\n",
        "",
        "Hudi does not find its schema in a file of the archive",
        FORMAT,
    ),
    Fault(
        "table/timeline/archive_writer.py",
        "        if body:\n            table",
        "        if True:\n            table",
        "an archive log without a block is left, which counts as that of an archiver that died",
        WRITER,
    ),
    Fault(
        "ops/undo/blocks.py",
        "        there = entry or archived.get(time)\n",
        "        there = entry\n",
        "version 6: rows of archived delta commits stay in the logs",
        ("ops/undo/test_archived_blocks.py",),
    ),
)
