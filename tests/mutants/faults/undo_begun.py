"""What keeps a table right while an undo has begun, and after it was given up."""

from tests.mutants.fault import Fault

BEGUN = "ops/put_back/begun.py"
EXECUTE = "ops/put_back/execute.py"
DROP = "ops/put_back/drop.py"
PLANNING = "ops/put_back/planning.py"
UNFINISHED = "state/timeline/unfinished.py"
CHECK = "reports/health/check.py"
TEST = "ops/put_back/test_begun.py"
EXECUTE_TEST = "ops/put_back/test_execute.py"
NO_WRITER = f"{TEST}::test_no_writer_begins_beside_that_of_a_rollback"
LETS_IN = f"{TEST}::test_a_drop_lets_writers_in"
BLOCKS = f"{TEST}::test_the_blocks_of_a_rollback_come_back_with_a_drop"
ONLY = f"{TEST}::test_only_the_blocks_of_instants_that_readers_do_not_see"
HIDDEN = f"{TEST}::test_what_the_metadata_table_alone_hides_comes_back_behind_it"

FAULTS = (
    Fault(
        EXECUTE,
        "    keep_writers_out(table, room)\n",
        "",
        "a writer comes between the steps of an undo, and it is impossible for good",
        (NO_WRITER,),
    ),
    Fault(
        BEGUN,
        "room.operation != Kind.RESTORE.value",
        "room.operation == Kind.ROLLBACK.value",
        "a writer finds a plan, or a metadata table, that is half back: rows are lost",
        (f"{TEST}::test_nor_beside_that_of_another_operation",),
    ),
    Fault(
        EXECUTE,
        "    settle()\n",
        "",
        "a writer that had looked just before begins between the steps of an undo",
        (f"{TEST}::test_a_writer_that_came_just_before_is_waited_for",),
    ),
    Fault(
        BEGUN,
        "request_for_nobody(keeping(table, room), ",
        "request_for_nobody(table, ",
        "the undo takes its own request for a change of another process, and never ends",
        (NO_WRITER,),
    ),
    Fault(
        EXECUTE,
        "    own = (*(timeline_path(table, time) for time in room.times), *request_of_undo(table, room.times[0]))\n",
        "    own = tuple(timeline_path(table, time) for time in room.times)\n",
        "a writer comes before the properties are back",
        (NO_WRITER,),
    ),
    Fault(
        EXECUTE,
        "    let_writers_in(table, plan.undoes)\n",
        "",
        "after an undo no writer begins",
        (NO_WRITER,),
    ),
    Fault(
        DROP,
        "            let_writers_in(session.table, entry.undo)\n",
        "",
        "after a drop no writer begins",
        (LETS_IN,),
    ),
    Fault(
        BEGUN,
        "if file and file.action == RESTORE and file.time != undo]",
        "if file and file.action == RESTORE]",
        "a drop removes the request of the restore itself: its rows are half there for good",
        (f"{TEST}::test_so_they_do_with_that_of_a_restore_which_is_then_finished",),
    ),
    Fault(
        EXECUTE,
        "        set_aside(table, room, _made_data(contents))\n",
        "        delete_all(table.storage, _made_data(contents))\n",
        "the rows of a removed commit come back with its archiving",
        (BLOCKS,),
    ),
    Fault(
        DROP,
        "            bring_aside_back(session.table, entry.undo)\n",
        "",
        "the rows of a removed commit come back with its archiving, after a drop",
        (BLOCKS,),
    ),
    Fault(
        BEGUN,
        "if instant is None or not instant.completed]",
        "if instant is None or True]",
        "a drop hides rows of a commit that readers see",
        (ONLY,),
    ),
    Fault(
        BEGUN,
        "            with suppress(FileExistsError):\n                table.storage.create(path, b",
        "            if True:\n                table.storage.create(path, b",
        "a drop that died never ends",
        (f"{TEST}::test_a_drop_that_died_is_run_again",),
    ),
    Fault(
        EXECUTE,
        "    forget_aside(table, room)\n",
        "",
        "a drop hides rows of a commit that was archived since",
        (f"{TEST}::test_none_comes_back_once_readers_see_the_instants",),
    ),
    Fault(
        BEGUN,
        "        if outcome.error is not None:\n",
        "        if False:\n",
        "an undo publishes a commit whose rows a block hides",
        (f"{TEST}::test_a_block_that_cannot_be_moved",),
    ),
    Fault(
        EXECUTE,
        "    late = plan.of in _MAY_BE_HIDDEN and not plan.instants\n",
        "    late = False\n",
        "readers see rows of a first write that died, while the metadata table is out of use",
        (HIDDEN,),
    ),
    Fault(
        EXECUTE,
        "        note_shown(table, room)\n",
        "",
        "an undo that goes on takes the metadata table out of use, and readers see rows of a first write that died",
        (f"{TEST}::test_the_metadata_table_stays_in_use_from_then_on",),
    ),
    Fault(
        UNFINISHED,
        "        writers_can_start=not signs.restores,\n",
        "        writers_can_start=False,\n",
        "it is said that no writer can start, and one does",
        (f"{TEST}::test_an_undo_that_keeps_no_writer_out_says_so",),
    ),
    Fault(
        CHECK,
        "entry if entry.finding == UNDO_BEGUN else _without_commands(entry, first) for entry in asked]",
        "entry for entry in asked]",
        "the operator is told to delete the files that an undo brings back",
        (f"{TEST}::test_check_names_no_command_but_the_undo",),
    ),
    Fault(
        "ops/restore/planning.py",
        "(pending.begun or own)",
        "own",
        "an undo is promised of files that Hudi has deleted before",
        (f"{TEST}::test_what_hudi_has_half_done_is_not_kept",),
    ),
    Fault(
        "ops/rollback/planning.py",
        "if entry.time in begun or entry.state is State.INFLIGHT]",
        "if entry.time in begun]",
        "an undo is promised of files that a rollback of Hudi has deleted before",
        (f"{TEST}::test_what_hudi_has_half_done_is_not_kept",),
    ),
    Fault(
        PLANNING,
        "        instants = tuple(entry for entry in instants if entry.time not in touched)\n",
        "",
        "an undo begins, and takes the heartbeat that it has put back for that of a living writer",
        (f"{EXECUTE_TEST}::test_a_heartbeat_that_comes_back_is_of_before",),
    ),
    Fault(
        PLANNING,
        "        instants = tuple(entry for entry in instants if entry.time not in touched)\n",
        "        instants = ()\n",
        "an undo that has begun goes on beside a writer that is alive",
        (f"{EXECUTE_TEST}::test_once_begun_an_undo_still_stops_for_another_writer",),
    ),
)
