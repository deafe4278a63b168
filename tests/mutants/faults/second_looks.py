"""Looks that are taken twice: under the claim, after the request, before each phase, before each step that cannot be
undone. What comes in between two of them must be met by the second."""

from tests.mutants.fault import Fault

CHECK = "        run.held.check()\n"
DISCARD = "ops/rollback/discard.py"
LEFTOVERS = "ops/restore/leftovers.py"
LITTER = "ops/clean_up/litter.py"
ORPHANS = "ops/clean_up/orphans.py"
RESTORE = "ops/restore/execute.py"
ROLLBACK = "ops/rollback/execute.py"
SAVEPOINT = "ops/savepoint/execute.py"
SAVEPOINT_DELETION = "ops/savepoint/deletion.py"
WITHDRAW = "ops/restore/withdraw.py"
LAST_MOMENT = "ops/restore/test_withdraw_others.py::test_a_writer_that_executes_a_rollback_at_the_last_moment"

COLD = ("ops/test_session.py::test_an_engine_that_cannot_work_is_found_before_the_first_change",)

CLAIM = (
    Fault(
        RESTORE,
        "    session.engine.ready()\n",
        "",
        "a restore un-publishes commits, and then no Python of Spark starts to delete their files",
        tests=COLD,
    ),
    Fault(
        ROLLBACK,
        "    session.engine.ready()\n",
        "",
        "a rollback un-publishes a commit, and then no Python of Spark starts to delete its files",
        tests=COLD,
    ),
    Fault(
        ORPHANS,
        "    session.engine.ready()\n    signs",
        "    signs",
        "orphans leave the metadata table's listing, and then no Python of Spark starts to delete them",
        tests=COLD,
    ),
    Fault(
        ROLLBACK,
        '    run.monitor.step("begin the rollback")\n    run.held.check()\n',
        '    run.monitor.step("begin the rollback")\n',
        "a rollback begins beside one who took over while it waited",
        tests=("ops/test_session.py::test_a_rollback_does_not_begin",),
    ),
    Fault(
        ROLLBACK,
        "    run.monitor.step(phase.label)\n    run.held.check()\n",
        "    run.monitor.step(phase.label)\n",
        "a phase of a rollback begins beside one who took over",
        tests=("ops/test_session.py::test_no_phase_of_a_rollback_begins",),
    ),
    Fault(
        ROLLBACK,
        "        run.held.check()\n        instants.unpublish(",
        "        instants.unpublish(",
        "a rollback un-publishes beside one who took over while the instant was copied",
        tests=("ops/test_session.py::test_in_the_middle_of_a_rollback",),
    ),
    Fault(
        "ops/rollback/publish.py",
        "        run.held.check()\n        completed = completion_now(",
        "        completed = completion_now(",
        "a rollback is published beside one who took over while traces were removed",
        tests=("ops/test_session.py::test_in_the_middle_of_a_rollback",),
    ),
    Fault(
        DISCARD,
        "            run.held.check()\n",
        "",
        "rollbacks are discarded beside one who took over",
        tests=("ops/test_session.py::test_no_rollback_is_discarded",),
    ),
    Fault(
        RESTORE,
        '    run.monitor.step("request the restore")\n    run.held.check()\n',
        '    run.monitor.step("request the restore")\n',
        "a restore is requested beside one who took over",
        tests=("ops/test_session.py::test_a_restore_is_not_requested",),
    ),
    Fault(
        RESTORE,
        '    run.monitor.step("begin the restore")\n    run.held.check()\n',
        '    run.monitor.step("begin the restore")\n',
        "a restore begins beside one who took over while it waited",
        tests=("ops/test_session.py::test_a_restore_does_not_begin",),
    ),
    Fault(
        RESTORE,
        "    run.monitor.step(phase.label)\n    run.held.check()\n",
        "    run.monitor.step(phase.label)\n",
        "a phase of a restore begins beside one who took over",
        tests=("ops/test_session.py::test_no_phase_of_a_restore_begins",),
    ),
    Fault(
        RESTORE,
        "            run.held.check()\n            instants.check_rollback_plan(",
        "            instants.check_rollback_plan(",
        "a restore un-publishes on beside one who took over after the first instant",
        tests=("ops/test_session.py::test_the_next_instant_of_a_restore_is_not_un_published",),
    ),
    Fault(
        WITHDRAW,
        "            run.held.check()\n            publish_again(",
        "            publish_again(",
        "instants are published again beside one who took over",
        tests=("ops/test_session.py::test_the_next_instant_of_a_withdrawal_is_not_published",),
    ),
    Fault(
        WITHDRAW,
        "        run.held.check()\n        remove_traces(table",
        "        remove_traces(table",
        "a restore is withdrawn beside one who took over and finishes it",
        tests=("ops/test_session.py::test_a_restore_is_not_withdrawn",),
    ),
    Fault(
        LEFTOVERS,
        CHECK,
        "",
        "leftovers are removed beside one who took over",
        tests=("ops/test_session.py::test_no_leftovers_are_removed",),
    ),
    Fault(
        SAVEPOINT,
        "    run.held.check()\n    if plan.exists:",
        "    if plan.exists:",
        "a savepoint is made beside one who took over",
        tests=("ops/test_session.py::test_no_savepoint_is_made",),
    ),
    Fault(
        SAVEPOINT_DELETION,
        CHECK,
        "",
        "a savepoint is deleted beside one who took over and restores to it",
        tests=("ops/test_session.py::test_no_savepoint_is_deleted",),
    ),
    Fault(
        ORPHANS,
        "        run.held.check()\n        _prepare(",
        "        _prepare(",
        "the metadata table is taken out of use beside one who took over",
        tests=("ops/test_session.py::test_no_metadata_table_goes_with_orphans",),
    ),
    Fault(
        ORPHANS,
        "    run.held.check()\n    files = [",
        "    files = [",
        "orphans are deleted beside one who took over while owners were looked up",
        tests=("ops/test_session.py::test_no_orphan_is_deleted",),
    ),
    Fault(
        LITTER,
        "        run.held.check()\n        delete_all(",
        "        delete_all(",
        "a heartbeat is deleted beside one who took over",
        tests=("ops/test_session.py::test_no_heartbeat_is_deleted",),
    ),
    Fault(
        LITTER,
        "        run.held.check()\n        session.table.storage.delete_folder(",
        "        session.table.storage.delete_folder(",
        "markers are deleted beside one who took over",
        tests=("ops/test_session.py::test_no_marker_is_deleted",),
    ),
)

