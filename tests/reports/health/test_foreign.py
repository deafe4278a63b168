"""Files in partitions that another tool has written."""

import shutil

import pytest

from hudictl.reports.health.finding import ERROR, INFO
from tests.fixtures import Unpack
from tests.reports.health.check_support import VERSIONS, brief, check

FAIL = ("copy-of-file.parquet", "part-00000-1f-c000.snappy.parquet", ".hidden.parquet", "ä ö.parquet")
SKIPPED = ("a_b.parquet", "_x.parquet", "some_file_of (1).parquet")
READ = ("x_.parquet", "__.parquet", "a_b_.parquet", "1( ._.parquet", "_x_1_20200101000000000.parquet", "x_1_(.parquet")
NO_BASE_FILES = ("x.tmp", "_SUCCESS", "notes.txt", "x.parquet.bak", "X.PARQUET", "x.orc", ".x.parquet.crc")


@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "mor_part", "cow_flat_nomdt"])
def test_names_that_no_file_of_hudi_has(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    folder = copy.path if name == "cow_flat_nomdt" else copy.path / "part-0"
    file = sorted(folder.glob("*.parquet"))[0]
    assert not [entry for entry in check(copy) if entry.finding == "foreign-file"]
    completed, group = f"Copy of {file.name}", file.name.partition("_")[0]
    skipped = (*SKIPPED, f"{group}_1-0-1.parquet")
    for other in (*FAIL, *READ, completed, *skipped, *NO_BASE_FILES):
        shutil.copy2(file, folder / other)
    prefix = "" if folder == copy.path else "part-0/"
    found = {brief(entry) for entry in check(copy) if entry.finding == "foreign-file"}
    assert found == {
        *(("foreign-file", ERROR, f"{prefix}{other}") for other in (*FAIL, *READ, completed)),
        *(("foreign-file", INFO, f"{prefix}{other}") for other in skipped),
    }
