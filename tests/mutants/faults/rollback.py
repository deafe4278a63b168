"""What rolls one instant back: planning, execution, its part of the metadata table, and what is discarded."""

from tests.mutants.fault import Fault

DISCARD = "ops/rollback/discard.py"
EXECUTE = "ops/rollback/execute.py"
FAILED = "ops/rollback/failed.py"
INDEXES = "ops/rollback/indexes.py"
METADATA = "ops/rollback/metadata.py"
PLANNING = "ops/rollback/planning.py"

FAULTS = (
    Fault(
        EXECUTE,
        "options.rule.limit_ms + options.interval_ms - beat.age_ms",
        "options.rule.limit_ms - beat.age_ms",
        "a writer that beats some seconds too late is rolled back while it works",
    ),
    Fault(
        EXECUTE,
        "if instant != plan.removal.instant or {entry.time for entry, _ in stored} != planned:",
        "if instant != plan.removal.instant:",
        "two processes work on one instant after a second request for its rollback",
    ),
    Fault(
        EXECUTE,
        "        removal = _still_empty(run)\n        run.held.check()\n",
        "        removal = _still_empty(run)\n",
        "files are deleted beside a process that took over while blocks were written",
    ),
    Fault(
        METADATA,
        '(entry.pending or (entry.completion_time or "") >= since)',
        "(entry.pending or entry.time >= since)",
        "rows stay in a compaction of the metadata table that was requested before its deltacommit",
    ),
    Fault(
        METADATA,
        "    if own is not None and own.completed:\n        instants.unpublish(metadata, own)\n    _delete(metadata, files)\n",
        "    _delete(metadata, files)\n    if own is not None and own.completed:\n        instants.unpublish(metadata, own)\n",
        "a completed deltacommit of the metadata table has no files for a moment",
    ),
    Fault(
        METADATA,
        "        metadata.storage.sync(partition)\n",
        "",
        "after a power failure files of the metadata table are there again, and their deltacommit is gone",
    ),
    # More.
    Fault(
        EXECUTE,
        "    recover_properties(table.storage)\n",
        "",
        "a rollback works on the properties that a crash left half written",
    ),
    Fault(
        EXECUTE,
        "timeline = load_timeline(table).without(plan.rollbacks_superseded)",
        "timeline = load_timeline(table)",
        "a rollback with a wrong time in the future cannot be superseded",
    ),
    Fault(
        EXECUTE,
        "    uncommit_hashing_metadata(run.table, plan.hashing)\n    _begin(run)\n",
        "    _begin(run)\n",
        "a writer that executes the request leaves hashing metadata that counts as committed",
    ),
    Fault(
        EXECUTE,
        "        _hide(run)\n        wait_for_queries(run.monitor, plan.options.grace_s)\n",
        "        wait_for_queries(run.monitor, plan.options.grace_s)\n        _hide(run)\n",
        "running queries lose their files at once: the wait comes before readers are back",
    ),
    Fault(
        EXECUTE,
        "        needed = plan.needed if plan.completed else None\n",
        "        needed = None\n",
        "a needed file that was lost during the rollback is not noticed",
    ),
    Fault(
        EXECUTE,
        "        verify_hashing(run.session, {plan.target}, Kind.ROLLBACK)\n",
        "",
        "hashing metadata that could not be deleted is not noticed",
    ),
    Fault(
        EXECUTE,
        "    remove_traces(run.table, {run.time})\n",
        "",
        "the rollback's own heartbeat and markers stay for good",
    ),
    Fault(
        EXECUTE,
        "    if instant.completed or last_sign_ms(table, signs, instant) > plan.last_sign_ms:",
        "    if last_sign_ms(table, signs, instant) > plan.last_sign_ms:",
        "a write is rolled back that its writer has completed since planning, under an older time",
    ),
    Fault(
        EXECUTE,
        "        drop_empty_result(run.table, run.time, fmt.ROLLBACK)\n        return\n",
        "        return\n",
        "a rollback whose result is empty can never be completed",
    ),
    Fault(
        EXECUTE,
        "            with suppress(StorageFailed):\n"
        "                delete_instant(run.table, load_timeline(run.table).find(run.time, fmt.ROLLBACK))\n",
        "",
        "a rollback that was refused in the last moment stays armed",
    ),
    Fault(
        EXECUTE,
        "    came = [str(entry.instant) for entry in signs.restores]\n",
        "    came: list[str] = []\n",
        "a rollback goes on beside a restore that came in",
    ),
    Fault(
        EXECUTE,
        "    came += [str(entry) for entry in timeline.having(fmt.SAVEPOINT) if entry.time == plan.target]\n",
        "",
        "an instant is rolled back on which a savepoint was made meanwhile",
    ),
    Fault(
        EXECUTE,
        "        came += [str(entry) for entry in others if not plan.timeline.issuperset(entry.names)]\n",
        "",
        "files are deleted beside a write that came in and may build on them",
    ),
    Fault(
        EXECUTE,
        "            came += [str(entry) for entry in timeline.writes() if entry.time == plan.target and entry.completed]\n",
        "            pass\n",
        "files of an instant that was published again are deleted",
    ),
    Fault(
        EXECUTE,
        '        came += [f"the clean {time}" for time in cleans_in_the_way(run.table, timeline, new, plan.needed)]\n',
        "",
        "a clean that came in takes files that readers need",
    ),
    Fault(
        EXECUTE,
        "        delete_instant(run.table, timeline.find(clean, fmt.CLEAN))\n",
        "",
        "a pending clean deletes files that readers need after the rollback",
    ),
    Fault(
        EXECUTE,
        "        back_up_instants(run.table, [plan.removal], pending_too=plan.options.keep_backup)\n",
        "",
        "a rerun does not know any more what the un-published instant had written",
    ),
    Fault(
        EXECUTE,
        "    remove_hashing_metadata(run.table, plan.hashing)\n",
        "",
        "readers of buckets follow the hashing metadata of an instant that is gone",
    ),
    Fault(
        EXECUTE,
        "    busy = may_be_writing(run.table, read_signs(run.table, run.plan.options.rule), removal.time)\n",
        "    busy = False\n",
        "an empty log is deleted in which a writer is about to go on",
    ),
    Fault(
        EXECUTE,
        "        delete_instant_files(run.table, [file for file in instant.files if file.state is State.INFLIGHT])\n",
        "        delete_instant(run.table, instant)\n",
        "a plan that was to be kept is gone",
    ),
    Fault(
        EXECUTE,
        "    for superseded in run.plan.rollbacks_superseded:\n",
        "    for superseded in ():\n",
        "a superseded rollback stays armed",
    ),
    Fault(
        EXECUTE,
        "    if not run.plan.options.keep_backup:\n        drop_backup(run.table, {run.plan.target})\n",
        "    drop_backup(run.table, {run.plan.target})\n",
        "the copies that the operator wanted to keep are gone",
    ),
    Fault(
        EXECUTE,
        "    completed = completion_now(run.table, run.time)\n"
        "    create_instant_file(run.table, run.time, fmt.ROLLBACK, State.COMPLETED, body, completed)\n",
        "    completed = run.time\n"
        "    create_instant_file(run.table, run.time, fmt.ROLLBACK, State.COMPLETED, body, completed)\n",
        "a rollback is recorded as completed when it was requested",
    ),
    Fault(
        EXECUTE,
        "    findings += [str(instant)] if instant is not None and not (requested and run.plan.options.keep_plan) else []\n",
        "",
        "the instant is back after the rollback, and the command says that all is well",
    ),
    Fault(
        DISCARD,
        "    return Discard(untouched_rollbacks(facts, session.engine, unwanted))\n",
        "    return Discard(tuple(entry.instant.time for entry in unwanted))\n",
        "a rollback that has deleted files is discarded",
    ),
    Fault(
        FAILED,
        "(policy == EAGER and row.idle_ms >= idle_ms)",
        "policy == EAGER",
        "a write that did something a moment ago is rolled back",
    ),
    Fault(
        FAILED,
        "    if policy == EAGER and running:\n",
        "    if policy != EAGER and running:\n",
        "the writes of a table with several writers are rolled back as if it had one",
    ),
    Fault(
        FAILED,
        "    return row.clustering or row.action == COMPACTION\n",
        "    return row.action == COMPACTION\n",
        "the plan of an interrupted clustering is thrown away",
    ),
    Fault(
        FAILED,
        "for time in sorted(targets, reverse=True))",
        "for time in sorted(targets))",
        "failed writes are rolled back oldest first",
    ),
    Fault(
        FAILED,
        "    return [time for time, instant in found if instant is None or instant.pending]",
        "    return [time for time, _ in found]",
        "cleaning failed writes ends the rollback of a commit that readers see",
    ),
    Fault(
        INDEXES,
        "    if step is MetadataStep.DELETE or FILES in later:\n",
        "    if step is MetadataStep.DELETE:\n",
        "the metadata table that was made after an instant keeps listing its files",
    ),
    Fault(
        INDEXES,
        "    since = (own.completion_time if own is not None else None) or time\n",
        "    since = time\n",
        "an index that was built while the instant was written is lost though it is sound",
    ),
    Fault(
        METADATA,
        "    if metadata is None or blocks:\n",
        "    if metadata is None:\n",
        "readers do not find the rollback blocks that the metadata table does not list",
    ),
    Fault(
        METADATA,
        "        return MetadataStep.DELETE if was_completed and not _ended(timeline, stored) else MetadataStep.KEEP\n",
        "        return MetadataStep.DELETE if was_completed else MetadataStep.KEEP\n",
        "the metadata table is deleted although the instant was taken back there",
    ),
    Fault(
        METADATA,
        "        unfinished = entry.pending and entry.action in (fmt.CLEAN, fmt.RESTORE)\n",
        "        unfinished = False\n",
        "a deltacommit of the metadata table is rolled back beside a clean that may take what it needs",
    ),
    Fault(
        METADATA,
        " and _own_files_only(metadata, own)\n",
        "\n",
        "rows that an older Hudi appended to a log of the metadata table stay after an upgrade",
    ),
    Fault(
        METADATA,
        "    drop_empty_result(metadata, time, fmt.ROLLBACK)\n",
        "",
        "a rollback of the metadata table whose result is empty can never be completed",
    ),
    Fault(
        METADATA,
        "    remove_traces(metadata, {target, time})\n",
        "",
        "markers of the deltacommit stay in the metadata table",
    ),
    Fault(
        PLANNING,
        "    if not stored:\n        clock.time_can_be_given(table, signs.timeline)\n",
        "    clock.time_can_be_given(table, signs.timeline)\n",
        "a pending rollback cannot be ended while the timeline is ahead of the clock",
    ),
    Fault(
        PLANNING,
        "    guards.nothing_on_its_slice(facts, instant, options.keep_plan)\n",
        "",
        "logs of later writes are left without the plan that shows them to readers",
    ),
    Fault(
        PLANNING,
        "    backup = {} if visible else backed_up_commits(table, {target})\n",
        "    backup: Commits = {}\n",
        "the rest of a rollback leaves files that only the copied commit names",
    ),
    Fault(
        PLANNING,
        "        elif plan.target.action in (COMPACTION, CLUSTERING):\n            keep_plan = True\n",
        "",
        "taking over Hudi's rollback of a compaction throws its plan away",
    ),
    Fault(
        PLANNING,
        "    liveness.no_live_heartbeat(signs, foreign)\n",
        "",
        "a rollback of Hudi's whose heartbeat lives is taken over",
    ),
    Fault(
        PLANNING,
        "    if not any(read_operation(facts.table.storage, entry.time) for entry, _ in stored):\n        metadata",
        "    if False:\n        metadata",
        "rows of unlisted files come back when the metadata table goes",
    ),
    Fault(
        PLANNING,
        "    if target in pending or timeline.find(target, *WRITE_ACTIONS) is not None:\n        return None\n",
        "    if timeline.find(target, *WRITE_ACTIONS) is not None:\n        return None\n",
        "a rollback counts as done while another of the same instant is armed",
    ),
    Fault(
        PLANNING,
        "    return {target} if options.keep_plan and not table.rules.logs_named_by_writer else set()\n",
        "    return set()\n",
        "logs of later writes are deleted with a pending compaction whose plan stays",
    ),
    Fault(
        PLANNING,
        "    busy = may_be_writing(facts.table, facts.signs, target)\n",
        "    busy = False\n",
        "an empty log is deleted that another writer has just opened",
    ),
)
