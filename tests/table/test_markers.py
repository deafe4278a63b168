"""Marker folders: direct markers and the timeline server's."""

import os

import pytest

from hudictl.formats.file_names import parse_data_file
from hudictl.table.markers import Marker, last_marker_ms, marker_folders, read_markers
from hudictl.table.timeline import load_timeline
from tests import support
from tests.table.conftest import Real, Small, put

T = "20261121000001000"


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", ["cow_failed_direct", "cow_failed_tls", "mor_failed_direct", "mor_failed_lazy"])
def test_real_markers(real: Real, version: str, name: str) -> None:
    """The killed write's markers name data files of the failed instant (or, in version 6 logs, appended ones)."""
    table = real(version, name)
    (time,) = marker_folders(table)
    assert [entry.time for entry in load_timeline(table).writes() if entry.pending] == [time]
    markers = read_markers(table, time)
    assert markers
    for marker in markers:
        data = parse_data_file(marker.name)
        assert data is not None
        assert marker.kind in ({"CREATE", "MERGE"} if data.is_base else {"APPEND" if version == "v6" else "CREATE"})
        assert (data.instant == time) is (marker.kind != "APPEND")
        assert table.storage.stat(marker.partition) is not None
    assert last_marker_ms(table, time) > 0


@pytest.mark.parametrize("partition", ["", "p", "2026/11/21"])
@pytest.mark.parametrize("server", [False, True])
def test_paths(small: Small, partition: str, server: bool) -> None:
    """Partition and name come apart at the last slash; sidecars and the type file are no markers."""
    table = small(9)
    path = f"{partition}/f.parquet" if partition else "f.parquet"
    folder = f".hoodie/.temp/{T}"
    if server:
        put(table, f"{folder}/MARKERS.type", b"TIMELINE_SERVER_BASED")
        put(table, f"{folder}/MARKERS0", f"{path}.marker.MERGE\n".encode())
        put(table, f"{folder}/MARKERS19", b"q/g.parquet.marker.CREATE\n\n")
        put(table, f"{folder}/.MARKERS0.crc", b"crc\0\xff")
    else:
        put(table, f"{folder}/{path}.marker.MERGE")
        put(table, f"{folder}/q/g.parquet.marker.CREATE")
        put(table, f"{folder}/q/.g.parquet.marker.CREATE.crc", b"crc\0\xff")
    expected = [Marker(partition, "f.parquet", "MERGE"), Marker("q", "g.parquet", "CREATE")]
    assert sorted(read_markers(table, T), key=lambda marker: marker.name) == expected


def test_a_half_written_line_of_the_server_is_no_marker(small: Small) -> None:
    table = small(9)
    put(table, f".hoodie/.temp/{T}/MARKERS.type", b"TIMELINE_SERVER_BASED")
    put(table, f".hoodie/.temp/{T}/MARKERS0", b"p/f.parquet.marker.CREATE\np/g.parq")
    assert read_markers(table, T) == [Marker("p", "f.parquet", "CREATE")]


def test_no_markers(small: Small) -> None:
    """Neither folder: nothing begun."""
    table = small(9)
    assert (marker_folders(table), read_markers(table, T), last_marker_ms(table, T)) == ([], [], 0)


def test_the_last_marker_is_the_newest_anywhere_below(small: Small) -> None:
    table = small(9)
    for path, second in (("p/f.parquet.marker.MERGE", 20), ("a/b/g.parquet.marker.MERGE", 30), ("z.marker.MERGE", 10)):
        os.utime(put(table, f".hoodie/.temp/{T}/{path}"), (second, second))
    assert last_marker_ms(table, T) == 30_000
