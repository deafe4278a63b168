"""Marker folders: direct markers and the timeline server's."""

import os

import pytest

from hudictl.errors import Unreadable
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.markers import Marker
from hudictl.storage.local import LocalStorage
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline
from hudictl.table.writers.markers import MarkerFolder, last_marker_ms, look_at_markers, marker_folders, read_markers
from tests import support
from tests.table.conftest import Real, Small, put

T = "20261121000001000"
FOLDER = f".hoodie/.temp/{T}"


def read(table: Table, time: str = T) -> MarkerFolder:
    found = read_markers(table, time)
    assert found is not None
    assert found.time == time
    return found


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", ["cow_failed_direct", "cow_failed_tls", "mor_failed_direct", "mor_failed_lazy"])
def test_real_markers(real: Real, version: str, name: str) -> None:
    """The killed write's markers name data files of the failed instant (or, in version 6 logs, appended ones)."""
    table = real(version, name)
    (time,) = marker_folders(table)
    assert [entry.time for entry in load_timeline(table).writes() if entry.pending] == [time]
    found = read(table, time)
    assert (found.type, found.partial) == ("TIMELINE_SERVER_BASED" if name.endswith("tls") else "DIRECT", "")
    assert found.markers
    for marker in found.markers:
        data = parse_data_file(marker.name)
        assert data is not None
        assert marker.kind in ({"CREATE", "MERGE"} if data.is_base else {"APPEND" if version == "v6" else "CREATE"})
        assert (data.instant == time) is (marker.kind != "APPEND")
        assert table.storage.has_folder(marker.partition)
    assert last_marker_ms(table, time) > 0


@pytest.mark.parametrize("partition", ["", "p", "2026/11/21"])
@pytest.mark.parametrize("server", [False, True])
def test_paths(small: Small, partition: str, server: bool) -> None:
    """Partition and name come apart at the last slash; sidecars and the type file are no markers."""
    table = small(9)
    path = f"{partition}/f.parquet" if partition else "f.parquet"
    if server:
        put(table, f"{FOLDER}/MARKERS.type", b"TIMELINE_SERVER_BASED")
        put(table, f"{FOLDER}/MARKERS0", f"{path}.marker.MERGE\n".encode())
        put(table, f"{FOLDER}/MARKERS19", b"q/g.parquet.marker.CREATE\n\n")
        put(table, f"{FOLDER}/.MARKERS0.crc", b"crc\0\xff")
    else:
        put(table, f"{FOLDER}/{path}.marker.MERGE")
        put(table, f"{FOLDER}/q/g.parquet.marker.CREATE")
        put(table, f"{FOLDER}/q/.g.parquet.marker.CREATE.crc", b"crc\0\xff")
    found = read(table)
    assert (found.type, found.partial) == ("TIMELINE_SERVER_BASED" if server else "DIRECT", "")
    expected = [Marker(partition, "f.parquet", "MERGE"), Marker("q", "g.parquet", "CREATE")]
    assert sorted(found.markers, key=lambda marker: marker.name) == expected
    assert sorted(marker.path for marker in found.markers) == sorted([path, "q/g.parquet"])


@pytest.mark.parametrize(
    ("body", "partial"),
    [
        (b"p/f.parquet.marker.CREATE\np/g.parq", "the last line of MARKERS0 is incomplete"),
        (b"p/f.parquet.marker.CREATE", "the last line of MARKERS0 is incomplete"),
        (b"p/f.parquet.marker.CREATE\np/g.parquet.marker.GUESS\n", "MARKERS0 has a line that is not a marker"),
        (b"p/f.parquet.marker.CREATE\n\n", ""),
    ],
    ids=["torn", "no end of line", "unknown kind", "empty line"],
)
def test_what_a_crash_left_of_a_server_file(small: Small, body: bytes, partial: str) -> None:
    """What can be read is, and that there may be more is told."""
    table = small(9)
    put(table, f"{FOLDER}/MARKERS.type", b"TIMELINE_SERVER_BASED")
    put(table, f"{FOLDER}/MARKERS0", body)
    put(table, f"{FOLDER}/MARKERS1", b"q/h.parquet.marker.MERGE\n")
    found = read(table)
    assert found.markers == (Marker("p", "f.parquet", "CREATE"), Marker("q", "h.parquet", "MERGE"))
    assert partial in found.partial
    assert bool(found.partial) is bool(partial)


