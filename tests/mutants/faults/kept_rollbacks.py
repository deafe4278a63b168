"""Rollbacks that keep their files, and die: the room that some share, and what may begin beside it."""

from tests.mutants.fault import Fault

KEPT = "table/kept.py"
ROOMS = ("ops/rollback/test_keep_files.py",)

FAULTS = (
    Fault(
        KEPT,
        "(room for room in rooms if room is not None and time in room.times)",
        "(room for room in rooms if room is None)",
        "of rollbacks that ran together and died, all but the first go on and delete for good",
        ROOMS,
    ),
    Fault(
        KEPT,
        "    rooms = (read_room(table, name) for name in earlier)\n",
        "    rooms = (read_room(table, name) for name in earlier if can_go_on(table, name))\n",
        "where the record of the room that they share is damaged, they go on and delete for good",
        ROOMS,
    ),
    Fault(
        "ops/session.py",
        "    found = room_of if kind is Kind.ROLLBACK else read_room\n",
        "    found = read_room\n",
        "of rollbacks that ran together and died, all but the first go on and delete for good",
        ROOMS,
    ),
    Fault(
        KEPT,
        "if room_of(table, time) is None] if asked else []\n",
        "if read_room(table, time) is None] if asked else []\n",
        "rollbacks that ran together and died are never ended by the same command",
        ROOMS,
    ),
    Fault(
        "ops/rollback/planning.py",
        "for entry, _ in stored)}, asked=options.keep_files)\n",
        "for entry, _ in stored)}, asked=False)\n",
        "two rollbacks that keep their files run one inside the other, and none can be undone",
        ROOMS,
    ),
    Fault(
        "ops/rollback/together.py",
        "    keeps_alone(table, signs, ended, asked=any(given.keep_files for given in options.values()))\n",
        "",
        "so do rollbacks of failed writes that run together",
        ROOMS,
    ),
    Fault(
        "ops/rollback/execute.py",
        "    keeps_alone(table, signs, known, asked=any(plan.options.keep_files for plan in plans))\n",
        "",
        "so does one that was planned before the other began",
        ROOMS,
    ),
    Fault(
        "ops/guards/rollback.py",
        "    if not asked or any(room_of(table, time) for time in own):\n",
        "    if any(room_of(table, time) for time in own):\n",
        "beside a rollback that keeps its files no other one can begin",
        ROOMS,
    ),
    Fault(
        "ops/rollback/failed.py",
        "    first = {one.target for one in begun}\n",
        "    first: set[str | None] = set()\n",
        "a clean-up with kept files does the rest beside what has begun, and is refused",
        ROOMS,
    ),
    Fault(
        "ops/rollback/failed.py",
        "    ended = {one.instant.time for one in begun}\n",
        "    ended: set[str] = set()\n",
        "the plan of a clean-up with kept files refuses what the clean-up would do",
        ROOMS,
    ),
    Fault(
        "ops/rollback/execute.py",
        "run.options.keep_files or any(room_of(run.table, time) for time in run.ended if time not in run.times)\n",
        "run.options.keep_files\n",
        "what supersedes a rollback that keeps its files deletes the rest of them for good",
        ROOMS,
    ),
    Fault(
        "ops/rollback/execute.py",
        "    remove_traces(table, run.ended)\n",
        "    remove_traces(table, run.times)\n",
        "heartbeat and markers of a superseded rollback stay for good",
        ("ops/rollback/test_execute.py::test_hudis_own_that_names_another_place_is_superseded",),
    ),
    Fault(
        "ops/clean_up/litter.py",
        "        if entry.instant.time == rollback:\n",
        "        if False:\n",
        "a way out is told that ends no rollback",
        ("ops/clean_up/test_litter_markers.py",),
    ),
)
