"""What restic itself keeps: ``python -m tests.state.files.restic_support`` makes restic.json anew.

It needs restic before 0.16 in the PATH (Debian 12 has 0.14.0): later ones also keep the oldest snapshot while a count
is not reached, which hudictl does not, as the oldest savepoint is what stops archiving.
"""

import json
import os
import random
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path

from hudictl.state.files.retention import PERIODS, Rules

GOLDEN = Path(__file__).with_name("restic.json")
_HOUR_MS, _DAY_MS = 3_600_000, 86_400_000
_COUNTED = ("last", *PERIODS)
_STEPS = (60, 1200, 3600, 7200, 40_000, 86_400, 86_400, 3 * 86_400, 8 * 86_400, 40 * 86_400)
_IN_A_SET, _POLICIES = 24, 24


def main() -> None:
    """Writes the file."""
    chance = random.Random(47)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"RESTIC_REPOSITORY": f"{folder}/r", "RESTIC_PASSWORD": "x", "TZ": "UTC"}
        environment["RESTIC_CACHE_DIR"] = f"{folder}/cache"
        Path(folder, "file").write_text("x")

        def restic(*words: str) -> str:
            return subprocess.run(
                ["restic", *words], env=environment, cwd=folder, check=True, stdout=-1
            ).stdout.decode()

        restic("init")
        for number, step in enumerate(_STEPS):
            times = list(_times(chance, step, regular=number in (2, 5)))
            for time in times:
                restic("backup", "--quiet", f"--time={time}", f"--tag=set{number}", "file")
            instants = ["".join(sign for sign in time if sign.isdigit()) + "000" for time in times]
            judged = []
            for rules in _policies(chance):
                words = ("forget", "--dry-run", "--json", f"--tag=set{number}", "--group-by=", *_options(rules))
                (group,) = json.loads(restic(*words))
                kept: dict[str, list[int]] = {}
                for entry in group["reasons"]:
                    place = times.index(entry["snapshot"]["time"][:19].replace("T", " "))
                    for match in entry["matches"]:
                        kept.setdefault(match.split()[0], []).append(place)
                assert len(group["keep"]) + len(group["remove"] or []) == len(times)
                judged.append({"rules": {name: value for name, value in asdict(rules).items() if value}, "kept": kept})
            found.append({"instants": instants, "judged": judged})
    GOLDEN.write_text(json.dumps(found) + "\n")


def _times(chance: random.Random, step: int, *, regular: bool) -> Iterator[str]:
    # All in the past: restic leaves later ones out where it looks for the newest.
    moment = datetime(2022, 12, 28, 22, 30)
    for _ in range(_IN_A_SET):
        yield moment.strftime("%Y-%m-%d %H:%M:%S")
        moment += timedelta(seconds=step if regular else max(1, int(chance.expovariate(1 / step))))


def _policies(chance: random.Random) -> Iterator[Rules]:
    for _ in range(_POLICIES):
        counts = {rule: chance.choice((1, 2, 3, 5, 30)) for rule in _COUNTED if chance.random() < 0.3}
        within = chance.choice((0, 0, 0, _HOUR_MS, 5 * _HOUR_MS, _DAY_MS, 7 * _DAY_MS, 30 * _DAY_MS))
        if counts or within:
            yield Rules(**counts, within_ms=within)


def _options(rules: Rules) -> Iterator[str]:
    for rule in _COUNTED:
        if getattr(rules, rule):
            yield f"--keep-{rule}={getattr(rules, rule)}"
    if rules.within_ms:
        yield f"--keep-within={rules.within_ms // _HOUR_MS}h"


if __name__ == "__main__":
    main()