UNDER_THE_CLAIM = (
    Fault(
        ROLLBACK,
        "    if plan.completed:\n        timeline_guards.not_moved(signs.timeline, plan.undo.timeline)\n",
        "",
        "a commit is rolled back though the timeline has moved since planning",
        tests=("ops/rollback/test_beside.py::test_somebody_comes_in_before_the_rollback_began",),
    ),
    Fault(
        ROLLBACK,
        "    if instant != plan.removal.instant or stored",
        "    if stored",
        "a write is rolled back that is not what it was at planning",
        tests=("ops/rollback/test_looks.py::test_a_write_that_another_has_rolled_back_since_planning",),
    ),
    Fault(
        ROLLBACK,
        "    check_around(session, signs)\n    known = {",
        "    known = {",
        "a savepoint or a lock that came since planning is not met",
        tests=("ops/rollback/test_looks.py::test_a_lock_that_a_writer_takes_before_the_request_is_met",),
    ),
    Fault(
        ROLLBACK,
        '    no_new_metadata_table(table, plan, signs, plan.resumes or "")\n',
        "",
        "a metadata table that was made since planning lists what goes next",
        tests=("ops/rollback/test_looks.py::test_a_metadata_table_that_begins_before_the_request_is_met",),
    ),
    Fault(
        ROLLBACK,
        ("    _check_silence(table, signs, plan)\n    marked = end_open"),
        "    marked = end_open",
        "a rollback is requested though the writer has given a sign of life since planning",
        tests=("ops/rollback/test_looks.py::test_nothing_is_requested_after_a_sign_of_life",),
    ),
    Fault(
        ROLLBACK,
        "    signs = read_signs(table, measure_clock(table.storage))\n",
        "    signs = read_signs(table)\n",
        "heartbeats are judged by this host's clock, which may be ahead",
        tests=("ops/rollback/test_looks.py::test_heartbeats_are_judged_by_the_storages_clock",),
    ),
    Fault(
        "ops/guards/clock.py",
        "    writers_zone(table, timeline)\n    return new_instant_time(table, timeline)\n",
        "    return new_instant_time(table, timeline)\n",
        "an instant is requested in another zone than the writes that came since planning",
        tests=("ops/guards/test_clock.py::test_a_zone_that_shows_under_the_claim_is_refused_before_the_first_write",),
    ),
    Fault(
        DISCARD,
        "    if {entry.instant.time for entry in unwanted} != set(plan.rollbacks):\n",
        "    if not unwanted:\n",
        "a rollback is discarded that is another one's by now",
        tests=("ops/rollback/test_discard.py::test_the_table_has_moved_since",),
    ),
    Fault(
        DISCARD,
        "    _check(session, signs, unwanted, idle_ms)\n    if {",
        "    if {",
        "a rollback is discarded that has begun to work since planning",
        tests=("ops/rollback/test_discard.py::test_a_rollback_that_begins_after_the_look_is_not_taken_away",),
    ),
    Fault(
        RESTORE,
        ("    guards.not_moved(signs.timeline, undo.timeline)\n    restores_to"),
        "    restores_to",
        "a table is restored though its timeline has moved since planning",
        tests=("ops/guards/test_timeline.py::test_what_has_come_since_planning_counts_as_moved",),
    ),
    Fault(
        RESTORE,
        "    check_signs(session, signs, plan.target, removed, plan.options, ended)\n",
        "",
        "a lock that came since planning is not met by a restore",
        tests=("ops/restore/test_resume.py::test_scratch_is_empty_after_a_refusal_under_the_claim",),
    ),
    Fault(
        RESTORE,
        "    liveness.no_live_heartbeat(signs, [entry for entry in removed.values() if entry is not None])\n",
        "",
        "a restore removes a write whose heartbeat came since planning",
        tests=("ops/restore/test_resume.py::test_a_living_heartbeat_under_the_claim",),
    ),
    Fault(
        LEFTOVERS,
        "    if _find(session, signs, idle_ms) != plan or _files(",
        "    if _files(",
        "what is left of a restore is removed though it is wanted by now",
        tests=("ops/restore/test_leftovers.py::test_what_comes_in_under_the_claim_stops_it",),
    ),
    Fault(
        LEFTOVERS,
        "    liveness.no_lock_in_use(session.table, signs, session.locking)\n",
        "",
        "leftovers are removed beside a writer that holds its lock",
        tests=("ops/restore/test_leftovers.py::test_what_comes_in_under_the_claim_stops_it",),
    ),
    Fault(
        WITHDRAW,
        "    signs = read_signs(session.table)\n    _check_signs(session, signs, idle_ms)\n",
        "    signs = read_signs(session.table)\n",
        "a restore is withdrawn beside a writer that holds its lock",
        tests=("ops/restore/test_withdraw.py::test_a_lock_that_a_writer_takes_between_plan_and_claim_is_seen",),
    ),
    Fault(
        WITHDRAW,
        "    if frozenset(signs.timeline.modified_ms) != plan.timeline or copies != plan.copies:\n",
        "    if copies != plan.copies:\n",
        "a restore is withdrawn though the timeline has moved since planning",
        tests=("ops/restore/test_withdraw.py::test_a_withdrawal_stops_where_the_timeline_moves",),
    ),
    Fault(
        WITHDRAW,
        "        _nothing_deleted(session, signs, run.found, plan.instants, plan.copies)\n        end_protection",
        "        end_protection",
        "a restore is withdrawn while a writer deletes files by its rollbacks",
        tests=(f"{LAST_MOMENT}[True-v9]",),
    ),
    Fault(
        WITHDRAW,
        "            _not_executed(run.found, timeline.find(rollback, ROLLBACK))\n",
        "",
        "a restore is withdrawn though a writer has executed a rollback of it",
        tests=(f"{LAST_MOMENT}[False-v9]",),
    ),
)

