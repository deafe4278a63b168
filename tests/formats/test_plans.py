"""Plans of pending compactions."""

import pytest

from hudictl.formats import plans
from hudictl.formats.file_names import parse_data_file
from tests.formats import real_files

COMPACTIONS = [*real_files.matching(real_files.ending(".compaction.requested"))]


@pytest.mark.parametrize(("label", "body"), COMPACTIONS, ids=[label for label, _ in COMPACTIONS])
def test_real_compaction_plans(label: str, body: bytes) -> None:
    """The groups of the plan are groups of the table: each has data files under that partition and file id."""
    version, name, _ = label.split("/", 2)
    groups = {
        (path.rpartition("/")[0], data.file_id)
        for path in real_files.files(version, name)
        if not path.startswith(".hoodie/") and (data := parse_data_file(path.rpartition("/")[2]))
    }
    found = plans.decode_compaction_groups(body, label)
    assert found
    assert found <= groups
