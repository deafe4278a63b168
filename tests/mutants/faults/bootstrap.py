"""Tables that are bootstrapped with metadata only, whose rows are elsewhere."""

from tests.mutants.fault import Fault

BOOTSTRAP = "state/files/bootstrap.py"
LOST = ("state/files/test_bootstrap.py::test_a_lost_source",)

FAULTS = (
    Fault(
        BOOTSTRAP,
        "        found.append(replace(entry, source=source[0]) if names and source else entry)\n",
        "        found.append(entry)\n",
        "the compaction of a plan that is made again writes nulls in place of rows outside of the table",
        ("state/files/test_bootstrap.py::test_a_slice_of_a_plan_that_is_made_again_has_its_source",),
    ),
    Fault(
        BOOTSTRAP,
        "        if names and source is None:\n            path",
        "        if False:\n            path",
        "a plan is made again without the source of rows outside of the table",
        ("state/files/test_bootstrap.py::test_a_slice_of_a_plan_that_is_made_again_has_its_source",),
    ),
    Fault(
        BOOTSTRAP,
        "            elif size != length:",
        "            elif False:",
        "a source that was cut is whole",
    ),
    Fault(BOOTSTRAP, " or storage.stat(_BY_FILE) is None:", ":", "an index that readers do not use counts as there"),
    Fault(
        BOOTSTRAP,
        " or facts.timeline.find(SKELETONS, *COMMIT_ACTIONS))",
        ")",
        "lost rows are not told where the properties have lost the bootstrap",
        tests=("state/files/test_bootstrap.py::test_the_timeline_alone_tells_of_the_bootstrap",),
    ),
    Fault(BOOTSTRAP, "inside(below) if below else", "below if below else", "a path in the index leads anywhere"),
    Fault(BOOTSTRAP, "kind == its_kind and ", "", "a bucket of another store counts as the table's"),
    Fault(BOOTSTRAP, 'f"{uri}/".partition', "uri.partition", "a folder beside counts as one below"),
    Fault(
        "ops/guards/files.py",
        "for file in rowless_files(facts, engine, case) if file.finding != SOURCE_ELSEWHERE}",
        "for file in ()}",
        "a savepoint, a restore or a rollback goes to rows that are lost",
        tests=LOST,
    ),
    Fault(
        "ops/rollback/planning.py",
        "        if not it.stored:\n            file_guards.nothing_rowless",
        "        if False:\n            file_guards.nothing_rowless",
        "a rollback goes back to rows that are lost",
        tests=LOST,
    ),
    Fault(
        "ops/restore/planning.py",
        "    if not (scope.pending and scope.options.accept_loss):\n",
        "    if False:\n",
        "a restore goes back to rows that are lost",
        tests=LOST,
    ),
    Fault(
        "ops/savepoint/planning.py",
        "    file_guards.nothing_rowless(facts, engine, way.case,",
        "    () and file_guards.nothing_rowless(facts, engine, way.case,",
        "a savepoint is made on rows that are lost",
        tests=LOST,
    ),
    Fault(
        "reports/health/files.py",
        '    lost += [f"the rows of',
        '    _ = [f"the rows of',
        "a savepoint whose rows are lost counts as whole",
        tests=("state/files/test_bootstrap.py::test_a_savepoint_that_needs_a_lost_source_is_broken",),
    ),
    Fault(
        "ops/restore/scope.py",
        "            guards.no_bootstrap(removed)\n",
        "            pass\n",
        "a restore leaves half of a bootstrap",
        tests=("state/files/test_bootstrap.py::test_half_of_a_bootstrap_is_not_removed",),
    ),
    Fault(
        "state/timeline/zone.py",
        " and entry.time not in BOOTSTRAPS]",
        "]",
        "after a bootstrap the writers' zone is not seen, and instants are written in another one",
        tests=("state/timeline/test_zone.py::test_the_times_of_a_bootstrap_are_in_no_zone",),
    ),
    Fault(
        "state/writers/failed_writes.py",
        "if time in BOOTSTRAPS or not (beat",
        "if not (beat",
        "a command is named that is refused for a bootstrap that died",
    ),
)
