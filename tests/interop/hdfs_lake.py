"""Tables of the real Hudi on a real HDFS, each made once and copied for each test."""

import itertools
import re
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.hdfs.cluster import Hdfs
from tests.hdfs.cluster import start as start_hdfs
from tests.interop import product
from tests.interop.judge import start
from tests.interop.lake import Lake, LakeTable

WRITES = 5
"""Of a table that is merge on read the third is compacted; the fourth begins logs, and the last one adds to them."""
HARD_MS = 20 * 60_000
MAGIC = b"#HUDI#"
LOG = re.compile(r"/\.[^/]*\.log\.[^/]*$")


@dataclass(frozen=True)
class HdfsLake:
    """A lake on HDFS. On it 0.15.0 cannot read a metadata table: its HFile reader misses a method of Hadoop 3."""

    hdfs: Hdfs
    lake: Lake
    originals: dict[str, LakeTable] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def version(self) -> str:
        return self.lake.judge.version

    def copy(self, kind: str, writes: int = WRITES) -> LakeTable:
        """A table of some writes, ``cow`` or ``mor``."""
        name = f"{kind}-{writes}"
        if name not in self.originals:
            self.originals[name] = self.lake.make(name, writes)
        made = self.originals[name]
        uri: Any = f"{self.lake.root}/{self.version}/{name}-{next(self.numbers)}/table"
        self.hdfs.ask("copy", path=self.path(uri), **{"from": self.path(made.uri)})
        return LakeTable(uri, made.rows)

    def path(self, uri: str) -> str:
        """The path of a URI on its HDFS."""
        return uri.removeprefix(self.lake.root)

    def files(self, uri: str) -> list[str]:
        """The paths of all files and folders of a table, relative to it, but those that hudictl has for itself."""
        base = self.path(uri)
        found = [path.removeprefix(f"{base}/") for path in self.hdfs.ask("list", path=base)]
        return [path for path in found if not path.startswith(".hoodie/.hudictl")]

    def logs(self, uri: str) -> list[str]:
        """The logs of data, by path relative to the table."""
        return [path for path in self.files(uri) if LOG.search(f"/{path}") and not path.startswith(".hoodie/")]

    def body(self, uri: str, file: str) -> bytes:
        return self.hdfs.read(f"{self.path(uri)}/{file}")

    def blocks(self, uri: str, file: str) -> list[tuple[str, str]]:
        """(type, instant) of each block that Hudi reads in a log; a rollback block's instant is the one it hides."""
        found = self.lake.judge.log_blocks(f"{uri}/{file}")  # type: ignore[arg-type]
        return [(block["type"], _instant(block["header"])) for block in found]

    def written_last(self, made: LakeTable) -> dict[str, list[str]]:
        """The logs with a block of the last write, with the instants of all their blocks."""
        instants = {log: [instant for _, instant in self.blocks(made.uri, log)] for log in self.logs(made.uri)}
        return {log: found for log, found in instants.items() if found[-1] == made.writes[-1]}

    def new_blocks(self, made: LakeTable, old: Collection[str]) -> list[list[tuple[str, str]]]:
        """The blocks of each log that is not one of the old ones."""
        return [self.blocks(made.uri, log) for log in self.logs(made.uri) if log not in old]

    def take_back(self, made: LakeTable, log: str) -> bytes:
        """Takes the last block away from a log, and a log that has no other; its bytes."""
        body, path = self.body(made.uri, log), self.path(f"{made.uri}/{log}")
        end = body.rindex(MAGIC)
        if end:
            self.hdfs.put(path, body[:end])
        else:
            self.hdfs.ask("delete", path=path)
        return body[end:]

    @contextmanager
    def short_leases(self) -> Iterator[None]:
        """Who has died loses a lease in half a second to who asks for it, and not in a minute."""
        self.hdfs.ask("lease_periods", soft_ms=500, hard_ms=HARD_MS)
        time.sleep(0.7)
        yield
        self.hdfs.ask("lease_periods", soft_ms=60_000, hard_ms=HARD_MS)

    def clean_until_done(self, made: LakeTable, policy: str = "eager", **options: str) -> list[int]:
        """Rolls failed writes back, again as long as hudictl asks for that; the exit codes."""
        codes = []
        for _ in range(4):
            codes.append(product.clean_failed(made.uri, policy, hurry=False, **options))
            if codes[-1] == 0:
                break
            time.sleep(1)
        assert codes[-1] == 0
        return codes

    def take_over(self, *, stops: bool = False) -> None:
        """The second name node becomes the active one. If the first one ``stops``, this takes two seconds, in which
        there is none."""
        if stops:
            self.hdfs.ask("stop_name_node", index=0)
            threading.Timer(2, self.take_over).start()
        else:
            self.hdfs.ask("failover", to=1)

    @contextmanager
    def first_again(self, *, stopped: bool) -> Iterator[None]:
        """The first name node is active again at the end."""
        yield
        if stopped:
            self.hdfs.ask("restart_name_node", index=0)
        self.hdfs.ask("failover", to=0)

    @contextmanager
    def taking_over_always(self) -> Iterator[list[int]]:
        """One name node after the other becomes active; which ones did."""
        done: list[int] = []
        over = threading.Event()

        def run() -> None:
            while not over.wait(0.1):
                done.append((len(done) + 1) % 2)
                self.hdfs.ask("failover", to=done[-1])

        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(run)
            try:
                yield done
            finally:
                over.set()
                running.result()

    def instant_file(self, uri: str, time: str, state: str) -> str:
        """The path of an instant's file, by the end of its name: ``deltacommit``, ``deltacommit.inflight``."""
        (found,) = [
            path
            for path in self.files(uri)
            if re.fullmatch(rf"\.hoodie/(timeline/)?{time}(_\d+)?\.{re.escape(state)}", path)
        ]
        return f"{self.path(uri)}/{found}"

    def unpublish(self, made: LakeTable, kind: str) -> str:
        """The last write as if its writer had died before it was completed; its instant."""
        time = made.writes[-1]
        action = "deltacommit" if kind == "mor" else "commit"
        self.hdfs.ask("delete", path=self.instant_file(made.uri, time, action))
        return time


def _instant(header: Mapping[str, str]) -> str:
    return header.get("TARGET_INSTANT_TIME") or header.get("INSTANT_TIME", "")


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    """Two name nodes, under the name of a service."""
    with start_hdfs(tmp_path_factory.mktemp("hdfs") / "cluster", name_nodes=2) as running:
        yield running


@pytest.fixture(autouse=True)
def settings(hdfs: Hdfs, monkeypatch: pytest.MonkeyPatch) -> Path:
    """hudictl finds the name nodes in HADOOP_CONF_DIR."""
    monkeypatch.setenv("HADOOP_CONF_DIR", str(hdfs.conf))
    return hdfs.conf


def lake_of(version: str, hdfs: Hdfs) -> "Iterator[HdfsLake]":
    with start(version, hadoop=hdfs.conf) as judge:
        yield HdfsLake(hdfs, Lake(judge, hdfs.uri, metadata=version != "v6"))
