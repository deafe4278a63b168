"""What is kept for an undo, and the undo: its guards, and the order of both."""

from tests.mutants.fault import Fault

KEEPING = "storage/keeping.py"
KEPT = "table/kept.py"
AS_LEFT = "state/as_left.py"
PLANNING = "ops/put_back/planning.py"
DROP = "ops/put_back/drop.py"
EXECUTE = "ops/put_back/execute.py"
TEST = "ops/put_back/test_undo.py"
CHANGED = f"{TEST}::test_a_change_since_then_refuses_it"
BETWEEN = f"{TEST}::test_what_comes_between_two_steps_stops_it"
DROP_TEST = "ops/put_back/test_drop.py"
GONE = f"{DROP_TEST}::test_what_is_gone_is_not_undone"
BROKEN = f"{DROP_TEST}::test_an_undo_that_has_begun_without_a_whole_record_has_a_way_out"
EXECUTE_TEST = "ops/put_back/test_execute.py"
LOST_AGAIN = f"{EXECUTE_TEST}::test_a_file_that_is_lost_after_it_was_back_is_named"
DROPPED = "ops/put_back/test_metadata_drop.py"
SINCE_A_DROP = f"{DROPPED}::test_a_change_since_then_refuses_it"
STRANGERS = "state/test_as_left.py::test_what_a_stranger_has_put_into_the_room"
ALONE = f"{TEST}::test_while_an_undo_has_begun_nothing_else_begins"

