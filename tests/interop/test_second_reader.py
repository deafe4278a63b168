"""What hudi-rs sees of a table that hudictl has changed, and changed back."""

from pathlib import Path

import pytest

from tests import support
from tests.helpers import Copy
from tests.interop import product, second_reader

pytestmark = pytest.mark.hudi


@pytest.mark.parametrize("name", ["cow_savepoints", "mor_savepoints"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_restore_and_its_undo(version: str, name: str, tmp_path: Path) -> None:
    copy = Copy(version, name, support.unpack(version, name, tmp_path))
    target = copy.savepoints[0]
    before = second_reader.rows(copy.path)
    wanted = second_reader.rows(copy.path, as_of=target)
    assert wanted != before
    flags = ("--delete-later-savepoints", "--keep-files")
    assert product.command(copy.path, "restore", target, *flags) == 0
    assert second_reader.rows(copy.path) == wanted
    (time,) = (path.stem for path in (copy.meta / ".hudictl/undo").glob("*.json"))
    assert product.command(copy.path, "undo", time) == 0
    assert second_reader.rows(copy.path) == before
