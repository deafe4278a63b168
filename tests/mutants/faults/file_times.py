"""Times of files that are a copy's."""

from tests.mutants.fault import Fault

FILE = "table/timeline/file_times.py"
OWN = ("table/timeline/test_file_times.py",)

FAULTS = (
    Fault(
        FILE,
        "    if agreed * 2 < len(seen):\n",
        "    if False:\n",
        "a copy's times decide which commits are later",
        OWN,
    ),
    Fault(
        FILE,
        "_spread(moments) < min(_LATE_MS, _spread(named) / 2) and latest > _SOON_MS:\n",
        "False:\n",
        "a quick history that was copied keeps the copy's times",
        OWN,
    ),
    Fault(
        FILE,
        "min(_LATE_MS, _spread(named) / 2)",
        "_LATE_MS",
        "a young table whose requests waited for rollbacks is taken for a copy",
        OWN,
    ),
    Fault(
        FILE,
        "    odd_ones |= {time for time, at_ms in made.items() if ended[time] < at_ms}\n",
        "",
        "a commit that seems to end before its request counts as completed then",
        OWN,
    ),
    Fault(
        "table/timeline/active.py",
        "_by_request(entry) if entry.time in lost.times else entry",
        "entry",
        "times of a copy are seen, and decide all the same",
        ("ops/restore/test_copied_table.py",),
    ),
    Fault(
        "ops/restore/planning.py",
        "                _judged(facts, engine, other, backup)\n                refusal.hint",
        "                return _judged(facts, engine, other, backup)\n                refusal.hint",
        "a restore takes by itself the rule by which other commits go",
        ("ops/restore/test_overlaps.py",),
    ),
)
