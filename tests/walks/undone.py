"""What hudictl does with --keep-files, whole or killed, is undone: then all files and rows are as before it."""

from collections.abc import Collection, Mapping
from pathlib import Path
from random import Random

from tests.interop.judge import JudgeError
from tests.walks.probe import AT_ONCE, CHANGES, Probe, way_on
from tests.walks.table import DEATH
from tests.walks.verdict import kind

OWN = ".hoodie/.hudictl"
# Left over: the next change of the file itself clears it. Or lost by a death beside it: a checksum, that nobody misses.
LEFT = (".hoodie/hoodie.properties.backup", "..hoodie_partition_metadata.crc", ".hoodie/.hoodie.properties.crc")
Body = tuple[bytes, int]


def is_undone(probe: Probe, words: list[str], what: str) -> bool:
    """By chance, does it with --keep-files and undoes it. Whether the walk is to go on with the undone state, and not
    with what ``words`` do once more; they may keep files then, which are never put back.

    It has chances of its own: the probe's are those that it has without this.
    """
    own = Random(repr(probe.chance.getstate()))
    if own.random() >= (0.25 if probe.light else 0.5):
        return False
    keeping = [*words, "--keep-files"]
    plan = probe.ask(*keeping, "--plan")
    # 3: a rollback that Hudi has begun can keep no files, and is the only one.
    if plan.refused or (plan.code == 3 and words[0] == "failed-writes"):
        probe.refusals.append(plan.reason)
        return False
    files, rows, found = _files(probe.table.base), _rows(probe), _findings(probe)
    earlier = {row["undo"] for row in probe.ask("undo", "list").result}
    if not _done(probe, keeping, own, what) or not _undo(probe, earlier, own, what):
        return False
    probe.undone += 1
    what = f"{what}, undone"
    if different := _different(files, _files(probe.table.base)):
        probe.problem(f"{what}: not as before: {different[:6]}")
    elif (now := _rows(probe)) != rows:
        probe.problem(f"{what}: rows were {rows}, and are {now}")
    elif (now := _findings(probe)) != found:
        probe.problem(f"{what}: check found {found}, and finds {now}")
    if own.random() < 0.3:
        words.append("--keep-files")
    # With nothing done, readers would not see the rows of the model.
    return words[0] in ("restore", "rollback") and not probe.table.undone and own.random() < 0.4


def _done(probe: Probe, keeping: list[str], own: Random, what: str) -> bool:
    """Does it, or a part of it; whether there is something to undo, or to find as before."""
    kill_at = own.randrange(CHANGES * 3 // 2) if own.random() < 0.5 else None
    done = probe.ask(*keeping, "--yes", kill_at=kill_at)
    if done.code is not None and done.code != 0:
        probe.problem(f"{what}: planned, but {done}")
        return False
    way = own.choice(("", "", "again", "resume"))
    if done.code is None:
        probe.table.past.add(DEATH)
    if done.code is None and way:
        return way_on(probe, keeping, way, f"{what}, killed at change {kill_at}", None)
    return True


def _undo(probe: Probe, earlier: Collection[str], own: Random, what: str) -> bool:
    """Undoes all that has kept files now, newest first: an attempt that died before its request has kept some of its
    own. By chance it is killed once."""
    kept = [row for row in probe.ask("undo", "list").result if row["undo"] not in earlier]
    kill_at = own.randrange(CHANGES) if own.random() < 0.3 else None
    for row in kept:
        words = ("undo", row["undo"], *AT_ONCE)
        if (plan := probe.ask(*words, "--plan")).code != 0:
            probe.problem(f"{what}: no plan: {plan}")
            return False
        done = probe.ask(*words, "--yes", kill_at=kill_at)
        if done.code is None:
            probe.table.past.add(DEATH)
            left = [one["undo"] for one in probe.ask("undo", "list").result]
            done = probe.ask(*words, "--yes") if row["undo"] in left else plan
        if done.code != 0:
            probe.problem(f"{what}: {done}, killed before at {kill_at}")
            return False
    return True


def _files(base: Path) -> dict[str, Body]:
    """All files but hudictl's own, with content and modification time."""
    found = {path.relative_to(base).as_posix(): path for path in base.rglob("*") if path.is_file()}
    return {
        name: (path.read_bytes(), path.stat().st_mtime_ns)
        for name, path in found.items()
        if not name.startswith(OWN) and not name.endswith(LEFT)
    }


def _different(before: Mapping[str, Body], now: Mapping[str, Body]) -> list[str]:
    """The files that are gone, new, or changed, or have another time."""
    gone = [f"{name} is gone" for name in before.keys() - now.keys()]
    new = [f"{name} is new" for name in now.keys() - before.keys()]
    both = [(name, before[name], now[name]) for name in before.keys() & now.keys()]
    changed = [f"{name} is changed" for name, old, new_ in both if old[0] != new_[0]]
    times = [f"{name} has another time" for name, old, new_ in both if old[0] == new_[0] and old[1] != new_[1]]
    return sorted(gone + new + changed + times)


def _rows(probe: Probe) -> list[object]:
    """What Hudi's readers find by listing, and through the metadata table; or their errors."""
    found: list[object] = []
    for metadata in (False, True):
        try:
            found.append(probe.table.hudi.rows(probe.table.base, metadata))
        except JudgeError as error:
            found.append(kind(error.errors[-1]))
    return found


def _findings(probe: Probe) -> list[tuple[str, str]]:
    """What check finds, but for what a death leaves in hudictl's own folder, and what the next change clears."""
    found = ((row["finding"], row["subject"]) for row in probe.ask("check", *AT_ONCE).result)
    return sorted(
        (finding, subject)
        for finding, subject in found
        if not subject.startswith(f"{OWN}/") and not subject.endswith(LEFT)
    )
