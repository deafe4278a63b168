"""The restore: what it looks at again, the order of its works, what it must not leave."""

from tests.mutants.fault import Fault

EXECUTE = "ops/restore/execute.py"

FAULTS = (
    Fault(
        "ops/session.py",
        "            probe_delete(session.table.storage)\n",
        "            pass\n",
        "who may write objects, and delete none, begins a restore or an undo that cannot go on",
        ("cli/test_object_store.py::test_an_account_that_may_not_delete_begins_nothing",),
    ),
    Fault(
        EXECUTE,
        ('run.monitor.step("request the restore")\n    run.held.check()\n'),
        'run.monitor.step("request the restore")\n',
        "a restore is requested beside one who has taken over",
        ("ops/restore/test_second_looks.py",),
    ),
    Fault(
        EXECUTE,
        ('run.monitor.step("begin the restore")\n    run.held.check()\n'),
        'run.monitor.step("begin the restore")\n',
        "a restore begins beside one who has taken over",
        ("ops/restore/test_second_looks.py",),
    ),
    Fault(
        EXECUTE,
        ("    run.monitor.step(phase.label)\n    run.held.check()\n"),
        "    run.monitor.step(phase.label)\n",
        "a phase begins beside one who has taken over",
        ("ops/restore/test_second_looks.py::test_no_step_begins_when_the_claim_is_lost",),
    ),
    Fault(
        "ops/undo/execute.py",
        ("    held.check()\n    delete_files("),
        "    delete_files(",
        "files are deleted beside one who has taken over",
        ("ops/restore/test_second_looks.py",),
    ),
    Fault(
        EXECUTE,
        "    run.held.check()\n    metadata_table = use_again(",
        "    metadata_table = use_again(",
        "a restore is published beside one who has taken over",
        ("ops/restore/test_second_looks.py",),
    ),
    Fault(
        EXECUTE,
        ("            run.held.check()\n            instants.check_rollback_plan"),
        "            instants.check_rollback_plan",
        "instants are un-published beside one who has taken over",
        ("ops/restore/test_second_looks.py",),
    ),
    Fault(
        EXECUTE,
        ("            instants.check_rollback_plan(run.table, run.rollbacks[removal.time], removal.time)\n"),
        "",
        "an instant is un-published though the rollback takes another back",
        ("ops/restore/test_second_looks.py",),
    ),
    Fault(
        EXECUTE,
        "    guards.not_moved(signs.timeline, undo.timeline)\n",
        "",
        "the restore goes by a timeline that has moved",
        ("ops/restore/test_second_looks.py::test_a_timeline_that_has_moved_since_planning_stops_it",),
    ),
    Fault(
        EXECUTE,
        ("    check_signs(session, signs, plan.target, removed, plan.options, ended)\n"),
        "",
        "the guards are not asked again under the claim",
        ("ops/restore/test_second_looks.py",),
    ),
    Fault(
        EXECUTE,
        ("    liveness.no_live_heartbeat(signs, [entry for entry in removed.values() if entry is not None])\n"),
        "",
        "a writer whose heartbeat has come back is restored away",
        ("ops/restore/test_second_looks.py",),
    ),
    Fault(
        EXECUTE,
        "    recover_properties(run.table.storage)\n",
        "",
        "an interrupted update of the properties stays",
        ("ops/restore/test_second_looks.py::test_an_interrupted_update_of_the_properties_is_ended_first",),
    ),
    Fault(
        EXECUTE,
        "    if moved:\n",
        "    if False:\n",
        "a write that came in while the timeline settled is lost",
        ("ops/restore/test_execute.py::test_a_writer_that_comes_in_while_the_restore_settles_is_left_alone",),
    ),
    Fault(
        EXECUTE,
        "    if begun is None or begun.file(State.REQUESTED) is None:\n",
        "    if False:\n",
        "a restore without its request blocks all writers",
        ("ops/restore/test_beside.py::test_a_request_that_was_withdrawn_by_another_process",),
    ),
    Fault(
        EXECUTE,
        (
            "        with suppress(StorageFailed):\n"
            "            delete_instant(run.table, load_timeline(run.table).find(run.time, "
            "fmt.RESTORE))\n"
            "            drop_room(run.table, run.time)\n"
            "        raise"
        ),
        "        raise",
        "a restore that has done nothing blocks all writers",
        ("ops/restore/test_execute.py::test_a_writer_that_comes_in_while_the_restore_settles_is_left_alone",),
    ),
    Fault(
        EXECUTE,
        "    except (Exception, KeyboardInterrupt):",
        "    except Exception:",
        "Ctrl-C while it settles leaves a request that blocks all writers",
        ("ops/restore/test_second_looks.py::test_ctrl_c_while_it_settles_leaves_no_request",),
    ),
    Fault(
        EXECUTE,
        ("(entry for entry in timeline.writes() if _is_intruder(run.plan, entry, phase.after_unpublishing)), None"),
        "(entry for entry in timeline.writes() if False), None",
        "a write that came in between two phases is not seen",
        ("ops/restore/test_execute.py::test_a_write_that_begins_in_the_middle_stops_the_restore",),
    ),
    Fault(
        EXECUTE,
        "        return unpublished and instant.completed\n",
        "        return False\n",
        "an instant that was published again loses its files",
        ("ops/restore/test_execute.py::test_an_instant_that_is_published_again_stops_the_restore",),
    ),
    Fault(
        EXECUTE,
        " or (instant.pending and _was_completed(before, instant.time))\n",
        "\n",
        "a kept commit that was taken back meanwhile is not seen",
        (
            "ops/restore/test_beside.py::test_an_older_commit_that_somebody_takes_back",
            "ops/restore/test_second_looks.py::test_a_commit_that_stays_and_is_taken_back_meanwhile_stops_it",
        ),
    ),
    Fault(
        EXECUTE,
        "    if target is None or not target.completed:\n",
        "    if target is None:\n",
        "a target that was taken back meanwhile is not seen",
        (
            "ops/restore/test_beside.py::test_a_target_that_somebody_takes_back",
            "ops/restore/test_second_looks.py::test_a_commit_that_stays_and_is_taken_back_meanwhile_stops_it",
        ),
    ),
    Fault(
        EXECUTE,
        "having(fmt.CLEAN) if not run.undo.timeline.issuperset(entry.names)]",
        "having(fmt.CLEAN) if False]",
        "a clean of needed files that has come is not seen",
        ("ops/restore/test_beside.py",),
    ),
    Fault(
        EXECUTE,
        ("        _retire_metadata_table(run)\n        readers_back_ms"),
        "        readers_back_ms",
        "a metadata table that came back lists the files that go next",
        ("ops/restore/test_second_looks.py",),
    ),
    Fault(
        EXECUTE,
        ("        _retire_metadata_table(run)\n        body ="),
        "        body =",
        "a metadata table that came back while files were deleted is used when instants go",
        ("ops/restore/test_second_looks.py",),
    ),
    Fault(
        EXECUTE,
        ("    _retire_metadata_table(run)\n    delete_dropped(run.table, run.time)\n    if not"),
        ("    delete_dropped(run.table, run.time)\n    if not"),
        "a metadata table that came back at the end stays",
        ("ops/restore/test_second_looks.py",),
    ),
    Fault(
        EXECUTE,
        ("    _retire_metadata_table(run)\n    delete_dropped(run.table, run.time)\n    if not"),
        ("    _retire_metadata_table(run)\n    if not"),
        "what was taken out of use at the end stays for ever",
        ("ops/restore/test_second_looks.py::test_one_that_comes_back_at_the_end_is_deleted_before_it",),
    ),
    Fault(
        EXECUTE,
        "    if looks and place_of(run.table, run.time, run.kept).other is Other.BEGUN:\n",
        "    if False:\n",
        "a metadata table that is being made is taken from its writer",
        ("ops/restore/test_new_metadata_table.py::test_one_that_begins_where_there_was_none",),
    ),
    Fault(
        "ops/undo/execute.py",
        "    found = verify_data(session, undo, kind)\n",
        (
            "    from hudictl.table.files.sweep import sweep\n"
            "\n"
            "    found = sweep(session.table, session.engine, undo.case.named)\n"
        ),
        "a restore ends with files left",
        ("ops/undo/test_verify.py",),
    ),
    Fault(
        "ops/undo/execute.py",
        "    verify_hashing(session, undo.removed, kind)\n",
        "",
        "a restore ends with hashing metadata left",
        ("ops/undo/test_hashing.py",),
    ),
    Fault(
        EXECUTE,
        "    verify_timeline(run.table, run.plan, run.time, run.rollbacks.values(), metadata_table.kept)\n",
        "",
        "nobody looks after publishing",
        ("ops/restore/test_verify.py",),
    ),
    Fault(
        EXECUTE,
        "    _retire_metadata_table(run, planned=run.undo.metadata_table.mode is not Mode.NONE)\n",
        "",
        "the metadata table goes when the instants have gone already",
        ("ops/restore/test_order.py::test_nothing_is_un_published_before_the_way_back_is_kept",),
    ),
    Fault(
        EXECUTE,
        (
            "    back_up_instants(run.table, run.undo.removals, "
            "pending_too=run.plan.options.keep_backup)\n"
            "    _request_rollbacks(run)\n"
        ),
        "    _request_rollbacks(run)\n",
        "an un-published instant has no copy",
        ("ops/restore/test_order.py::test_nothing_is_un_published_before_the_way_back_is_kept",),
    ),
    Fault(
        EXECUTE,
        "    _request_rollbacks(run)\n    return run\n",
        "    return run\n",
        "an instant is un-published while a later one has no rollback plan",
        ("ops/restore/test_order.py::test_nothing_is_un_published_before_the_way_back_is_kept",),
    ),
    Fault(
        EXECUTE,
        ("        _unpublish(run)\n        remove_hashing_metadata(run.table, run.undo.hashing)\n"),
        ("        remove_hashing_metadata(run.table, run.undo.hashing)\n        _unpublish(run)\n"),
        "a resize counts whose hashing metadata is gone",
        ("ops/restore/test_order.py::test_a_resize_counts_neither_before_nor_without_its_metadata",),
    ),
    Fault(
        EXECUTE,
        (
            "        wait_for_queries(run.monitor, run.plan.options.grace_s)\n"
            "\n"
            "        _, blocks, found = delete_and_prove(\n"
            "            run.session,\n"
            "            run.held,\n"
            "            run.undo,\n"
            "            Kind.RESTORE,\n"
            "            enter=partial(_enter, run),\n"
            "            delete_dropped=lambda: delete_dropped(run.table, run.time),\n"
            "        )\n"
        ),
        (
            "        _, blocks, found = delete_and_prove(\n"
            "            run.session,\n"
            "            run.held,\n"
            "            run.undo,\n"
            "            Kind.RESTORE,\n"
            "            enter=partial(_enter, run),\n"
            "            delete_dropped=lambda: delete_dropped(run.table, run.time),\n"
            "        )\n"
            "        wait_for_queries(run.monitor, run.plan.options.grace_s)\n"
        ),
        "files go under running queries",
        ("ops/restore/test_order.py::test_no_file_goes_before_queries_have_ended_and_rows_are_hidden",),
    ),
    Fault(
        EXECUTE,
        "        delete_first(run.session, run.held, run.undo, Kind.RESTORE)\n",
        "",
        "rows of the target are hidden by files of removed instants while queries have their grace",
        ("ops/restore/test_order.py::test_what_would_hide_rows_of_the_target_goes_before_queries_have_their_grace",),
    ),
    Fault(
        "table/files/slices.py",
        "        found += [file for file in logs if file.data.log_order < first]\n",
        "",
        "the first log of a group without base file is not known to hide later ones",
        ("table/files/test_slices.py::test_logs_before_the_first_committed_one_of_a_group_without_base_file",),
    ),
    Fault(
        "ops/undo/execute.py",
        (
            "    blocks = write_blocks(session, held, undo.marked)\n"
            "    undo = last_look(undo)\n"
            "    held.check()\n"
            "    delete_files(session, held, [file for removal in undo.removals for file in removal.files], kind)\n"
        ),
        (
            "    undo = last_look(undo)\n"
            "    held.check()\n"
            "    delete_files(session, held, [file for removal in undo.removals for file in removal.files], kind)\n"
            "    blocks = write_blocks(session, held, undo.marked)\n"
        ),
        "rows of a removed instant come back while files are deleted",
        ("ops/restore/test_order.py::test_no_file_goes_before_queries_have_ended_and_rows_are_hidden",),
    ),
    Fault(
        EXECUTE,
        (
            "        body = stage_metadata(\n"
            "            run.table, run.time, run.plan, rollbacks=run.rollbacks, "
            "blocks=blocks, duration_ms=elapsed_ms(started)\n"
            "        )\n"
            "\n"
            "        _enter(run, Phase.REMOVE_INSTANTS)\n"
        ),
        (
            "        _enter(run, Phase.REMOVE_INSTANTS)\n"
            "        _remove_instants(run)\n"
            "        body = stage_metadata(\n"
            "            run.table, run.time, run.plan, rollbacks=run.rollbacks, "
            "blocks=blocks, duration_ms=elapsed_ms(started)\n"
            "        )\n"
            "\n"
        ),
        "the record of the restore does not say what was deleted",
        ("ops/restore/test_order.py::test_no_instant_is_removed_before_its_record_is_kept",),
    ),
    Fault(
        EXECUTE,
        (
            "    remove_traces(run.table, run.undo.removed | rollbacks | {*run.plan.rollbacks_discarded})\n"
            "    for rollback in sorted(rollbacks, reverse=True):\n"
            "        delete_instant(run.table, timeline.find(rollback, fmt.ROLLBACK))\n"
        ),
        (
            "    for rollback in sorted(rollbacks, reverse=True):\n"
            "        delete_instant(run.table, timeline.find(rollback, fmt.ROLLBACK))\n"
            "    remove_traces(run.table, run.undo.removed | rollbacks | {*run.plan.rollbacks_discarded})\n"
        ),
        "heartbeats of rollbacks stay after a crash",
        ("ops/restore/test_order.py::test_rollbacks_go_last_of_what_belongs_to_an_instant",),
    ),
    Fault(
        EXECUTE,
        (
            "    for removal in run.undo.removals:\n"
            "        for instant in instants.get(removal.time, ()):\n"
            "            delete_instant(run.table, instant)\n"
            "    rollbacks = {*run.plan.rollbacks_removed, *run.rollbacks.values()}\n"
        ),
        (
            "    rollbacks = {*run.plan.rollbacks_removed, *run.rollbacks.values()}\n"
            "    for rollback in sorted(rollbacks, reverse=True):\n"
            "        delete_instant(run.table, timeline.find(rollback, fmt.ROLLBACK))\n"
            "    for removal in run.undo.removals:\n"
            "        for instant in instants.get(removal.time, ()):\n"
            "            delete_instant(run.table, instant)\n"
        ),
        "an instant is pending without its rollback, and an eager writer takes it for failed",
        ("ops/restore/test_order.py::test_rollbacks_go_last_of_what_belongs_to_an_instant",),
    ),
    Fault(
        EXECUTE,
        (
            "    remove_traces(run.table, {run.time})\n"
            "    run.held.check()\n"
            "    metadata_table = use_again(run.table, run.kept, metadata_table)\n"
            "    complete_restore(run.table, run.time, body)\n"
        ),
        (
            "    run.held.check()\n"
            "    metadata_table = use_again(run.table, run.kept, metadata_table)\n"
            "    complete_restore(run.table, run.time, body)\n"
            "    remove_traces(run.table, {run.time})\n"
        ),
        "the restore's heartbeat stays after a crash",
        ("ops/restore/test_order.py::test_nothing_is_left_of_it_when_it_is_published",),
    ),
    Fault(
        EXECUTE,
        ("        _clear_up(run)\n    # Before the completion"),
        "    # Before the completion",
        "the protecting savepoint and the copies stay",
        ("ops/restore/test_order.py::test_nothing_is_left_of_it_when_it_is_published",),
    ),
    Fault(
        EXECUTE,
        (
            "    if run.plan.protecting_savepoint:\n"
            "        protect_target(run.table, run.plan, run.time)\n"
            "    uncommit_hashing_metadata(run.table, run.undo.hashing)\n"
        ),
        "    uncommit_hashing_metadata(run.table, run.undo.hashing)\n",
        "a clean may take the target while it is restored",
        ("ops/restore/test_order.py::test_nothing_is_un_published_before_the_way_back_is_kept",),
    ),
    Fault(
        EXECUTE,
        ("    uncommit_hashing_metadata(run.table, run.undo.hashing)\n    timeline"),
        "    timeline",
        "a resize counts whose clustering is pending",
        ("ops/restore/test_order.py::test_a_resize_counts_neither_before_nor_without_its_metadata",),
    ),
)
