"""``timeline quarantine``: what proves what a damaged file said."""

from tests.mutants.fault import Fault

COMMITS = "ops/repair/commits.py"
EXTRA = "ops/repair/extra_metadata.py"
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
        "kept = keeping_files(session, plan.kind, [run.time], [plan.target], asked=True, written=plan.written).table\n",
        "kept = session.table\n",
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
        "repair_workers.py",
        ' or block.header.get(IS_PARTIAL) == "true"',
        "",
        "the columns that a partial update has left out are gone, and the next compaction loses their values",
        ("ops/repair/test_extra_metadata.py",),
    ),
    Fault(
        "formats/parquet_footers.py",
        'HUDIS = frozenset({*META_COLUMNS, "_hoodie_operation"})',
        'HUDIS = frozenset({*META_COLUMNS, "_hoodie_operation", "_hoodie_is_deleted"})',
        "the column of a table that says which rows are deleted is gone",
        ("ops/repair/test_extra_metadata.py",),
    ),
    Fault(
        "repair_workers.py",
        "    return Written(path, rows, schemas=whole, parts=parts, deletes=deletes)\n",
        "    return Written(path, schemas=whole, parts=parts)\n",
        "`compaction validate` takes a log that a plan has left out for one without rows",
        ("ops/repair/test_commits.py",),
    ),
    Fault(
        EXTRA,
        "    if operation.startswith(_ALTERS):\n",
        "    if False:\n",
        "a change of the schema is taken back",
    ),
    Fault(
        EXTRA,
        "parse_json(near[_EVOLVED]) != history:",
        "False:",
        "a write gets the evolved schema of another: queries fail, or find renamed columns empty",
    ),
    Fault(
        EXTRA,
        "    if history is not None or any(",
        "    if any(",
        "the first write with schema evolution loses it: queries fail",
    ),
    Fault(
        EXTRA,
        "        if before is None or after is None or _fields(before) != _fields(after):\n",
        "        if False:\n",
        "a write of which no file is left takes a change of the schema back",
    ),
    Fault(
        EXTRA,
        "    if not fits or any(",
        "    if any(",
        "a bulk insert loses its new column",
    ),
    Fault(
        EXTRA,
        "any(part.items() - columns.items() for part in parts)",
        "False",
        "a partial update, or a delete, loses a column that it has brought",
    ),
    Fault(
        EXTRA,
        'all(columns[name] in (text, f"{text}?") for name, text in table.items())',
        "True",
        "a column of a bulk insert gets its old type: queries fail",
    ),
    Fault(
        COMMITS,
        ' and fields.get("operationType") not in SERVICES:',
        ":",
        "the schema of a compaction, which its writer has read long ago, becomes that of a write",
        ("ops/repair/test_extra_metadata.py",),
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
        "        return Way.FROM_RESULT if _is_archived(table, file) else Way.UNUSED\n",
        "        return Way.UNUSED\n",
        "Hudi 0.15.0 can no longer archive, and no writer starts",
        ("ops/repair/test_timeline.py",),
    ),
    Fault(
        TIMELINE,
        "plans.encode_compaction_plan(slices_before(facts, found.file.time, groups))",
        "plans.encode_compaction_plan(())",
        "a compaction whose completed file is removed plans nothing: readers miss the rows of later logs",
    ),
    Fault(
        DAMAGED,
        "        if State.COMPLETED not in sound:\n",
        "        if False:\n",
        "the plan of a pending instant is emptied",
    ),
)
