"""``timeline quarantine``: what proves what a damaged file said."""

from tests.mutants.fault import Fault

COMMITS = "ops/repair/commits.py"
PLAN = "ops/repair/plan.py"
TIMELINE = "ops/repair/timeline.py"
DAMAGED = "state/timeline/damaged.py"

FAULTS = (
    Fault(
        PLAN,
        "        if again() != plan:\n",
        "        if False:\n",
        "files are changed that nobody has seen in the plan",
    ),
    Fault(
        PLAN,
        "        kept = keeping_files(session, plan.kind, [run.time], [plan.target], asked=True).table\n",
        "        kept = session.table\n",
        "nothing is kept: the repair cannot be undone",
    ),
    Fault(
        COMMITS,
        "    for partition, name in sorted(expected - own):\n",
        "    for partition, name in ():\n",
        "a commit loses a file that the metadata table lists",
    ),
    Fault(
        COMMITS,
        "        if name not in listed.get(partition, ()):\n",
        "        if False:\n",
        "the file of a task that was tried again becomes one of the commit: rows are there twice",
    ),
    Fault(
        COMMITS,
        "    _once_in_each_slice(found, files)\n",
        "",
        "two base files of one slice are in the commit",
    ),
    Fault(
        COMMITS,
        " if _is_told_by_name(file.data) or (file.partition, file.data.name) in logs]\n",
        "]\n",
        "logs that another write has appended to a slice become this one's",
    ),
    Fault(
        TIMELINE,
        "        if entry.instant.pending and quiet_ms < idle_ms:\n",
        "        if False:\n",
        "the plan of a restore is replaced while Hudi writes it",
    ),
    Fault(
        TIMELINE,
        "[name for name in names if data_path(path, name) not in absent]",
        "[]",
        "a clean says that it has deleted what is still there",
    ),
    Fault(
        DAMAGED,
        '    return body[:middle] if body and body == body[:middle] * 2 else b""\n',
        "    return body[:middle]\n",
        "half of a file that is not doubled takes its place",
    ),
    Fault(
        "state/services/harmful_cleans.py",
        "    if not count or len(facts.sweep.absent(planned)) < count:\n",
        "    if False:\n",
        "a clean that has died in the middle is called done: the rest of its files stays forever",
        ("ops/repair/test_timeline.py",),
    ),
    Fault(
        "state/services/harmful_cleans.py",
        "    return metadata is None or (told is not None and told.completed)\n",
        "    return True\n",
        "the metadata table goes on to list what the clean has deleted",
        ("ops/repair/test_timeline.py",),
    ),
    Fault(
        DAMAGED,
        "        return Way.UNUSED if State.COMPLETED in sound else None\n",
        "        return Way.UNUSED\n",
        "the plan of a pending instant is emptied",
    ),
)
