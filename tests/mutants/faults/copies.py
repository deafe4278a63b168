"""What a copy gets, and the savepoint that protects its source."""

from tests.mutants.fault import Fault

HERE = ("ops/copy/test_protection.py",)
ENDED = ("ops/copy/test_ended.py",)
RIGHTS = ("ops/copy/test_copy.py::test_access_rights",)

FAULTS = (
    Fault(
        "ops/copy/planning.py",
        "if entry.pending and entry.action != COMPACTION}",
        "if entry.pending}",
        "a copy's readers see rows of later commits, in slices that a pending compaction has opened",
        HERE,
    ),
    Fault(
        "ops/copy/planning.py",
        "    if other and options.savepoint:\n",
        "    if False:\n",
        "a copy relies on a savepoint that another copy's end deletes",
        HERE,
    ),
    Fault(
        "ops/copy/planning.py",
        "    if own and not options.savepoint:\n",
        "    if False:\n",
        "a copy that is to write nothing into the table deletes a savepoint of it",
        HERE,
    ),
    Fault(
        "ops/copy/execute.py",
        "        nothing_waits_for(read_signs(table), plan.as_of)\n",
        "",
        "a copy's end deletes the savepoint that a pending restore requires",
        HERE,
    ),
    Fault(
        "ops/savepoint/pruning.py",
        " and not copied_to(head)\n",
        "\n",
        "a copy's savepoint counts as one that a prune keeps, and the operator's is deleted",
        HERE,
    ),
    Fault(
        "ops/savepoint/planning.py",
        "    if other := copied_to(metadata):\n",
        '    if other := "":\n',
        "the operator is told that there is a savepoint, and the copy's end deletes it",
        HERE,
    ),
    Fault(
        "table/properties.py",
        "        not_half_a_copy(storage)\n",
        "        pass\n",
        "half a copy is taken for a table that has lost its properties",
        ENDED,
    ),
    Fault(
        "table/salvage.py",
        "        not_half_a_copy(storage)\n",
        "        pass\n",
        "half a copy is made a table, and rows are missing",
        ENDED,
    ),
    Fault(
        "table/copied.py",
        "    if found is None or found.ended:\n",
        "    if found is None:\n",
        "the lost properties of a finished copy cannot be repaired",
        ENDED,
    ),
    Fault(
        "ops/copy/planning.py",
        "    wrong = differences(session, plan, target)\n",
        "    wrong: list[str] = []\n",
        "half a copy is said to be done",
        ENDED,
    ),
    Fault(
        "ops/copy/planning.py",
        "there and ended and not own",
        "there and ended",
        "the temporary savepoint of a finished copy stays for good",
        ENDED,
    ),
    Fault(
        "ops/copy/execute.py",
        "    if read_target(target, plan.record)[1] is not plan.there:\n",
        "    if False:\n",
        "files are copied into a table that another has just finished",
        ENDED,
    ),
    Fault(
        "ops/copy/verify.py",
        "        wrong = [path for paths in found for path in paths]\n",
        "",
        "a copy without its rollback blocks is said to be done: readers see rows of later instants",
        ENDED,
    ),
    Fault(
        "ops/copy/verify.py",
        "if plan.properties.items() <= properties.items() else",
        "if True else",
        "half a copy with properties that were guessed is said to be done",
        ENDED,
    ),
    Fault(
        "storage/local.py",
        "            mode &= found.st_mode | stat.S_IRWXU\n",
        "            pass\n",
        "a copy makes private data readable for everyone",
        RIGHTS,
    ),
    Fault(
        "ops/copy/execute.py",
        "    target.create_base(source)\n",
        "",
        "a copy below a folder of everyone's, as /tmp, can be written by everyone",
        RIGHTS,
    ),
    Fault(
        "cli/environment.py",
        '            "copied_alone",\n',
        "",
        "by a variable that was set for another command, a copy has one partition alone",
        ("cli/test_copy.py",),
    ),
    Fault(
        "workers.py",
        "        if sync and not linked:\n",
        "        if sync:\n",
        "a restore beside a link to a folder stops after its deletions, and nothing ends it",
        ("ops/restore/test_strangers.py",),
    ),
    Fault(
        "ops/clean_up/orphans.py",
        "    if orphan.file.partition in facts.sweep.linked:\n",
        "    if False:\n",
        "orphans behind a link are planned to be deleted, and are not",
        ("ops/clean_up/test_orphans.py",),
    ),
)
