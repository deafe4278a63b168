"""Names of data files: Hudi's patterns of 1.1 and 1.2."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.formats import file_names
from hudictl.formats.file_names import (
    DataFile,
    base_format,
    data_path,
    joined_parts,
    log_file_name,
    next_log_name,
    parse_data_file,
    parse_joined,
    read_as,
)
from tests import support
from tests.formats import real_files

FID = "6e1d5cc4-0000-4000-8000-123456789abc-0"
T = "20250121000547796"
IDS = st.from_regex(r"\A[a-zA-Z0-9-]{1,40}\Z")
TOKENS = st.from_regex(r"\A[0-9]{1,4}-[0-9]{1,4}-[0-9]{1,4}\Z")
DIGITS = st.from_regex(r"\A[0-9]{14,17}\Z")


@pytest.mark.slow
@given(IDS, DIGITS, st.integers(1, 10**6), TOKENS, st.booleans())
def test_log_name_round_trip(file_id: str, instant: str, version: int, token: str, cdc: bool) -> None:
    """The name that is written comes apart into what it was made of; a change log is marked."""
    name = log_file_name(file_id, instant, version, token, cdc=cdc)
    assert parse_data_file(name) == DataFile(name, file_id, instant, version, token, cdc)


@pytest.mark.slow
@given(IDS, TOKENS, DIGITS, st.sampled_from([".parquet", ".orc", ".hfile", ".lance"]))
def test_base_name_round_trip(file_id: str, token: str, instant: str, extension: str) -> None:
    name = f"{file_id}_{token}_{instant}{extension}"
    parsed = parse_data_file(name)
    assert parsed == DataFile(name, file_id, instant, 0, token)
    assert parsed.is_base


@pytest.mark.slow
@given(IDS, TOKENS, DIGITS, st.sampled_from(["Lance", "lanc", "lancex", "avro", "", "parquet.lance.crc"]))
def test_other_extensions_are_no_base_files(file_id: str, token: str, instant: str, extension: str) -> None:
    name = f"{file_id}_{token}_{instant}.{extension}"
    assert parse_data_file(name) is None
    assert base_format(name) == ""


@pytest.mark.parametrize(("version", "name"), support.base_tables())
def test_names_of_real_tables(version: str, name: str, tmp_path: Path) -> None:
    """By themselves, and joined as a listing has them."""
    base = support.unpack(version, name, tmp_path)
    names = sorted(path.name for path in base.glob(f"[abc]/*.{name.split('_')[0]}") if path.name[0] != ".")
    parsed = [parse_data_file(one) for one in names]
    assert all(one is not None and one.is_base for one in parsed)
    joined = [(match[1], match[3]) for match in parse_joined("/".join(names))]
    assert joined == [(one.file_id, one.instant) for one in parsed if one is not None]


@pytest.mark.slow
@pytest.mark.parametrize("characters", [0, 30, 10_000])
@given(
    st.lists(
        st.sampled_from([f"{group}{end}" for group in "abc" for end in ("_0_1.parquet", "_1_2.parquet", "b")]),
        unique=True,
    )
)
def test_parts_of_joined_names_cut_no_file_group(characters: int, names: list[str]) -> None:
    joined = "/".join(sorted(names))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_names, "_PART_CHARACTERS", characters)
        parts = list(joined_parts(joined))
    assert "/".join(parts) == joined
    ids = [{name.partition("_")[0] for name in part.split("/")} for part in parts]
    assert all(first.isdisjoint(second) for first, second in pairwise(ids))


def test_the_format_of_a_base_file() -> None:
    forms = [base_format(f"a/{FID}_0-33-47_{T}.{extension}") for extension in ("parquet", "orc", "hfile", "lance")]
    assert forms == ["Parquet", "ORC", "HFile", "Lance"]


def test_a_base_file_of_a_record_index_for_each_partition() -> None:
    """Seen on Hudi 1.2.0: the file id has the escaped path of the partition."""
    name = f"record-index-p%3D2026%2D01-0000-0_5-79-162_{T}.hfile"
    assert parse_data_file(name) == DataFile(name, "record-index-p%3D2026%2D01-0000-0", T, 0, "5-79-162")


@pytest.mark.parametrize(
    "name",
    [
        f".{FID}_0-33-47_{T}.parquet.crc",
        f"..{FID}_{T}.log.1_1-0-1.crc",
        f".{FID}_{T}.log.1_1-0-1.crc",
        f"._{FID}_{T}.log.1_1-0-1",
        f".{FID}_{T}.log.1_1-0-1.lock",
        f".{FID}_{T}.log.1_1-0",
        f".{FID}_{T}.log.0_1-0-1",
        f".{FID}_{T}.log.",
        f".{FID}_{T}.log.x_1-0-1",
        f"{FID}_{T}.log.1_1-0-1",
        f".a.b_{T}.log.1_1-0-1",
        f".{FID}_{T}.archive.1_1-0-1",
        ".commits_.archive.1_1-0-1",
        ".hoodie_partition_metadata",
        ".hoodie_partition_metadata.parquet",
        f"{FID}_0-33-47_{T}.csv",
        f"{FID}_0-33-47_{T}.parquet.tmp",
        f"{FID}_{T}.parquet",
        f"{FID}_0-33-47_{T}x.parquet",
        "part-00000-snappy.parquet",
        "_SUCCESS",
        "",
    ],
)
def test_other_files_are_never_data_files(name: str) -> None:
    """Sidecars, macOS litter, metafiles, archives, strangers: a restore must not touch them."""
    assert parse_data_file(name) is None


def test_a_log_without_token_is_read() -> None:
    """Releases before 0.5 wrote none."""
    assert parse_data_file(f".{FID}_{T}.log.3") == DataFile(f".{FID}_{T}.log.3", FID, T, 3)


LOGS = st.builds(
    log_file_name, st.sampled_from([FID, "f-1"]), st.just(T), st.integers(1, 99), TOKENS, cdc=st.booleans()
)


@pytest.mark.slow
@given(st.lists(LOGS, max_size=6), TOKENS, st.booleans())
def test_the_next_log_is_read_after_all_others_of_its_kind(names: list[str], token: str, cdc: bool) -> None:
    """Whatever write tokens they have; the first one has version 1, and other files do not count."""
    found = parse_data_file(
        next_log_name([*names, "x.parquet", f".{FID}_9{T}.log.500_{token}"], FID, T, token, cdc=cdc)
    )
    assert found is not None
    assert (found.file_id, found.instant, found.write_token, found.cdc) == (FID, T, token, cdc)
    before = [file for file in map(parse_data_file, names) if file and (file.file_id, file.cdc) == (FID, cdc)]
    assert all(file.log_order < found.log_order for file in before)
    assert found.version == max((file.version for file in before), default=0) + 1


@pytest.mark.parametrize("version", support.VERSIONS)
def test_the_next_log_has_the_name_that_hudi_gave_it(version: str) -> None:
    """Every log of the real tables, its write token aside, by those that are read before it."""
    seen: list[str] = []
    for table in support.log_facts(version).values():
        found = sorted(filter(None, (parse_data_file(path.rpartition("/")[2]) for path in table["logs"])), key=_order)
        for number, log in enumerate(found):
            before = [entry.name for entry in found[:number]]
            assert next_log_name(before, log.file_id, log.instant, log.write_token, cdc=log.cdc) == log.name
        seen += (entry.name for entry in found)
    assert len(seen) > 50


def _order(file: DataFile) -> tuple[str, int, str, bool]:
    return file.log_order


def test_log_order_is_hudis() -> None:
    """By instant, version as a number, token as text with a missing one first, and change logs last."""
    expected = [
        ".f_1.log.9_0-0-0",
        ".f_2.log.1",
        ".f_2.log.1_10-0-1",
        ".f_2.log.1_2-0-1",
        ".f_2.log.1_2-0-1.cdc",
        ".f_2.log.2_0-0-0",
        ".f_2.log.10_0-0-0",
    ]
    parsed = [parse_data_file(name) for name in reversed(expected)]
    assert [entry.name for entry in sorted(filter(None, parsed), key=lambda entry: entry.log_order)] == expected


@pytest.mark.parametrize("version", support.VERSIONS)
def test_every_data_file_of_the_real_tables(version: str) -> None:
    """All files in partitions are data files or metafiles, and commits' instants stand in the base files' names."""
    for name in support.names(version):
        files = real_files.files(version, name)
        instants = {
            path.rpartition("/")[2].split(".")[0].split("_")[0] for path in files if path.startswith(".hoodie/")
        }
        data = [path.rpartition("/")[2] for path in files if not path.startswith(".hoodie/")]
        for base in data:
            parsed = parse_data_file(base)
            if base.startswith(".hoodie_partition_metadata"):
                assert parsed is None
                continue
            assert parsed is not None, base
            assert parsed.is_base is base.endswith(".parquet")
            assert parsed.cdc is base.endswith(".cdc")
            if name != "cow_cleaned":
                assert parsed.instant in instants


def test_a_path_is_partition_and_name() -> None:
    """Without partitions it is the name alone: no path begins with a slash."""
    assert data_path("eu/2024", "a.parquet") == "eu/2024/a.parquet"
    assert data_path("", "a.parquet") == "a.parquet"


@pytest.mark.parametrize(
    ("name", "instant"),
    [
        ("1f-0_1-0-1_20261121000000000.parquet", "20261121000000000"),
        ("Copy of 1f-0_1-0-1_20261121000000000.parquet", "20261121000000000"),
        ("copy_of_1f-0_1-0-1_20261121000000000.parquet", "20261121000000000.parquet"),
        ("x.y_z.w_t.parquet", "t"),
        ("a_b.parquet", "b.parquet"),
        ("x_.parquet", ".parquet"),
        ("__.parquet", ""),
        ("_x_y_", ""),
        ("x.parquet", None),
    ],
)
def test_what_hudi_takes_for_an_instant(name: str, instant: str | None) -> None:
    assert read_as(name) == instant
