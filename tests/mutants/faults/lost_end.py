"""A timeline that has lost its end, and files of archived commits that readers would take for uncommitted."""

from tests.mutants.fault import Fault

ENDS = ("ops/test_lost_end.py",)
UNREAD = ("ops/guards/test_files.py",)

FAULTS = (
    Fault(
        "ops/restore/planning.py",
        "        file_guards.timeline_has_its_end(facts, engine, scope.options.accept_lost_instants)\n",
        "",
        "a restore starts from a timeline without its end",
        ENDS,
    ),
    Fault(
        "ops/rollback/planning.py",
        "        file_guards.timeline_has_its_end(facts, session.engine, it.options.accept_lost_instants)\n",
        "        pass\n",
        "so does a rollback",
        ENDS,
    ),
    Fault(
        "ops/rollback/together.py",
        "    file_guards.timeline_has_its_end(facts, session.engine, given.accept_lost_instants)\n",
        "",
        "so do rollbacks of failed writes that run together",
        ENDS,
    ),
    Fault(
        "ops/savepoint/planning.py",
        "    file_guards.timeline_has_its_end(facts, session.engine, options.accept_lost_instants)\n",
        "",
        "a savepoint is created on one",
        ENDS,
    ),
    Fault(
        "state/orphans/lost_end.py",
        "return lost_end(facts, beyond, blocks_after_last(facts, since_ms + 1))",
        "return lost_end(facts, beyond, ())",
        "of version 6, lost instants that have only appended to logs are not seen",
        ENDS,
    ),
    Fault(
        "ops/restore/planning.py",
        '        file_guards.stays_read(facts, scope.removed, f"{scope.target} cannot be restored")\n',
        "",
        "a restore removes the compaction that has read what readers cannot",
        UNREAD,
    ),
    Fault(
        "ops/rollback/planning.py",
        "            file_guards.stays_read(facts, it.removed, refusal)\n",
        "",
        "a rollback shows readers the rows from before archived commits",
        UNREAD,
    ),
)
