"""Which savepoints are deleted, and what must keep them."""

from tests.mutants.fault import Fault

PRUNING = "ops/savepoint/pruning.py"
RULES = "state/files/retention.py"
TAGS = "state/files/savepoints.py"
HELD = "state/files/held.py"
SAVED = "ops/saved_plan.py"
DUE = "ops/savepoint/planning.py"
OPS = "ops/savepoint/test_pruning.py"
LOOKS = "ops/savepoint/test_pruning_second_looks.py"
LINE = "cli/test_savepoint_prune.py"
ALIKE = f"{LOOKS}::test_it_stops_where_the_table_has_changed"

FAULTS = (
    Fault(
        RULES,
        "        newest.setdefault(date.strftime(form), time)\n",
        "        newest[date.strftime(form)] = time\n",
        "of each period the oldest is kept",
    ),
    Fault(
        RULES,
        "sorted(instants, reverse=True)",
        "sorted(instants)",
        "the oldest ones are kept",
    ),
    Fault(
        RULES,
        "        if ages[0][1] - date < timedelta",
        "        if ages[0][1] - date <= timedelta",
        "one more is kept than by restic",
    ),
    Fault(RULES, '"weekly": "%G%V"', '"weekly": "%Y%V"', "weeks at the turn of a year are cut in two"),
    Fault(
        RULES,
        '[] if date else ["its time is no date"]',
        "[]",
        "a savepoint on a bootstrap is deleted by rules for dates",
    ),
    Fault(
        TAGS,
        "{0,31}",
        "{0,99}",
        "words of strangers are a tag",
        ("state/files/test_savepoints.py::test_other_words_of_strangers_are_no_tag",),
    ),
    Fault(
        TAGS,
        "(?: |\\Z)",
        "",
        "words of strangers are a tag",
        ("state/files/test_savepoints.py::test_other_words_of_strangers_are_no_tag",),
    ),
    Fault(
        TAGS,
        "    match = _TAGGED.match(comment)\n",
        "    match = _TAGGED.search(comment)\n",
        "words in the middle of a comment are a tag",
        ("state/files/test_savepoints.py",),
    ),
    Fault(
        PRUNING,
        "if head and not is_protection(head)",
        "if head",
        "the temporary savepoint of a restore is deleted",
        (f"{OPS}::test_hudictls_temporary_ones_are_never_touched",),
    ),
    Fault(
        PRUNING,
        "        if options.tag is not None and tag != options.tag:\n",
        "        if options.tag is not None and tag is None:\n",
        "savepoints with other tags are deleted",
        (f"{OPS}::test_only_what_is_chosen_is_deleted_and_each_tag_counts_by_itself",),
    ),
    Fault(
        PRUNING,
        "        elif tag is None and not options.untagged:\n",
        "        elif False:\n",
        "savepoints without a tag are deleted",
        (f"{OPS}::test_only_what_is_chosen_is_deleted_and_each_tag_counts_by_itself",),
    ),
    Fault(
        PRUNING,
        "            series[tag].append(time)\n",
        "            series[None].append(time)\n",
        "of a tag with rare savepoints none is left",
        (f"{OPS}::test_only_what_is_chosen_is_deleted_and_each_tag_counts_by_itself",),
    ),
    Fault(
        PRUNING,
        "    liveness.no_lock_in_use(session.table, signs, session.locking)\n",
        "",
        "savepoints are deleted beside a process that has the lock",
        (ALIKE,),
    ),
    Fault(
        PRUNING,
        "    no_pending_restore(session.table, signs)\n",
        "",
        "savepoints are deleted while a restore is pending",
        (ALIKE, f"{OPS}::test_13_while_a_restore_is_pending"),
    ),
    Fault(
        PRUNING,
        "        if is_ahead(session.table, entry):\n",
        "        if False:\n",
        "a savepoint of a wrong clock makes all others old",
        (f"{OPS}::test_13_where_one_is_ahead_of_the_clock",),
    ),
    Fault(
        PRUNING,
        "        nothing_waits_for(signs, time)\n",
        "        pass\n",
        "the next writer rolls a commit back that only its savepoint kept",
        (f"{OPS}::test_13_where_a_rollback_is_blocked_only_by_one_of_them",),
    ),
    Fault(
        PRUNING,
        "        if spared is not None:\n",
        "        if False:\n",
        "the only savepoint that can be restored is deleted",
        (f"{OPS}::test_the_only_one_that_can_be_restored_is_kept",),
    ),
    Fault(
        PRUNING,
        "    for time in (*kept, *going):\n",
        "    for time in (*going, *kept):\n",
        "one is kept although others can be restored",
        (f"{OPS}::test_those_that_no_rule_keeps_are_deleted_and_all_else_stays",),
    ),
    Fault(
        PRUNING,
        "        check_files(facts, session.engine, commit, ways)\n",
        "",
        "beside a running writer a broken savepoint counts as one that can be restored",
        (f"{OPS}::test_beside_a_running_writer_the_files_decide",),
    ),
    Fault(
        PRUNING,
        "        own_files_only(facts, ways)\n",
        "",
        "beside a running writer a savepoint from before an upgrade counts as one that can be restored",
        (f"{OPS}::test_one_from_before_an_upgrade_is_not_the_only_one_to_stay",),
    ),
    Fault(
        PRUNING,
        "    except Conflict:\n        pass\n",
        "    except Conflict:\n        return False\n",
        "beside a running writer none can be restored, and none is ever deleted",
        (f"{OPS}::test_beside_a_running_writer_the_files_decide",),
    ),
    Fault(
        PRUNING,
        "            _look(session, plan, going[:number])\n",
        "",
        "what comes in between two deletions is not seen",
        (ALIKE,),
    ),
    Fault(
        PRUNING,
        "            run.held.check()\n",
        "",
        "savepoints are deleted although another has taken the claim over",
        (f"{LOOKS}::test_none_goes_when_the_claim_is_lost",),
    ),
    Fault(
        PRUNING,
        "    if moved:\n",
        "    if False:\n",
        "a savepoint is deleted by which another one was to be kept, and that is gone",
        (ALIKE,),
    ),
    Fault(
        PRUNING,
        "timeline.seen(file) for entry in timeline.having(SAVEPOINT)",
        "(file.name, 0, 0) for entry in timeline.having(SAVEPOINT)",
        "a savepoint is deleted whose tag was taken away",
        (ALIKE,),
    ),
    Fault(
        PRUNING,
        "        if again:\n",
        "        if False:\n",
        "savepoints are said to be deleted that are there",
        (f"{LOOKS}::test_3_where_one_is_there_again",),
    ),
    Fault(
        PRUNING,
        "    return tuple(time for time in bare if time in named)\n",
        "    return tuple(bare)\n",
        "what another process has just begun is deleted",
        (f"{OPS}::test_what_a_prune_that_died_has_left_is_deleted_and_no_other",),
    ),
    Fault(
        PRUNING,
        "map(str, found) if isinstance(found, list) else ()",
        "map(str, found)",
        "odd words in a record end the command with a traceback",
        (f"{OPS}::test_odd_words_in_a_record_choose_nothing",),
    ),
    Fault(
        HELD,
        "if bits & given == bits)",
        "if bits & given)",
        "bytes are promised that other savepoints hold",
        (OPS,),
    ),
    Fault(
        HELD,
        '.difference(split_names(required.get(path, "")))',
        "",
        "bytes are promised that readers require",
        (OPS,),
    ),
    Fault(
        SAVED,
        'split(", "), going, "savepoint")',
        'split(", "), (), "savepoint")',
        "a saved plan deletes a savepoint that it does not name",
        (f"{LINE}::test_12_for_a_saved_plan_where_there_is_another_savepoint",),
    ),
    Fault(
        SAVED,
        '        before, now = ({**found, SAVEPOINTS: ""} for found in (saved.fingerprint, plan.fingerprint))\n',
        "        before, now = (saved.fingerprint, plan.fingerprint)\n",
        "a saved plan that died cannot be finished",
        (f"{LINE}::test_a_saved_plan_is_finished",),
    ),
    Fault(
        DUE,
        "        if made and timedelta(0) <= now - made.astimezone(timezone.utc) <",
        "        if made and now - made.astimezone(timezone.utc) <",
        "after a commit of a wrong clock none is made for long",
        (f"{LINE}::test_it_is_due_by_the_age_of_the_savepointed_commit",),
    ),
    Fault(
        DUE,
        "_ENOUGH = 0.9\n",
        "_ENOUGH = 1.0\n",
        "a job that starts a little earlier makes none",
        (f"{LINE}::test_it_is_due_by_the_age_of_the_savepointed_commit",),
    ),
    Fault(
        DUE,
        "            if head is not None and tag_of(head.comment) == tag:\n",
        "            if head is not None:\n",
        "none is made since there is one with another tag",
        (f"{LINE}::test_only_a_young_one_with_the_same_tag_counts",),
    ),
    Fault(
        DUE,
        "    timeline = load_timeline(table)\n    clock.writers_zone(table, timeline)\n    now",
        "    timeline = load_timeline(table)\n    now",
        "ages are wrong by hours, and none is made",
        (f"{LINE}::test_13_in_another_zone_than_the_writers",),
    ),
    Fault(
        PRUNING,
        "if one in bare and bare[one] <= at_ms)",
        "if one in bare)",
        "the savepoint that another process is creating is deleted",
        (f"{OPS}::test_a_savepoint_that_another_process_begins_again_is_not_what_a_prune_has_left",),
    ),
)
