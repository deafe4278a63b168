"""The metadata table after a command of hudictl: what was planned for it, what is there, and what Hudi made anew."""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hudictl.formats.commit_metadata import decode

# What begins an index, or the whole table: from version 8 on times of zeros, below it a suffix to the latest time.
_BEGINNING = re.compile(r"^(0{14}\d*|\d{17}01\d)[_.]\S*deltacommit$")


@dataclass
class Outcome:
    """What was planned for a metadata table, and what came of it. ``deleted``: the partitions with their reasons;
    ``lost``: what was to be kept, and is lost because hudictl died, which is a pity and not wrong."""

    command: str
    fate: str
    reason: str = ""
    kept: list[str] = field(default_factory=list)
    deleted: dict[str, str] = field(default_factory=dict)
    ended: str = "whole"
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def planned(command: str, plan: Any, partitions: Collection[str]) -> Outcome:
    """The outcome that a plan promises to a table with these listed partitions; "unsaid" where it does nothing."""
    found = plan.get("metadata_table") if isinstance(plan, dict) else None
    if not isinstance(found, dict) or (found["fate"] == "none" and partitions) or plan.get("nothing_to_do"):
        return Outcome(command, "unsaid" if partitions else "none")
    states = found["partitions"]
    kept = sorted(one["partition"] for one in states if one["fate"] == "kept")
    deleted = {one["partition"]: plain(one["reason"] or "") for one in states if one["partition"] in partitions}
    deleted = {name: reason for name, reason in deleted.items() if name not in kept}
    return Outcome(command, found["fate"], plain(found["reason"] or ""), kept, deleted)


def plain(reason: str) -> str:
    """A reason without times, names of files and numbers, so that like ones can be counted."""
    return re.sub(r"\S*[a-z]+-\d{4}-\d+\S*|[0-9a-f]{8}-\S*|\d[\d:.-]*(?: \d\d:\d\d(:\d\d(\.\d+)?)?)?|/\S*", "_", reason)


def listed(base: Path) -> frozenset[str]:
    """The partitions of the metadata table that readers use."""
    lines = (base / ".hoodie/hoodie.properties").read_text().splitlines()
    names = dict(line.split("=", 1) for line in lines if "=" in line).get("hoodie.table.metadata.partitions", "")
    return frozenset(name for name in names.replace("\\", "").split(",") if name)


@dataclass(frozen=True)
class Metadata:
    """A metadata table's listed partitions, and the names of the files on its active timeline."""

    partitions: frozenset[str]
    instants: frozenset[str]
    archives: bool

    @property
    def first(self) -> str:
        return min((re.split(r"[_.]", name)[0] for name in self.instants), default="")


def metadata_of(base: Path) -> Metadata:
    """Of a table as it is now."""
    folder = _timeline(base)
    names = frozenset(path.name for path in folder.glob("[0-9]*") if path.is_file())
    archives = [path for name in ("archived", "history") for path in (folder / name).glob("*")]
    return Metadata(listed(base), names, bool(archives))


def _timeline(base: Path) -> Path:
    """The folder of the metadata table's instants."""
    own = base / ".hoodie/metadata/.hoodie"
    return own / "timeline" if (own / "timeline").is_dir() else own


def not_as_planned(outcome: Outcome, found: Metadata) -> list[str]:
    """What an executed command has left otherwise than its plan says."""
    if not outcome.kept and not outcome.deleted:  # nothing was promised
        return []
    lost, more = set(outcome.kept) - found.partitions, found.partitions - set(outcome.kept)
    wrong = [f"partitions were to be kept, and are not listed: {sorted(lost)}"] if lost else []
    wrong += [f"partitions are listed that were not to be kept: {sorted(more)}"] if more else []
    if outcome.fate == "deleted" and found.instants:
        wrong.append("the metadata table was to be deleted, and is there")
    return wrong


def made_anew(base: Path, kept: Metadata) -> list[str]:
    """What later writers of Hudi have dropped, or built once more, of partitions that were kept."""
    now = metadata_of(base)
    lost = kept.partitions - now.partitions
    wrong = [f"later writers have dropped {sorted(lost)}"] if lost else []
    if kept.first and now.first != kept.first and not now.archives:
        wrong.append(f"the metadata table began with {kept.first}, and now with {now.first or 'nothing'}")
    for name in sorted(filter(_BEGINNING.match, now.instants - kept.instants)):
        built = sorted(kept.partitions & decode((_timeline(base) / name).read_bytes(), name).stats.keys())
        wrong += [f"{built} were built once more, by {name}"] if built else []
    return wrong


def summary(outcomes: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts of outcomes, by command and fate, and of the reasons why partitions or whole tables were deleted."""
    tried: dict[str, dict[str, int]] = {}
    reasons: dict[str, dict[str, int]] = {"partitions": {}, "tables": {}}
    wrong = lost = 0

    def count(where: dict[str, int], what: str) -> None:
        where[what] = where.get(what, 0) + 1

    for one in outcomes:
        count(tried.setdefault(one["command"], {}), one["fate"])
        wrong, lost = wrong + bool(one["wrong"]), lost + bool(one["lost"])
        if one["fate"] in ("deleted", "brought forward"):
            count(reasons["tables"], f"{one['fate']}: {one['reason']}")
        if one["fate"] not in ("deleted", "brought forward"):
            for name, reason in one["deleted"].items():
                count(reasons["partitions"], f"{name}: {reason}")
    return {"tried": tried, "reasons": reasons, "lost by a death": lost, "wrong": wrong}


def summary_line(outcomes: Iterable[Outcome]) -> str:
    """The summary as a line of JSON."""
    return json.dumps({"summary": summary(asdict(one) for one in outcomes)})