FAULTS = (
    Fault(
        KEEPING,
        """        noted = self._is_kept(path) and self.base.stat(path) is None and self._note(path)
        try:
            self.base.create(path, body)
        except FileExistsError:
            if noted:
                # Another process has made it meanwhile.
                self.base.delete([made_path(self.room, path)])
            raise
""",
        """        new = self._is_kept(path) and self.base.stat(path) is None
        self.base.create(path, body)
        if new:
            self._note(path)
""",
        "after a death a file that was made is not known, and an undo leaves it in the table",
    ),
    Fault(
        KEEPING,
        """            if noted:
                # Another process has made it meanwhile.
                self.base.delete([made_path(self.room, path)])
            raise
""",
        "            raise\n",
        "an undo deletes the file of another process",
    ),
    Fault(
        KEEPING,
        "self._is_kept(path) and self.base.stat(path) is None and self._note(path)\n",
        "self._is_kept(path) and self._note(path)\n",
        "a file that was there before is noted, and an undo deletes it",
    ),
    Fault(
        KEEPING,
        "                    self.base.copy_file(each, kept_path(self.room, each))\n",
        "                    self.base.replace(path, body)\n"
        "                    self.base.copy_file(each, kept_path(self.room, each))\n",
        "what is kept of a file is what it was replaced by",
    ),
    Fault(
        KEEPING,
        "        if self._is_kept(path) and not self.base.behind_link(path):\n",
        "        if self._is_kept(path):\n",
        "files behind a link, which are another table's, are moved away",
    ),
    Fault(
        KEEPING,
        "        if self.versions is None and self.base.stat(kept_path(self.room, path)) is not None:\n"
        "            return False\n",
        "",
        "a file that was deleted and made again counts as new, and does not come back",
    ),
    Fault(
        KEEPING,
        " if path not in made and kept_path(",
        " if kept_path(",
        "a file of the operation comes back as one of the table",
    ),
    Fault(
        KEEPING,
        "if versions else (_KEPT, _MADE):\n",
        "if versions else (_MADE, _KEPT):\n",
        "after a death files of the operation pass for files of the table",
    ),
    Fault(
        KEPT,
        """    delete_all(table.storage, [f"{folder}{_BEGUN}"])
    delete_all(table.storage, [f"{folder}{_RECORD}"])
""",
        """    delete_all(table.storage, [f"{folder}{_RECORD}"])
    delete_all(table.storage, [f"{folder}{_BEGUN}"])
""",
        "after a death an undo has begun of which no record is left, and the table is never written again",
        (f"{TEST}::test_a_drop_that_died_is_finished",),
    ),
    Fault(
        AS_LEFT,
        '    _same(table, room, _without_own_savepoint(timeline, room, contents), before, now, "the timeline")\n',
        "",
        "an undo takes back what a later write was built upon",
        (CHANGED, BETWEEN),
    ),
    Fault(
        AS_LEFT,
        '        _same(table, room, contents, before, metadata_files(table), "the metadata table")\n',
        "",
        "an undo puts half of a metadata table back",
        (CHANGED, f"{TEST}::test_a_drop_of_the_metadata_table_since_then"),
    ),
    Fault(
        AS_LEFT,
        '            _refuse_changed(room, changed, "has changed", PROPERTIES)\n',
        "            pass\n",
        "an undo takes back a change of hoodie.properties, as an upgrade makes it",
        (CHANGED,),
    ),
    Fault(
        AS_LEFT,
        "    if restore is None or not restore.completed:\n        return contents\n",
        "    if True:\n        return contents\n",
        "below version 8 an undo deletes a savepoint that was made since, on the target",
        (CHANGED,),
    ),
    Fault(
        AS_LEFT,
        "if before[path] != now[path])",
        "if False)",
        "an instant's file with other content counts as the one that the operation has left",
        (f"{TEST}::test_a_kept_instant_that_was_written_again",),
    ),
    Fault(
        PLANNING,
        "    writable_table(table, session.locking, time)\n",
        "",
        "one undo begins before another has ended",
        (f"{TEST}::test_one_undo_at_a_time",),
    ),
    Fault(
        PLANNING,
        "    nothing_in_the_way(session, room, data)\n",
        "",
        "an undo replaces a file that was written since",
        (CHANGED,),
    ),
    Fault(
        AS_LEFT,
        "        if there < of:\n",
        "        if False:\n",
        "instants come back without all of their files",
        (CHANGED,),
    ),
    Fault(
        AS_LEFT,
        "    if room.end == DROPPED:\n",
        "    if False:\n",
        "an undo says that all is back, although it was dropped",
        (GONE,),
    ),
    Fault(
        AS_LEFT,
        '        changed += sum(int(report.get(key, 0)) for key in ("files_set_aside", "files_written"))\n',
        "",
        "an undo without what a repair has kept ends well, and the loss of an archive is forgotten",
        (GONE, "ops/repair/test_archive_loss.py::test_an_undo_without_what_was_kept_does_not_forget_the_loss"),
    ),
    Fault(
        KEPT,
        "        end_room(table, room, end)\n",
        "",
        "a drop that died leaves a record by which an undo says that all is back",
        (GONE,),
    ),
    Fault(
        EXECUTE,
        "    drop_room(table, plan.undoes, UNDONE)\n",
        "    drop_room(table, plan.undoes)\n",
        "an undo that died at its very end counts as dropped",
        (f"{DROP_TEST}::test_an_undo_that_died_at_its_very_end_is_one",),
    ),
    Fault(
        PLANNING,
        "    liveness.no_running_write(table, signs, instants, idle_ms, None, touched)\n",
        "",
        "an undo takes the table from a running writer",
        (f"{TEST}::test_a_writer_that_has_been_there_all_the_time",),
    ),
    Fault(
        EXECUTE,
        "    nothing_in_the_way(session, room, data_of(contents.kept))\n",
        "",
        "an undo replaces a file that has come since its plan",
        (f"{TEST}::test_what_comes_after_the_plan_stops_it",),
    ),
    Fault(
        EXECUTE,
        "        run.held.check()\n        check(session, signs_of_damaged(table), room, contents, idle_ms)\n",
        "        run.held.check()\n",
        "an undo goes on over a write that has begun",
        (BETWEEN,),
    ),
    Fault(
        EXECUTE,
        "    begin_undo(table, room, data)\n",
        "",
        "another command works on a table of which a half is put back",
        (ALONE,),
    ),
    Fault(
        EXECUTE,
        "    _make_pending(session, room)\n    if",
        "    if",
        "a writer begins while files are put back",
        (f"{TEST}::test_the_order_of_an_undo",),
    ),
    Fault(
        EXECUTE,
        "    for path in timeline_again(table, contents):\n",
        "    for path in timeline_again(table, contents)[::-1]:\n",
        "after a death readers see a completed instant of which the plan is not there",
        (f"{TEST}::test_the_order_of_an_undo",),
    ),
    Fault(
        EXECUTE,
        "    hidden = [path for path in contents.kept if not _is_shown(session, path)]\n",
        "    hidden = [*contents.kept]\n",
        "readers see instants before their files are back",
        (f"{TEST}::test_the_order_of_an_undo",),
    ),
    Fault(
        EXECUTE,
        "    _verify(session, room, contents, data)\n    let",
        "    let",
        "an undo that did not bring all back says that it has, and drops the rest",
        (f"{TEST}::test_what_did_not_come_back_is_said",),
    ),
    Fault(
        KEPT,
        '        if path.startswith(f"{OWN}/"):\n',
        "        if False:\n",
        "whoever can write into the table puts a claim into a room, and an undo puts it in hudictl's place",
        (f"{TEST}::test_a_room_with_hudictls_own_files",),
    ),
    Fault(
        KEPT,
        "    if late:\n",
        "    if False:\n",
        "a restore that has deleted files already says that it keeps them",
        (f"{TEST}::test_what_began_without_it_is_not_kept_later",),
    ),
    Fault(
        DROP,
        "        if by_age if time == begun else is_pending:\n",
        "        if is_pending:\n",
        "an undo that cannot end has no way out",
        (f"{TEST}::test_an_undo_that_cannot_end_is_dropped_and_the_restore_finished",),
    ),
    Fault(
        DROP,
        "        if by_age if time == begun else is_pending:\n",
        "        if by_age and time == begun:\n",
        "what a restore still needs is dropped by cron",
        (f"{TEST}::test_a_pending_one_is_undone_not_withdrawn_and_not_dropped",),
    ),
    Fault(
        DROP,
        "        if by_age if time == begun else is_pending:\n",
        "        if time != begun and is_pending:\n",
        "what an undo still needs that died is dropped by cron",
        (f"{DROP_TEST}::test_an_age_does_not_drop_what_an_undo_that_died_needs",),
    ),
    Fault(
        DROP,
        "[entry.undo for entry in plan.dropped], plan.older_than_ms)",
        "[entry.undo for entry in plan.dropped], None)",
        "what an undo needs that has begun since is dropped by cron",
        (f"{DROP_TEST}::test_an_undo_that_begins_after_the_plan_keeps_its_files",),
    ),
    Fault(
        DROP,
        "    if time != begun and time not in room_times(table):\n",
        "    if time not in room_times(table):\n",
        "an undo that has begun, and of which nothing else is left, blocks the table for good",
        (f"{DROP_TEST}::test_a_file_that_says_that_an_undo_has_begun_blocks_nothing_for_good",),
    ),
    Fault(
        KEPT,
        "sorted(names.items()) if _NAME.match(name) and (",
        "sorted(names.items()) if (",
        "a folder that is no operation's is deleted with what is in it",
        (f"{DROP_TEST}::test_only_folders_of_operations_are_dropped",),
    ),
    Fault(
        DROP,
        "        elif (room := _readable(table, time)) is None:\n",
        "        elif (room := read_room(table, time)) is None:\n",
        "one damaged record ends a drop by age before it has dropped anything",
        (f"{DROP_TEST}::test_a_record_that_cannot_be_read_does_not_keep_the_others",),
    ),
    Fault(
        KEPT,
        "    with suppress(Unreadable):\n        room = read_room(table, time)\n    if room",
        "    room = read_room(table, time)\n    if room",
        "an undo that has begun, and of which the record is damaged, blocks the table for good",
        (BROKEN,),
    ),
    Fault(
        KEPT,
        "        expires_at(room)\n    except",
        "    except",
        "one damaged record hides what else is kept, and a drop by age ends for good",
        (f"{DROP_TEST}::test_a_record_with_values_that_are_no_dates_is_damaged",),
    ),
    Fault(
        EXECUTE,
        "    data = to_come_back(table, room) or data\n",
        "",
        "a file that was lost after an earlier attempt had put it back is missing, and the undo says that all is back",
        (LOST_AGAIN,),
    ),
    Fault(
        EXECUTE,
        "    _refuse_wrong(room, _not_back(session, data))\n",
        "",
        "readers see an instant of which a file was lost while it was put back",
        (LOST_AGAIN,),
    ),
    Fault(
        EXECUTE,
        " if size == ODD}",
        " if False}",
        "an undo never ends well if a data file is a link",
        (f"{EXECUTE_TEST}::test_a_data_file_that_is_a_link_comes_back_as_one",),
    ),
    Fault(
        KEPT,
        "    table.storage.delete_folder(folder)\n    for",
        "    for",
        "an undo waits for files that are no part of it any more",
        (f"{EXECUTE_TEST}::test_what_an_undo_recorded_that_did_not_begin_counts_no_more",),
    ),
    Fault(
        KEPT,
        "    if begun_undo(table) is not None:\n        return\n",
        "",
        "an undo that goes on forgets what was back already",
        (LOST_AGAIN,),
    ),
    Fault(
        AS_LEFT,
        "    return room.operation == DROP_OPERATION or any(",
        "    return any(",
        "the properties list a metadata table of which no file has come back: each write fails",
        (SINCE_A_DROP,),
    ),
    Fault(
        AS_LEFT,
        "each.modified_ms * keeps_times)",
        "0 * keeps_times)",
        "an undo begins that cannot end: a value was changed since for one of the same length",
        ("state/test_as_left.py::test_a_change_to_the_same_length",),
    ),
    Fault(
        AS_LEFT,
        "seen.path in (PROPERTIES, PROPERTIES_BACKUP)]",
        "seen.path == PROPERTIES_BACKUP]",
        "no undo begins",
        ("state/test_as_left.py",),
    ),
    Fault(
        AS_LEFT,
        "        _is_newest(table, room)\n",
        "        pass\n",
        "an older operation is undone first, and the newer one can never be undone",
        ("state/test_as_left.py",),
    ),
    Fault(
        AS_LEFT,
        "(found.begun_at, time) > (room.begun_at, room.times[0])",
        "time > room.times[0]",
        "of two operations the one that began first is to be undone first, and neither can be",
        ("state/test_as_left.py",),
    ),
    Fault(
        AS_LEFT,
        "            if found is not None and later and not found.end:\n",
        "            if found is not None and later:\n",
        "what is half dropped keeps older operations from being undone",
        ("state/test_as_left.py",),
    ),
    Fault(
        AS_LEFT,
        "    if room.written is None and room.operation in REPAIRS:\n",
        "    if False:\n",
        "an undo of a repair overwrites a file of which it knows nothing",
        ("state/test_as_left.py",),
    ),
    Fault(
        AS_LEFT,
        "        changed += len(room.written or ()) if operation is None else 0\n",
        "",
        "an undo without the files and without the record makes the loss of an archive forgotten",
        ("ops/repair/test_archive_loss.py::test_an_undo_without_what_was_kept_does_not_forget_the_loss",),
    ),
    Fault(
        KEEPING,
        "                    self.base.copy_file(alone, kept_path(self.room, alone))\n",
        "                    pass\n",
        "the sidecar of a file that was not there is lost",
    ),
    Fault(
        EXECUTE,
        "        table.storage.copy_file(kept_path(room.folder, path), path)\n",
        "        pass\n",
        "the sidecar of a file that was not there does not come back",
        ("ops/repair/test_properties.py::test_the_sidecar_of_a_missing_file_comes_back",),
    ),
    Fault(
        AS_LEFT,
        "    _same(table, room, contents, before, properties_files(table),",
        "    (table, room, contents, before, properties_files(table),",
        "an undo begins that cannot end: the properties were changed since",
        (f"{DROPPED}::test_properties_that_were_changed_since_a_deletion",),
    ),
    Fault(
        PLANNING,
        "    paths = (path for path in (*contents.kept, *contents.made) if not of_metadata_table(path))\n",
        "    paths = (*contents.kept, *contents.made)\n",
        "an undo takes the metadata table from a running writer",
        (f"{DROPPED}::test_a_writer_that_has_been_there_all_the_time",),
    ),
    Fault(
        EXECUTE,
        'if not path.startswith(f"{META}/") and not _is_metafile(path))',
        'if not path.startswith(f"{META}/"))',
        "readers miss the rows of a partition until the metadata table is back, which alone knows it",
        (f"{DROPPED}::test_the_metafile_goes_when_the_metadata_table_is_in_use",),
    ),
    Fault(
        EXECUTE,
        "    if parts and (listed := listed_partitions(table)) and not parts.isdisjoint({META, *listed}):\n",
        "    if parts and listed_partitions(table):\n",
        "while an index comes back, readers do without the metadata table, and see other rows",
        (f"{DROPPED}::test_an_index_comes_back_while_the_rest_stays_in_use",),
    ),
    Fault(
        "ops/metadata/drop.py",
        "    recover_properties(table.storage)\n    session.monitor.step(",
        "    recover_properties(table.storage.base)\n    session.monitor.step(",
        "what an interrupted update of the properties has left does not come back",
        (f"{DROPPED}::test_an_interrupted_update_of_the_properties_is_as_before",),
    ),
    Fault(
        KEEPING,
        "        if self._is_kept(whole) and self.base.stat(made_path(self.room, whole)) is None:\n",
        "        if False:\n",
        "after an undo the heartbeat of a dead writer is as new",
        ("storage/test_keeping.py::test_a_file_that_is_touched_gets_its_time_back",),
    ),
    Fault(
        "ops/put_back/execute.py",
        "        _make_metafiles(session, kept, room)\n",
        "",
        "while a rollback is undone, readers miss a partition that the metadata table alone lists",
        ("ops/put_back/test_metadata_drop.py",),
    ),
    Fault(
        AS_LEFT,
        "        if status.size == ODD and (",
        "        if False and (",
        "a link to a folder comes into the table, and counts as a data file",
        (STRANGERS,),
    ),
    Fault(
        AS_LEFT,
        "        elif instant and path not in there:\n",
        "        elif False:\n",
        "a commit that nobody has written is published",
        (STRANGERS,),
    ),
    Fault(
        AS_LEFT,
        "        elif path != path.encode(errors",
        "        elif False and path != path.encode(errors",
        "an undo begins, and can never end",
        (STRANGERS,),
    ),
    Fault(
        PLANNING,
        "return done if found is not None and found.last.exit_code == 0 else None",
        "return done",
        "an undo that has failed, and whose files were dropped then, is said to have ended",
        (f"{DROP_TEST}::test_only_what_has_ended_counts_as_undone",),
    ),
)