AFTER_THE_REQUEST = (
    Fault(
        ROLLBACK,
        "        signs = _settle(run)\n",
        "        signs = _settle(run) if requested else run.signs\n",
        "a rollback that was only requested goes on without waiting for its target's writer",
        tests=("ops/rollback/test_looks.py::test_a_sign_of_life_while_a_request_of_its_own_settles_again",),
    ),
    Fault(
        ROLLBACK,
        "    no_rollback_beside(signs, run.targets, run.ended)\n",
        "",
        "two processes that requested the rollback of one instant both begin",
        tests=("ops/rollback/test_beside.py::test_another_process_requests_a_rollback_of_the_instant",),
    ),
    Fault(
        ROLLBACK,
        "            timeline_guards.not_moved(signs.timeline, plan.undo.timeline | {own})\n",
        "            pass\n",
        "a commit that came in after the request builds on one that is rolled back",
        tests=("ops/rollback/test_beside.py::test_somebody_comes_in_before_the_rollback_began",),
    ),
    Fault(
        ROLLBACK,
        (
            "            metadata_table_can_go(signs, plan.target, plan.undo.timeline)\n        "
            "no_new_metadata_table(run.table, plan, signs, one.time)\n"
        ),
        "            pass\n        no_new_metadata_table(run.table, plan, signs, one.time)\n",
        "a rollback begins that cannot take the metadata table from a writer who came in",
        tests=(
            (
                ""
                "ops/rollback/test_beside.py::test_version_6_a_writer_that_begins_before_the_rollback_keeps_the_metadata_table"
            ),
        ),
    ),
    Fault(
        ROLLBACK,
        "        no_new_metadata_table(run.table, plan, signs, one.time)\n        _check_silence",
        "        _check_silence",
        "a rollback begins though a metadata table was made after its request",
        tests=("ops/rollback/test_new_metadata_table.py::test_one_that_begins_before_the_rollback",),
    ),
    Fault(
        ROLLBACK,
        (
            "        no_new_metadata_table(run.table, plan, signs, one.time)\n        "
            "_check_silence(run.table, signs, plan)\n"
        ),
        "        no_new_metadata_table(run.table, plan, signs, one.time)\n",
        "a rollback begins though its target's writer has worked after the request",
        tests=(
            (
                ""
                "ops/rollback/test_looks.py::test_a_request_is_withdrawn_where_the_writer_shows_itself_at_the_end_of_the_wait"
            ),
        ),
    ),
    Fault(
        RESTORE,
        "    if begun is None or begun.file(State.REQUESTED) is None:\n",
        "    if begun is None:\n",
        "a restore whose request was withdrawn by another goes on",
        tests=("ops/restore/test_beside.py::test_a_request_that_was_withdrawn_by_another_process",),
    ),
)

