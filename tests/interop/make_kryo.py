"""Makes ``tests/logs/kryo``: contents of delete blocks by releases that wrote them with Kryo, and what is in each.

``python -m tests.interop.make_kryo``; needs what the tests marked ``hudi`` need.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.interop.judge import fetch_jar, make_environment

RELEASES = ("0.10.1", "0.11.1", "0.12.3", "0.13.1")
AVRO_BEFORE_HASHES = "org.apache.avro:avro:1.8.2"
"""What Spark 3.1 and older had."""
SOURCE = Path(__file__).with_name("KryoDeletes.java")
FOLDER = Path(__file__).parent.parent / "logs/kryo"
OPEN = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "math", "time", "util")]


def contents(lines: Iterable[str]) -> dict[str, Any]:
    """What the program prints: by the case's name its content in hex and its records, as key, partition path, Java
    class and text of the ordering value."""
    cases: dict[str, Any] = {}
    records: list[list[str]] = []
    for line in lines:
        kind, *fields = line.split("\t")
        if kind == "record":
            records.append(fields)
        elif kind == "case":
            cases[fields[0]] = {"content": fields[1], "records": records}
            records = []
    return cases


def make(cache: Path, jars: Path, release: str, *first: str) -> dict[str, Any]:
    """Runs the program with a release, and libraries before PySpark's own."""
    hudi = fetch_jar(cache, f"org.apache.hudi:hudi-common:{release}")
    path = os.pathsep.join(map(str, [*(fetch_jar(cache, artifact) for artifact in first), hudi, jars / "*"]))
    with tempfile.TemporaryDirectory() as classes:
        subprocess.run(["javac", "-nowarn", "-d", classes, "-cp", path, str(SOURCE)], check=True)
        program = ["java", *OPEN, "-Duser.timezone=UTC", "-Dfile.encoding=UTF-8", "-cp", f"{classes}:{path}"]
        run = subprocess.run([*program, SOURCE.stem], check=True, stdout=subprocess.PIPE)
    return contents(run.stdout.decode().splitlines())


def main() -> None:
    """All releases; of the last one that took Avro's strings apart, also with an older Avro."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hudictl-judge"
    (jars,) = (make_environment(cache).parent.parent / "lib").glob("python*/site-packages/pyspark/jars")
    FOLDER.mkdir(parents=True, exist_ok=True)
    made = {release: make(cache, jars, release) for release in RELEASES}
    made["0.11.1-avro-1.8"] = {"utf8": make(cache, jars, "0.11.1", AVRO_BEFORE_HASHES)["utf8"]}
    for name, cases in made.items():
        text = json.dumps({"hudi": name, "cases": cases}, indent=1, ensure_ascii=False)
        (FOLDER / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
