"""What Hudi says of a table: its readers, its indexes, its writers and its services."""

import re
from collections.abc import Iterator, Mapping
from random import Random

from tests.interop.judge import JudgeError
from tests.interop.make_overlaps import ONE_VERSION
from tests.interop.scenarios import Row
from tests.walks import steps
from tests.walks.findings import unexpected
from tests.walks.kept import listed
from tests.walks.product import ask
from tests.walks.rows import Write
from tests.walks.table import Table

# 0.15.0 cannot make a record index anew where a compaction is pending: nor after its own `delete_metadata_table`.
KNOWN = re.compile(
    r"^v6 record .*fails: NoSuchElementException: No value present in Option"
    # No release compacts the logs of consistent hashing: it takes their ids for numbers.
    r"|^v\d hashing compaction fails: NumberFormatException: For input string"
    # 1.2.0's clean by file versions, where nothing is left to clean.
    r"|^v9 .*clean fails: IllegalArgumentException: For empty cleans"
)


def judged(table: Table, rows: Mapping[int, Row], chance: Random, light: bool = False) -> list[str]:
    """What is wrong with a table whose rows should be these; writes into it, unless it is to be light."""
    if wrong := table.wrong_rows(rows):
        return [wrong]
    if light:
        return wrong_indexes(table) or by_hudi(table)
    return (
        list(_by_filter(table, rows, chance))
        or wrong_indexes(table)
        or by_hudi(table)
        or list(_written_on(table, rows, chance))
        or list(_further(table, chance))
    )


def wrong_indexes(table: Table) -> list[str]:
    """What is wrong with the metadata table and its indexes; only asked for in a walk with all of them."""
    if not table.shape.compact_every:
        return []
    wrong = []
    for words in (["metadata", "verify"], ["metadata", "verify", "--indexes"]):
        if (answer := ask(table.base, *words)).code != 0:
            wrong.append(f"{answer} {answer.said[:1500]}")
    return wrong


def by_hudi(table: Table) -> list[str]:
    """The same by Hudi's own readers of the indexes."""
    if not table.shape.compact_every or not table.rows or "files" not in listed(table.base):
        return []
    try:
        found = table.hudi.index_differences(table.base, sorted(table.keys), conditions=[f"ts >= {table.ts}", "id < 0"])
    except JudgeError as error:
        return [f"a reader of the indexes fails: {error.errors[-1]}"]
    # The files of what is pending are not listed yet; a file without rows has no statistics.
    found = [one for one in found if not (one.startswith("files: ") and table.pending)]
    found = [one for one in found if not one.endswith("is ('None', 'None', '0'), the index says None")]
    return [f"Hudi's readers: {len(found)} differences: {found[:4]}"] if found else []


def _further(table: Table, chance: Random) -> Iterator[str]:
    """Writes over the next compaction of the metadata table; then all must be right again."""
    acts = [steps.upsert, steps.delete, steps.insert, steps.upsert, steps.delete][: table.shape.compact_every]
    for act in acts:
        try:
            act(table, chance)
        except JudgeError as error:
            yield f"a further {act.__name__} fails: {error.errors[-1]}"
            return
    if acts and (wrong := table.wrong_rows()):
        yield f"after further writes: {wrong}"
    elif acts:
        yield from (f"after further writes: {wrong}" for wrong in wrong_indexes(table) or by_hudi(table))


def _by_filter(table: Table, rows: Mapping[int, Row], chance: Random) -> Iterator[str]:
    """Each key and value is found through the indexes, and none that is not there."""
    if not rows:
        return
    row = rows[chance.choice(sorted(rows))]
    conditions = {
        f"id = {row[0]}": [row[0]],
        f"val = '{row[2]}'": [row[0]],
        f"ts >= {row[1]}": sorted(one[0] for one in rows.values() if one[1] >= row[1]),
        "id = -1": [],
    }
    conditions = {one: conditions[one] for one in chance.sample(sorted(conditions), 2)}
    try:
        found = table.hudi.call("filtered", path=table.base, conditions=list(conditions))
    except JudgeError as error:
        yield f"a filtered read fails: {error.errors[-1]}"
        return
    for (condition, expected), answer in zip(conditions.items(), found, strict=True):
        if sorted(one[0] for one in answer) != expected:
            yield f"{condition} finds {sorted(one[0] for one in answer)}, not {expected}"


def _written_on(table: Table, rows: Mapping[int, Row], chance: Random) -> Iterator[str]:
    """An upsert of all keys makes no duplicates and sees no ghosts; the services pass."""
    table.writes, table.ts = [Write("", tuple(rows.values()))], table.ts + 1000
    changed = [[one[0], table.ts, f"after {one[0]}", *one[3:]] for one in rows.values()]
    changed += table.batch(chance, 2, known=False)
    services = [steps.compaction, steps.clustering, clean, steps.archive]
    chance.shuffle(services)
    acts: list[steps.Step] = [lambda table, _: put_all(table, changed), *services[: chance.choice((0, 1, 2))]]
    for name, act in zip(("an upsert of all keys", *(act.__name__ for act in services)), acts, strict=False):
        try:
            act(table, chance)
        except JudgeError as error:
            if not KNOWN.match(f"{table.hudi.version} {table.shape.index} {name} fails: {error.errors[-1]}"):
                yield f"{name} fails: {error.errors[-1]}"
            return
        if wrong := table.wrong_rows():
            yield f"after {name}: {wrong}"
            return
        table.past.add(name)
        if wrong := wrong_indexes(table):
            yield f"after {name}: {wrong[0]}"
            return
        if not table.interrupted and (found := unexpected(table, ask(table.base, "check", "--idle", "0s"))):
            yield f"after {name}, check: {found}"
            return


def put_all(table: Table, rows: list[Row]) -> bool:
    """An upsert; where Hudi refuses it for a clustering that is pending, once more without that one.

    Such a refusal is a setting (``Shape.allow_updates``), and no harm: but what it hides is to be seen.
    """
    try:
        return steps.put(table, rows)
    except JudgeError as error:
        pending = [entry for entry in table.pending if entry.action in ("clustering", "replacecommit")]
        if not pending or not error.errors[-1].startswith("HoodieClusteringUpdateException"):
            raise
    # Its execution would prove nothing: below table version 8 the plan names the files of the table, not of a copy.
    for entry in sorted(pending, key=lambda entry: entry.time, reverse=True):
        table.hudi.rollback(table.base, entry.time, table.shape.options)
    return steps.put(table, rows)


def clean(table: Table, chance: Random) -> bool:
    """All but the newest version of each file."""
    table.hudi.clean(table.base, {**table.shape.options, **ONE_VERSION})
    return True


def alike(problem: str, other: str) -> bool:
    """Whether two problems are one. Where several groups of a clustering fail, Hudi names the error of one of them, or
    only that the others were cancelled: by chance."""
    step, _, error = problem.partition(" fails: ")
    cancelled = "CancellationException" in error + other.partition(" fails: ")[2]
    return kind(problem) == kind(other) or (cancelled and other.startswith(f"{step} fails: "))


def kind(problem: str) -> str:
    """A problem without times, names and numbers."""
    return re.sub(r"[0-9a-f]{8}-\S*|\d+|/\S*", "_", problem)[:80]
