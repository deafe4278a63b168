"""After hoodie.properties was written again, the real Hudi reads the same rows, writes, cleans and archives as with the
sound one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import support
from tests.damage.harms import do_harm
from tests.helpers import assert_listed
from tests.interop import product
from tests.interop.check_support import slugs
from tests.interop.judge import Judge
from tests.interop.make_damages import changed_rows, did

pytestmark = [pytest.mark.hudi, pytest.mark.parametrize("version", support.VERSIONS)]

PATH = ".hoodie/hoodie.properties"
Judges = Callable[[str], Judge]


@pytest.mark.full
@pytest.mark.parametrize("table", ["mor_part", "cow_part"])
def test_hudi_goes_on_as_with_the_sound_file(judge: Judges, version: str, table: str, tmp_path: Path) -> None:
    """Without any file that of a table of merge on read needs the payload class, or 0.15.0 reads no logs."""
    hudi = judge(version)
    sound = support.unpack(version, table, tmp_path / "sound")
    rows = changed_rows(hudi, sound)
    right = did(lambda: hudi, sound, rows, {"changes"})
    assert right["write"] == right["services"] == "done"
    for harm in ("missing", "cut", "flipped", "version"):
        base = support.unpack(version, table, tmp_path / harm)
        do_harm(base, PATH, harm)
        assert product.command(base, "table", "repair-properties", idle="0s") == 0
        assert "properties-wrong" not in slugs(base)
        assert_listed(base)
        assert did(lambda: hudi, base, rows, {"changes"}) == right, harm