BEFORE_EACH_PHASE = (
    Fault(
        ROLLBACK,
        "        check_own(one, signs.timeline)\n        _check_silence(",
        "        _check_silence(",
        "a rollback goes on that another has ended",
        tests=("ops/rollback/test_beside.py::test_another_process_ends_the_rollback",),
    ),
    Fault(
        ROLLBACK,
        "        _check_silence(run.table, signs, one.plan)\n        _refuse_intruders",
        "        _refuse_intruders",
        "files are deleted under a writer that has given a sign of life",
        tests=("ops/rollback/test_beside.py::test_a_writer_that_gives_a_sign_of_life",),
    ),
    Fault(
        ROLLBACK,
        "        no_new_metadata_table(run.table, one.plan, signs, one.time, retired=retired",
        "        dict(retired=retired",
        "files are deleted that a new metadata table lists",
        tests=("ops/rollback/test_new_metadata_table.py::test_one_that_begins_where_there_was_none",),
    ),
    Fault(
        ROLLBACK,
        "        metadata_table_can_go(_signs(run), one.plan.target, one.plan",
        "        (_signs(run), one.plan.target, one.plan",
        "the metadata table goes from under a writer that came in just before",
        tests=(
            (
                ""
                "ops/rollback/test_beside.py::test_version_6_a_writer_that_begins_beside_the_rollback_keeps_the_metadata_table"
            ),
        ),
    ),
    Fault(
        "ops/rollback/publish.py",
        "        check_own(one, timeline)\n",
        "        pass\n",
        "a rollback is completed twice",
        tests=("ops/rollback/test_beside.py::test_another_process_publishes_it_at_the_last_moment",),
    ),
    Fault(
        ROLLBACK,
        "    no_new_metadata_table(table, plan, _signs(run), one.time, retired=True, kept=one.kept)\n",
        "",
        "queries are waited for while a new metadata table lists what goes next",
        tests=("ops/rollback/test_new_metadata_table.py::test_one_that_comes_back_while_the_instant_is_unpublished",),
    ),
)

FAULTS = (*CLAIM, *UNDER_THE_CLAIM, *AFTER_THE_REQUEST, *BEFORE_EACH_PHASE)
