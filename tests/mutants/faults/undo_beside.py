"""Kept files, and their undo, beside a writer that executes pending rollbacks."""

from tests.mutants.fault import Fault

AS_LEFT = "state/as_left.py"
BEGUN = "ops/put_back/begun.py"
EXECUTE = "ops/put_back/execute.py"
PLANNING = "ops/put_back/planning.py"
RESTORE = "ops/restore/execute.py"
SESSION = "ops/session.py"
TEST = "ops/put_back/test_beside.py"
STOPS = f"{TEST}::test_a_restore_stops_and_promises_no_undo"
AT_ITS_END = f"{TEST}::test_and_a_writer_that_died_in_the_middle_is_seen_at_its_end"
AFTER_A_DEATH = f"{TEST}::test_after_a_death_of_the_restore"
UNARMED = f"{TEST}::test_nothing_is_armed_while_an_undo_brings_files_back"
GIVEN_UP = f"{TEST}::test_given_up_no_rollback_of_a_commit_that_is_back_is_pending"

FAULTS = (
    Fault(
        EXECUTE,
        "        _disarm(session, room, contents)\n",
        "",
        "a writer deletes for good what an undo has just brought back",
        (UNARMED,),
    ),
    Fault(
        EXECUTE,
        "        if entry.pending and entry.time in again:\n",
        "        if False:\n",
        "a writer rolls back a commit whose files an undo has just brought back",
        (UNARMED,),
    ),
    Fault(
        PLANNING,
        "-file.state if _whose(file) in done else file.state",
        "file.state",
        "a writer takes a commit that comes back for a failed one",
        ("ops/put_back/test_undo.py::test_the_order_of_an_undo",),
    ),
    Fault(
        PLANNING,
        "    return {at: there.get(at, {}) | data.get(at, {}) for at in there.keys() | data.keys()}\n",
        "    return data\n",
        "an undo publishes a commit whose files have gone meanwhile",
        (f"{TEST}::test_files_that_were_never_moved_must_be_there_too",),
    ),
    Fault(
        PLANNING,
        "        if foreign:\n",
        "        if False:\n",
        "an undo publishes a commit whose rows a block of another writer hides",
        (f"{TEST}::test_nor_with_a_rollback_block_of_another",),
    ),
    Fault(
        AS_LEFT,
        "    if gone:\n        raise lost",
        "    if False:\n        raise lost",
        "an undo says that all is back, though a writer has deleted files for good",
        (AFTER_A_DEATH,),
    ),
    Fault(
        "ops/undo/execute.py",
        "    _note_loss(session, blocks)\n",
        "",
        "an undo is promised that would publish commits without their files",
        (AT_ITS_END,),
    ),
    Fault(
        RESTORE,
        "        end_room(run.table, room, LOST)\n",
        "",
        "a resumed restore promises an undo, though a writer has executed its rollbacks",
        (STOPS,),
    ),
    Fault(
        RESTORE,
        'cannot be undone any more," if came else what',
        'cannot be undone any more," if False else what',
        "a restore goes on beside a writer that executes its rollbacks",
        (STOPS,),
    ),
    Fault(
        SESSION,
        "    if isinstance(storage, Keeping) and kept_for(session) is None:\n",
        "    if False:\n",
        "a restore that was to keep its files, and has not, ends with 0",
        (AT_ITS_END,),
    ),
    Fault(
        BEGUN,
        "(instant is None or not instant.completed):",
        "True:",
        "after an undo was given up a writer removes a commit that is back",
        (GIVEN_UP,),
    ),
    Fault(
        BEGUN,
        "            _bring_plan_back(table, timeline, path, body)\n",
        "",
        "after an undo was given up nobody knows which rows to hide",
        (GIVEN_UP,),
    ),
    Fault(
        "storage/descriptors.py",
        "        unlink_in(name, folder)\n    with",
        "    with",
        "after two deaths a sidecar is missing",
        ("storage/test_local.py::test_a_file_with_both_names_is_moved_back_with_its_sidecar",),
    ),
)
