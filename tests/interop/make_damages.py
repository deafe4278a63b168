"""Asks the real Hudi what it makes of damaged tables: ``python -m tests.interop.make_damages v6 v8 v9``.

``tests/damage/outcomes-<version>.json``: of each table in ``judged`` (``tests/damage/cases.py``) what Hudi did with the
sound one ("sound"), and with each damaged copy ("cases"), a step after the other; and what its validators say, which
are in Hudi's utilities. What is there already is kept: delete the file to ask anew. Words behind the versions: only
cases that have one of these in their name.
"""

import json
import random
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from hudictl.table.open import open_table
from tests import support
from tests.damage.cases import Case, judged, outcome_file
from tests.damage.harms import do_harm
from tests.interop.judge import Judge, JudgeDied, JudgeError, start

FAILED = "fails"
Did = dict[str, str]
"""By step what Hudi read or did: the digest of rows, "done", or "fails: " and why; of a damaged table only
what is another than with the sound one."""
ANSWER_SECONDS = 120
DULL = ("marker", "heartbeat", "inflight", "oldest")
SERVICES = {"hoodie.cleaner.commits.retained": "1", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}


@contextmanager
def asking(version: str) -> Iterator[Callable[[], Judge]]:
    """The judge of a version, started anew where a damaged table has killed or stopped it."""
    with ExitStack() as stack:
        running: list[Judge] = []

        def get() -> Judge:
            if not running or running[-1].process.poll() is not None:
                running.append(stack.enter_context(start(version, utilities=True)))
            return running[-1]

        yield get


def changed_rows(hudi: Judge, base: Path) -> list[list[Any]]:
    """Every second row of a table, as an upsert changes it."""
    fields = [name.split(":")[0] for name in open_table(str(base)).partition_fields]
    rows = hudi.read(base, columns=("id", "ts", "val", *fields))
    return [[row[0], 9_999_999, "after the damage", *(row[3:] or [""])] for row in rows if row[0] % 2 == 0]


def did(judge: Callable[[], Judge], base: Path, rows: Sequence[Sequence[Any]], without: Collection[str] = ()) -> Did:
    """Queries; then an upsert of known rows, table services, and a query of what that left."""
    steps: dict[str, Callable[[Judge], str]] = {
        "metadata": lambda hudi: _rows(hudi, base, True),
        "listing": lambda hudi: _rows(hudi, base, False),
        "filter": lambda hudi: str(hudi.call("filtered", ANSWER_SECONDS, path=base, conditions=["id = 4"])),
        "changes": lambda hudi: _digest(hudi.call("changes", ANSWER_SECONDS, path=base)),
        "write": lambda hudi: _write(hudi, base, rows),
        "services": lambda hudi: _services(hudi, base),
        "after": lambda hudi: _rows(hudi, base, True),
    }
    found: Did = {}
    for name, act in steps.items():
        if name in without:
            continue
        try:
            found[name] = act(judge())
        except JudgeError as error:
            found[name] = f"{FAILED}: {_last(error.errors, base)}"
        except JudgeDied:
            found[name] = f"{FAILED}: no answer"
        if name == "write" and found[name].startswith(FAILED):
            break
    return found


def _rows(hudi: Judge, base: Path, metadata: bool) -> str:
    return _digest(hudi.call("rows", ANSWER_SECONDS, path=base, metadata=metadata))


def _digest(found: Mapping[str, Any]) -> str:
    return f"{found['count']} rows {found['digest']}"


def _write(hudi: Judge, base: Path, rows: Sequence[Sequence[Any]]) -> str:
    hudi.call("upsert", ANSWER_SECONDS, path=base, rows=rows, operation="upsert", options={})
    return "done"


def _services(hudi: Judge, base: Path) -> str:
    hudi.clean(base, SERVICES)
    hudi.archive(base, SERVICES)
    return "done"


def _last(errors: Sequence[str], base: Path) -> str:
    """The innermost exception, in a line without paths of this machine."""
    return errors[-1].splitlines()[0].replace(f"file:{base}/", "").replace(f"{base}/", "")[:160]


