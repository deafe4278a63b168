"""A metadata table that a writer makes while orphans are deleted stays with its writer."""

import shutil
from collections.abc import Callable

import pytest

from hudictl.errors import Conflict
from hudictl.storage.local import LocalStorage
from tests.fixtures import Unpack
from tests.helpers import At, Copy
from tests.ops.restore.new_metadata_table_support import begin, make_anew
from tests.state.orphans.find_support import between_commits, delete, listed_orphan


def begin_anew(copy: Copy) -> None:
    """In the place of the one that is kept."""
    shutil.rmtree(copy.meta / "metadata")
    begin(copy)


@pytest.mark.parametrize("moves", [True, False], ids=["moves folders", "object store"])
@pytest.mark.parametrize(
    ("name", "act", "metadata"),
    [
        ("cow_flat_nomdt", begin, "keep"),
        ("cow_flat_nomdt", make_anew, "keep"),
        ("cow_part", begin, "delete"),
        ("cow_part", begin_anew, "keep"),
    ],
)
@pytest.mark.parametrize("version", ["v6", "v9"])
def test_it_stays(
    unpack: Unpack,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    name: str,
    act: Callable[[Copy], object],
    metadata: str,
    moves: bool,
) -> None:
    if not moves:
        monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    copy = unpack(version, name)
    listed_orphan(copy, between_commits(copy))
    with pytest.raises(Conflict, match="is building a new metadata table") as caught:
        delete(copy, At("verify", lambda: act(copy)), metadata=metadata)
    assert (caught.value.exit_code, "metadata verify" in caught.value.hint) == (12, True)
    assert (copy.meta / "metadata/.hoodie/.temp/begun").exists()
