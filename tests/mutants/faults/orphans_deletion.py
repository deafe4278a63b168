"""Orphans: the guards of their deletion, its order, and what its plan rests on."""

from tests.mutants.fault import Fault

OPS = "ops/orphans.py"

FAULTS = (
    Fault(
        OPS,
        "    writable_table(table, session.locking)\n",
        "",
        "orphans are deleted of a table that hudictl must not change",
        ("ops/test_orphans_guards.py::test_none_is_planned",),
    ),
    Fault(
        OPS,
        ("    signs = read_signs(table)\n    _check_signs(session, signs)\n\n"),
        ("    signs = read_signs(table)\n\n"),
        "a deletion of orphans is planned beside a writer that holds its lock",
        ("ops/test_orphans_guards.py::test_none_is_planned",),
    ),
    Fault(
        OPS,
        (
            "        metadata_guards.no_indexing_is_last(signs.timeline)\n"
            "        liveness.no_running_write(table, signs, signs.timeline.instants, options"
        ),
        "        liveness.no_running_write(table, signs, signs.timeline.instants, options",
        "the metadata table goes while an indexing is the timeline's last",
        ("ops/guards/test_metadata.py::test_orphans_wait_where_an_indexing_is_the_newest_instant",),
    ),
    Fault(
        OPS,
        (
            "        liveness.no_running_write(table, signs, signs.timeline.instants, options.idle_ms, "
            "facts.sweep.files, ())\n"
        ),
        "        liveness.no_running_write(table, signs, signs.timeline.instants, options.idle_ms, (), ())\n",
        "a writer that shows only by the files it writes loses its metadata table",
        ("ops/test_orphans_guards.py::test_a_pending_write_that_shows_by_its_files_alone_keeps_the_metadata_table",),
    ),
    Fault(
        OPS,
        (
            "            \"metadata table\": f\"in use, with {', '.join(listed) or 'no index'}\" if drops "
            'else "not in use",\n'
        ),
        "",
        "a saved plan drops a metadata table that came since",
        ("ops/test_orphans_guards.py::test_a_saved_plan_is_of_these_files_and_this_metadata_table",),
    ),
    Fault(
        OPS,
        "f\"in use, with {', '.join(listed) or 'no index'}\" if drops",
        '"in use" if drops',
        "a saved plan drops an index that came since",
        ("ops/test_orphans_guards.py::test_a_saved_plan_is_of_these_files_and_this_metadata_table",),
    ),
    Fault(
        OPS,
        (
            '            "files to delete": files_digest((orphan.file.path, orphan.file.size or 0) for '
            "orphan in orphans),\n"
        ),
        "",
        "a saved plan deletes files that nobody has agreed to",
        ("ops/test_orphans_guards.py::test_a_saved_plan_is_of_these_files_and_this_metadata_table",),
    ),
    Fault(
        OPS,
        "files_digest((orphan.file.path, orphan.file.size or 0) for",
        "files_digest((orphan.file.path, 0) for",
        "a saved plan deletes a file that has grown since",
        ("ops/test_orphans_guards.py::test_a_saved_plan_is_of_these_files_and_this_metadata_table",),
    ),
    Fault(
        OPS,
        "**table_fingerprint(table, asdict(options)),",
        "**table_fingerprint(table, {}),",
        "a saved plan is applied with other options",
        ("ops/test_orphans_guards.py::test_a_saved_plan_is_of_what_was_asked_for",),
    ),
    Fault(
        OPS,
        "        indexes_lost=table.indexes if drops else (),\n",
        "        indexes_lost=table.indexes,\n",
        "indexes are said to go that stay",
        ("ops/test_orphans_guards.py::test_without_orphans_nothing_is_changed_and_nothing_said_to_go",),
    ),
    Fault(
        OPS,
        "        metadata_table_unread=facts.known.unread if drops else None,\n",
        "",
        "nobody is told that the metadata table could not be compared",
        ("ops/test_orphans_guards.py::test_a_metadata_table_that_cannot_be_read_is_told",),
    ),
    Fault(
        OPS,
        "        partition_metafiles_made=bare,\n",
        "        partition_metafiles_made=(),\n",
        "partitions that only the metadata table knows vanish with it",
        ("ops/test_orphans_guards.py::test_what_the_metadata_table_does_not_list_goes_from_a_folder_without_metafile",),
    ),
    Fault(
        OPS,
        "    metadata_guards.nothing_lost_or_gained(gap.without(paths))\n",
        "",
        "the metadata table goes though readers see other rows without it",
        ("ops/guards/test_metadata.py::test_orphans_that_readers_find_through_it_alone_stay",),
    ),
    Fault(
        OPS,
        "    known_timeline(signs.timeline)\n",
        "",
        "orphans are deleted beside an action that hudictl does not know",
        ("ops/test_orphans_guards.py::test_none_is_planned",),
    ),
    Fault(
        OPS,
        "    liveness.no_lock_in_use(session.table, signs, session.locking)\n",
        "",
        "orphans are deleted beside a writer that holds its lock",
        ("ops/test_orphans_guards.py::test_none_is_planned",),
    ),
)
