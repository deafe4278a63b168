"""Instants that hudictl has mended: the real Hudi reads, writes, cleans, compacts and archives as before the damage."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import support
from tests.damage.harms import do_harm
from tests.interop.judge import Judge
from tests.interop.log_samples import Writer, numbered
from tests.interop.make_damages import SERVICES
from tests.interop.product import command, newest
from tests.interop.scenarios import batch, digest

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]


@pytest.mark.full
@pytest.mark.short("v6-cow_cluster-replacecommit", "v9-mor_part-deltacommit", "v8-cow_cleaned-clean")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("mor_part", "deltacommit"),
        ("mor_part", "commit"),
        ("cow_cluster", "replacecommit"),
        ("cow_cleaned", "commit"),
        ("cow_cleaned", "clean"),
        ("cow_cleaned", "clean.requested"),
        ("mor_part", "compaction.requested"),
        ("cow_cluster", "inflight"),
        ("cow_savepoints", "savepoint"),
    ],
)
def test_hudi_goes_on(judge: Judges, version: str, name: str, end: str, tmp_path: Path) -> None:
    hudi = judge(version)
    sound, base = support.unpack(version, name, tmp_path / "sound"), support.unpack(version, name, tmp_path / "damaged")
    file = newest(base, end) or newest(base, f"*.{end}")
    assert file is not None
    time = file.name[:17]
    do_harm(base, str(file.relative_to(base)), "cut")
    assert command(base, "timeline", "quarantine", time, idle="0s") == 0
    after = []
    for path in (sound, base):
        rows = [hudi.rows(path, metadata=metadata) for metadata in (True, False)]
        hudi.upsert(path, batch(range(0, 9, 2), 999))
        hudi.clean(path, SERVICES)
        if name.startswith("mor"):
            hudi.compact(path)
        hudi.upsert(path, batch(range(1, 9, 2), 1000))
        hudi.archive(path, SERVICES)
        after.append((rows, hudi.rows(path), hudi.rows(path, metadata=False)))
    assert after[0] == after[1]


@pytest.mark.short("mor_part-compaction.requested")
@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("cow_cleaned", "clean.requested"),
        ("cow_cleaned", "clean.inflight"),
        ("mor_part", "compaction.requested"),
        ("log_compacted", "logcompaction.requested"),
    ],
)
@pytest.mark.parametrize("harm", ["cut", "empty"])
def test_hudi_archives_it(judge: Judges, name: str, end: str, harm: str, tmp_path: Path) -> None:
    """Hudi 0.15.0 reads there how a clean or compaction began; it leaves no inflight file of a clean empty."""
    hudi, logs = judge("v6"), name == "log_compacted"
    base = (support.unpack_logs if logs else support.unpack)("v6", name, tmp_path)
    times = sorted(file.name[:17] for file in (base / ".hoodie").glob(f"[0-9]*.{end}"))
    for time in times if harm == "cut" or end != "clean.inflight" else ():
        do_harm(base, f".hoodie/{time}.{end}", harm)
        assert command(base, "timeline", "quarantine", time, idle="0s") == 0
    options = {**SERVICES, "hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
    writer = Writer(hudi, base, {**options, "hoodie.datasource.write.table.type": "MERGE_ON_READ"})
    for ts in range(901, 909):
        if logs:
            writer.write(numbered(range(3), ts))
        else:
            hudi.upsert(base, batch(range(3), ts), options=options)
        if ts == 904:
            hudi.clean(base, SERVICES)
    rows = hudi.state(base)
    hudi.archive(base, SERVICES)
    assert not [*(base / ".hoodie").glob(f"{times[0]}.*")]
    assert hudi.state(base) == rows


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_restore_without_plan_ends(judge: Judges, version: str, tmp_path: Path) -> None:
    hudi = judge(version)
    ended = []
    for where in ("sound", "damaged"):
        base = support.unpack(version, "mor_restore_interrupted", tmp_path / where)
        if where == "damaged":
            file = newest(base, "restore.requested")
            assert file is not None
            file.unlink()
            assert command(base, "timeline", "quarantine", file.name[:17], idle="0s") == 0
        assert command(base, "resume", idle="0s") == 0
        rows = hudi.rows(base)
        hudi.upsert(base, changed := batch(range(3), 999))
        ended.append((rows, hudi.rows(base), digest(changed)))
    assert ended[0] == ended[1]