@pytest.mark.parametrize("type_file", [None, b""], ids=["missing", "empty"])
def test_without_a_type_the_files_tell(small: Small, type_file: bytes | None) -> None:
    """The server's files where there are some, as Hudi reads them, and else direct markers."""
    table = small(9)
    if type_file is not None:
        put(table, f"{FOLDER}/MARKERS.type", type_file)
    put(table, f"{FOLDER}/p/f.parquet.marker.CREATE")
    assert (read(table).type, read(table).markers) == ("DIRECT", (Marker("p", "f.parquet", "CREATE"),))
    assert bool(read(table).partial) is (type_file is not None)
    put(table, f"{FOLDER}/MARKERS0", b"q/h.parquet.marker.MERGE\n")
    found = read(table)
    assert (found.type, found.markers) == ("TIMELINE_SERVER_BASED", (Marker("q", "h.parquet", "MERGE"),))
    assert found.partial == "MARKERS.type is missing or empty"


def test_files_that_do_not_belong_make_a_folder_partial(small: Small) -> None:
    table = small(9)
    put(table, f"{FOLDER}/p/f.parquet.marker.CREATE")
    put(table, f"{FOLDER}/p/notes")
    assert read(table).partial == "p/notes is not a marker"
    put(table, f"{FOLDER}/MARKERS.type", b"TIMELINE_SERVER_BASED")
    found = read(table)
    assert (found.type, found.markers) == ("TIMELINE_SERVER_BASED", ())
    assert found.partial == "p/f.parquet.marker.CREATE is not a file of the timeline server"


@pytest.mark.parametrize("body", [b"BROADCAST", b"DIRECT", b"TIMELINE_SERVER_BASED\n", b"\xff"])
def test_a_type_that_hudi_does_not_read(small: Small, body: bytes) -> None:
    table = small(9)
    put(table, f"{FOLDER}/MARKERS.type", body)
    with pytest.raises(Unreadable, match=r"MARKERS\.type names the unknown marker type"):
        read_markers(table, T)
    found = look_at_markers(table, T)
    assert found is not None
    assert (found.type, found.markers) == ("unknown", ())
    assert "names the unknown marker type" in found.partial


def test_markers_that_go_while_they_are_read(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer has completed: no error."""
    table = small(9)
    put(table, f"{FOLDER}/MARKERS.type", b"TIMELINE_SERVER_BASED")
    gone = put(table, f"{FOLDER}/MARKERS0", b"q/h.parquet.marker.MERGE\n")
    real = LocalStorage.read

    def read_late(self: LocalStorage, path: str, start: int = 0, length: int | None = None) -> bytes:
        gone.unlink(missing_ok=True)
        return real(self, path, start, length)

    monkeypatch.setattr(LocalStorage, "read", read_late)
    assert read(table).markers == ()


def test_an_empty_folder_has_no_markers(small: Small) -> None:
    table = small(9)
    put(table, f"{FOLDER}/x").unlink()
    assert read(table) == MarkerFolder(T, "DIRECT", (), "", 0)


def test_no_markers(small: Small) -> None:
    """Neither folder: nothing begun."""
    table = small(9)
    assert (marker_folders(table), read_markers(table, T), last_marker_ms(table, T)) == ([], None, 0)


def test_the_last_marker_is_the_newest_anywhere_below(small: Small) -> None:
    table = small(9)
    for path, second in (("p/f.parquet.marker.MERGE", 20), ("a/b/g.parquet.marker.MERGE", 30), ("z.marker.MERGE", 10)):
        os.utime(put(table, f".hoodie/.temp/{T}/{path}"), (second, second))
    assert last_marker_ms(table, T) == read(table).modified_ms == 30_000
