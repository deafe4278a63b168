"""Savepoints, heartbeats and markers: made, proved, deleted."""

from tests.mutants.fault import Fault

EXECUTE = "ops/savepoint/execute.py"
DELETION = "ops/savepoint/deletion.py"
PLANNING = "ops/savepoint/planning.py"
LITTER = "ops/litter.py"

FAULTS = (
    Fault(
        EXECUTE,
        "    run.held.check()\n",
        "",
        "a savepoint is made beside one who has taken over",
        ("ops/savepoint/test_second_looks.py",),
    ),
    Fault(
        DELETION,
        "        run.held.check()\n",
        "",
        "a savepoint goes beside one who has taken over",
        ("ops/savepoint/test_second_looks.py",),
    ),
    Fault(
        EXECUTE,
        "    guards.not_moved(signs.timeline, plan.timeline)\n",
        "",
        "a savepoint is made of a timeline that has moved",
        ("ops/savepoint/test_savepoint.py::test_the_timeline_moves_between_plan_and_claim",),
    ),
    Fault(
        EXECUTE,
        ("    check_signs(session, signs, find_commit(session.table, signs.timeline, plan.target), plan.options)\n"),
        "",
        "a savepoint is made beside a writer who has the lock by now",
        ("ops/savepoint/test_second_looks.py",),
    ),
    Fault(
        EXECUTE,
        "    recover_properties(session.table.storage)\n",
        "",
        "an interrupted update of the properties stays beside a savepoint",
        ("ops/savepoint/test_second_looks.py",),
    ),
    Fault(
        EXECUTE,
        ("cleans = [str(entry) for entry in timeline.having(fmt.CLEAN) if not entry.names <= plan.timeline]"),
        "cleans: list[str] = []",
        "a clean that could not see the savepoint takes its files",
        ("ops/savepoint/test_savepoint.py::test_a_clean_in_between_withdraws_it",),
    ),
    Fault(
        EXECUTE,
        "    lost = sweep(table, session.engine, plan.file_names).absent(plan.file_names)\n",
        "    lost: list[str] = []\n",
        "a savepoint names a file that is gone",
        ("ops/savepoint/test_savepoint.py::test_a_clean_in_between_withdraws_it",),
    ),
    Fault(
        EXECUTE,
        "    if name not in timeline.modified_ms:\n",
        "    if False:\n",
        "a savepoint that somebody has deleted counts as made",
        ("ops/savepoint/test_second_looks.py",),
    ),
    Fault(
        EXECUTE,
        ("        if not plan.exists:\n            delete_instant"),
        ("        if True:\n            delete_instant"),
        "a savepoint that was there before goes",
        ("ops/savepoint/test_second_looks.py",),
    ),
    Fault(
        EXECUTE,
        "            delete_instant(table, timeline.find(plan.target, fmt.SAVEPOINT))\n",
        "            pass\n",
        "a savepoint stays that does not hold",
        ("ops/savepoint/test_savepoint.py::test_a_clean_in_between_withdraws_it",),
    ),
    Fault(
        DELETION,
        "    guards.not_moved(signs.timeline, plan.timeline)\n",
        "",
        "a savepoint goes though the timeline has moved",
        ("ops/savepoint/test_second_looks.py",),
    ),
    Fault(
        DELETION,
        ("    _check_deletion(session, signs, plan.target)\n    session"),
        "    session",
        "a savepoint goes to which a restore has begun since",
        ("ops/savepoint/test_second_looks.py",),
    ),
    Fault(
        LITTER,
        ("    def work(run: Begun[None]) -> HeartbeatRow:\n        run.held.check()\n"),
        "    def work(run: Begun[None]) -> HeartbeatRow:\n",
        "a heartbeat goes beside one who has taken over",
        ("ops/test_litter_heartbeats.py",),
    ),
    Fault(
        LITTER,
        ("    def work(run: Begun[None]) -> MarkerFolderRow:\n        run.held.check()\n"),
        "    def work(run: Begun[None]) -> MarkerFolderRow:\n",
        "markers go beside one who has taken over",
        ("ops/test_litter_markers.py",),
    ),
    Fault(
        LITTER,
        "        if (now.state, now.last_beat_utc) != (shown.state, shown.last_beat_utc):\n",
        "        if False:\n",
        "a heartbeat goes that has beaten since it was shown",
        ("ops/test_litter_heartbeats.py",),
    ),
    Fault(
        LITTER,
        "        if now != shown:\n",
        "        if False:\n",
        "markers go that have come since they were shown",
        ("ops/test_litter_markers.py",),
    ),
    Fault(
        LITTER,
        "        session.table.storage.sync(HEARTBEATS)\n",
        "",
        "a heartbeat comes back after a power failure",
        ("ops/test_litter_heartbeats.py",),
    ),
    Fault(
        DELETION,
        "        if entry.target == instant and rollback.time < begun:\n",
        "        if entry.target == instant:\n",
        "a savepoint cannot go because of a pending restore's own rollbacks",
        ("ops/savepoint/test_second_looks.py",),
    ),
    Fault(
        PLANNING,
        "    if commit.time < retained:\n",
        "    if False:\n",
        "a savepoint is made of a commit that was cleaned",
        ("ops/savepoint/test_savepoint.py::test_what_the_last_clean_has_not_kept_whole_is_refused",),
    ),
    Fault(
        PLANNING,
        "    if commit.time < retained:\n",
        "    if commit.time <= retained:\n",
        "the oldest whole commit cannot be saved",
        ("ops/savepoint/test_savepoint.py::test_what_the_last_clean_has_not_kept_whole_is_refused",),
    ),
    Fault(
        PLANNING,
        "    guards.nothing_archived_after(table, commit.time)\n",
        "",
        "a savepoint is made to which no restore is possible",
        ("ops/savepoint/test_savepoint.py::test_a_commit_in_the_archive_is_none",),
    ),
    Fault(
        PLANNING,
        "    clock.writers_zone(table, signs.timeline)\n",
        "",
        "a savepoint has its time in a wrong zone",
        ("ops/guards/test_clock.py",),
    ),
)