def ask(version: str, words: Sequence[str], note: Callable[[str], None] = print) -> None:
    """Those cases of a version that have not been asked yet."""
    file = outcome_file(version)
    known = json.loads(file.read_text()) if file.exists() else {"sound": {}, "cases": []}
    told = {(case["table"], case["kind"], case["harm"]): case for case in known["cases"]}
    before = [Case(version, *key, case["path"]) for key, case in told.items() if "validators" not in case]
    new = [case for case in in_turn(judged(version)) if (case.table, case.kind, case.harm) not in told]
    wanted = dict.fromkeys(case for word in words or [""] for case in (*before, *new) if word in case.words)
    with asking(version) as judge:
        for case in wanted:
            outcome = told.get((case.table, case.kind, case.harm))
            if outcome is None:
                outcome = {"table": case.table, "kind": case.kind, "harm": case.harm, "path": case.path}
                outcome["hudi"] = of_case(judge, case, known)
                known["cases"].append(outcome)
            outcome["validators"] = of_validators(judge, case, known)
            known["cases"].sort(key=lambda entry: (entry["table"], entry["kind"], entry["harm"]))
            write(file, known)
            note(f"{case.words} {outcome['hudi']} {outcome['validators']}")


def in_turn(cases: Iterable[Case]) -> list[Case]:
    """By chance, for it takes long; what is left beside the timeline, and what a later state has replaced, last."""
    chance = random.Random(1)
    return sorted(cases, key=lambda case: (any(word in case.kind for word in DULL), chance.random()))


def idle_steps(kind: str) -> set[str]:
    """Steps that do not look at a kind of file, or do it as another step does."""
    if kind == "cdc-log":
        return {"filter", "write", "services", "after"}
    if kind.startswith("metadata-index") or kind == "index-definitions":
        return {"changes", "write", "services", "after"}
    if kind.startswith(("base", "log", "metadata-base", "metadata-log")):
        return {"filter", "changes", "write", "services", "after"}
    services = not kind.startswith("metadata-") and kind not in ("properties", "metafile")
    return {"filter", "changes", *(() if services else ("services",))}


def of_case(judge: Callable[[], Judge], case: Case, known: Mapping[str, Any]) -> Did:
    """What Hudi does with a damaged table where it does anything else than with the sound one."""
    with tempfile.TemporaryDirectory() as scratch:
        if case.table not in known["sound"]:
            base = support.unpack(case.version, case.table, Path(scratch, "sound"))
            rows = changed_rows(judge(), base)
            found = did(judge, base, rows, () if case.kind == "cdc-log" else {"changes"})
            known["sound"][case.table] = {"rows": rows, "hudi": found}
        sound = known["sound"][case.table]
        base = support.unpack(case.version, case.table, Path(scratch, "damaged"))
        do_harm(base, case.path, case.harm)
        found = did(judge, base, sound["rows"], idle_steps(case.kind))
    return {step: what for step, what in found.items() if what != sound["hudi"].get(step)}


def of_validators(judge: Callable[[], Judge], case: Case, known: Mapping[str, Any]) -> Did:
    """What Hudi's validators say of a damaged table, where they do not say it of the sound one."""
    with tempfile.TemporaryDirectory() as scratch:
        sound = known["sound"][case.table]
        if "validators" not in sound:
            base = support.unpack(case.version, case.table, Path(scratch, "sound"))
            sound["validators"] = validated(judge, base)
        base = support.unpack(case.version, case.table, Path(scratch, "damaged"))
        do_harm(base, case.path, case.harm)
        return {name: why for name, why in validated(judge, base).items() if not sound["validators"].get(name)}


def validated(judge: Callable[[], Judge], base: Path) -> Did:
    """By validator why a table is not valid."""
    found: Did = {}
    for name in ("data", "metadata"):
        try:
            judge().call(f"validate_{name}", ANSWER_SECONDS, path=base)
        except JudgeError as error:
            found[name] = _last(error.errors, base)
        except JudgeDied:
            found[name] = "no answer"
    return found


def write(file: Path, known: Mapping[str, Any]) -> None:
    """A line for each table and for each case."""
    sound = ",\n".join(f"{json.dumps(name)}: {json.dumps(what)}" for name, what in sorted(known["sound"].items()))
    cases = ",\n".join(json.dumps(case) for case in known["cases"])
    file.write_text(f'{{"sound": {{\n{sound}\n}},\n"cases": [\n{cases}\n]}}\n')


def main(arguments: Sequence[str]) -> None:
    words = [word for word in arguments if word not in support.VERSIONS]
    for version in [word for word in arguments if word in support.VERSIONS]:
        ask(version, words, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main(sys.argv[1:])
