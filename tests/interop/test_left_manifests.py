"""A temporary manifest in the archive, judged by the real Hudi: it archives nothing before `resume`, and does after."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests import support
from tests.helpers import put
from tests.interop import product
from tests.interop.judge import Judge, JudgeError

pytestmark = pytest.mark.hudi

NAME = "manifest_2.0f3bd0ac-5a80-4a9e-9d36-0c2f1f0e7a11"
SOON = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1"}


@pytest.mark.short("v9")
@pytest.mark.parametrize("version", ["v8", "v9"])
def test_hudi_archives_again(judge: Callable[[str], Judge], version: str, tmp_path: Path) -> None:
    base = support.unpack(version, "cow_flat_nomdt", tmp_path)
    hudi = judge(version)
    rows = hudi.both_rows(base)
    left = put(base / ".hoodie/timeline/history" / NAME, b"{}")
    with pytest.raises(JudgeError):
        hudi.archive(base, SOON)
    # The first archiving has died: there is no file of versions. The reader of 1.0.2 looks for one in the names.
    with pytest.raises(JudgeError) if version == "v8" else nullcontext():
        assert hudi.both_rows(base) == rows
    before = len(hudi.timeline(base))
    assert product.resume(base) == 0
    assert not left.exists()
    assert hudi.both_rows(base) == rows
    hudi.archive(base, SOON)
    assert len(hudi.timeline(base)) < before
