"""Markers: names, and the timeline server's files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.formats.markers import KINDS, Marker, parse_marker, parse_server_file

names = st.text(st.characters(exclude_characters="/\n", exclude_categories=["Cs"]), min_size=1)
markers = st.builds(
    Marker, st.one_of(st.just(""), names, st.lists(names, min_size=2, max_size=3).map("/".join)), names,
    st.sampled_from(sorted(KINDS)),
)  # fmt: skip


def line(marker: Marker) -> str:
    return f"{marker.path}.marker.{marker.kind}"


@pytest.mark.slow
@given(marker=markers)
def test_round_trip(marker: Marker) -> None:
    """Partition and name come apart at the last slash, whatever they contain."""
    assert parse_marker(line(marker)) == marker


@pytest.mark.parametrize(
    "text", ["", "p/f.parquet", "p/f.parquet.marker.", "p/f.parquet.marker.create", "p/.marker.MERGE", ".marker.MERGE"]
)
def test_no_markers(text: str) -> None:
    assert parse_marker(text) is None


@pytest.mark.slow
@given(begun=st.lists(markers))
def test_a_whole_file_of_the_server(begun: list[Marker]) -> None:
    """Every line in order, and no doubt."""
    body = "".join(f"{line(marker)}\n" for marker in begun).encode()
    doubt = "" if begun and "\ufffd" not in body.decode() else "MARKERS0"
    found, said = parse_server_file(body, "MARKERS0")
    assert found == begun
    assert said.startswith(doubt)
    assert bool(said) is bool(doubt)


@pytest.mark.slow
@given(begun=st.lists(markers, min_size=1), data=st.data())
def test_a_cut_is_always_told_and_makes_up_no_file(begun: list[Marker], data: st.DataObject) -> None:
    """Every marker that is found in what a crash left is one of the writer's. A cut between two lines shows nothing."""
    body = "".join(f"{line(marker)}\n" for marker in begun).encode()
    cut = body[: data.draw(st.integers(0, len(body) - 1))]
    found, said = parse_server_file(cut, "MARKERS0")
    assert found == begun[: len(found)]
    assert said or cut.endswith(b"\n")


def test_a_file_that_lacks_its_last_line_feed_is_cut() -> None:
    """Its last line is whole by chance: the next ones may be lost."""
    whole = Marker("p", "f.parquet", "CREATE")
    assert parse_server_file(line(whole).encode(), "MARKERS0") == ([whole], "the last line of MARKERS0 is incomplete")


@given(body=st.binary())
def test_any_bytes(body: bytes) -> None:
    """No error, and no silence: either every line is a marker, or something is said."""
    found, said = parse_server_file(body, "MARKERS0")
    assert said or len(found) == sum(1 for text in body.split(b"\n") if text)
