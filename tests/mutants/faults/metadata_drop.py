"""A drop of the metadata table: its guards, its second look, and its order."""

from tests.mutants.fault import Fault

OPS = "ops/metadata/drop.py"
GUARDS = "ops/guards/metadata.py"
OF_GUARDS = ("ops/metadata/test_drop_guards.py",)
OF_DROP = ("ops/metadata/test_drop.py",)

FAULTS = (
    Fault(
        "ops/metadata/drop.py",
        "        metadata_guards.nothing_lost_unseen(lost)\n",
        "        pass\n",
        "a metadata table is dropped that alone shows that files are lost",
        ("ops/metadata/test_drop_guards.py",),
    ),
    Fault(
        "state/metadata/gap.py",
        "return sorted({*needed.missing, *(data_path(group[0], data.name) for group, data in newest.items())})",
        "return sorted(needed.missing)",
        "lost files of archived commits are not missed",
        ("ops/metadata/test_drop_guards.py",),
    ),
    Fault(
        "state/metadata/gap.py",
        "            del newest[file.group]\n",
        "            pass\n",
        "a lost file that no reader opens keeps a damaged metadata table in place",
        ("ops/metadata/test_drop_guards.py",),
    ),
    Fault(
        OPS,
        "    now = plan_metadata_drop(session, plan.options)\n",
        "    now = plan\n",
        "the metadata table goes beside a writer, or files that it hides, which came since planning",
        OF_GUARDS,
    ),
    Fault(
        OPS,
        "    refuse_moved(plan.fingerprint, now.fingerprint)\n",
        "",
        "partitions go that nobody has agreed to",
        OF_DROP,
    ),
    Fault(
        OPS,
        '            "files lost": files_digest((), lost),\n',
        "",
        "a saved drop accepts losses that nobody has seen",
        ("cli/test_saved_losses.py",),
    ),
    Fault(
        OPS,
        '            "damaged definitions": damaged or "",\n',
        "",
        "definitions of indexes go that the plan has not called damaged",
        ("cli/test_saved_losses.py",),
    ),
    Fault(
        OPS,
        "    metadata_guards.no_indexing_is_last(signs.timeline)\n",
        "",
        "Hudi builds empty indexes beside an indexing, and queries miss rows",
        OF_GUARDS,
    ),
    Fault(
        OPS,
        "    metadata_guards.no_empty_file(facts)\n",
        "",
        "Hudi cannot build the metadata table again beside an empty file, and each write fails",
        OF_GUARDS,
    ),
    Fault(
        OPS,
        "        metadata_guards.index_can_be_built(table, signs.timeline)\n",
        "        pass\n",
        "Hudi 0.15.0 does not list the write that would build the index again, and queries miss its rows",
        OF_GUARDS,
    ),
    Fault(
        OPS,
        "    metadata_guards.record_index_can_be_built(table, signs.timeline, dropped)\n",
        "",
        "Hudi 0.15.0 cannot build the record index again, and each write fails",
        OF_GUARDS,
    ),
    Fault(
        OPS,
        "signs.timeline.instants, options.idle_ms, facts.sweep, ())\n",
        "signs.timeline.instants, options.idle_ms, None, ())\n",
        "a writer that shows only by the files it writes loses its metadata table",
        OF_GUARDS,
    ),
    Fault(
        OPS,
        "    bare, lost = _checked_without_it(session, facts, options) if facts is not None and whole else ((), ())\n",
        "    bare, lost = (needed_files(facts, (), {}).bare if facts is not None and whole else ()), ()\n",
        "files that the metadata table hides become rows, and partitions inside others are lost",
        OF_GUARDS,
    ),
    Fault(
        OPS,
        "            create_metafile(table, partition, time)\n",
        "            pass\n",
        "a partition that the metadata table alone knows is lost",
        OF_DROP,
    ),
    Fault(
        OPS,
        '    timeline_guards.nothing_to_resume(signs, "it may need the metadata table")\n',
        "",
        "the metadata table goes beside a pending restore",
        OF_GUARDS,
    ),
    Fault(
        OPS,
        "            metadata_guards.nothing_pending(timeline)\n",
        "            pass\n",
        "an index goes whose files a pending compaction names: each later write fails",
        OF_GUARDS,
    ),
    Fault(
        OPS,
        "        metadata_guards.nothing_running(timeline, signs.now_ms, options.idle_ms)\n",
        "",
        "the metadata table goes under its own table service",
        OF_GUARDS,
    ),
    Fault(
        OPS,
        "        metadata_guards.not_being_built(max(changed, default=0), signs.now_ms, options.idle_ms)\n",
        "        pass\n",
        "the metadata table that a writer is building is taken away from it",
        OF_DROP,
    ),
    Fault(
        OPS,
        '    session.monitor.step("delete files")\n    run.held.check()\n',
        '    session.monitor.step("delete files")\n',
        "files are deleted by a process that has lost the table",
        OF_DROP,
    ),
    Fault(
        OPS,
        "    forget_ended(table, run.found.unfinished)\n",
        "",
        "what a drop that died has put aside stays for ever",
        OF_DROP,
    ),
    Fault(
        OPS,
        "    if not delete_dropped(table, time):\n        raise _come_back(METADATA_TABLE)\n",
        "    delete_dropped(table, time)\n",
        "a metadata table of two halves, the old and a writer's, is said to be dropped",
        OF_DROP,
    ),
    Fault(
        OPS,
        "    named = with_dependents(there.intersection(options.partitions), there)\n",
        '    named = dict.fromkeys(there.intersection(options.partitions), "")\n',
        "a secondary index stays without the record index that it needs",
        OF_DROP,
    ),
    Fault(
        GUARDS,
        "        if name == FILES:\n",
        "        if False:\n",
        "the listing is dropped, and its indexes stay",
        OF_DROP,
    ),
    Fault(
        "table/metadata/aside.py",
        "    if look(table, aside).other is not Other.NONE:\n        return False\n    delete_all",
        "    delete_all",
        "files of a metadata table that a writer has built since are deleted",
        OF_DROP,
    ),
)
