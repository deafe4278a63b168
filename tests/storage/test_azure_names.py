"""Azure's driver asks for the names that it is given: here without a server, in ``tests/stores`` with one."""

import logging
import pickle

import pytest

from hudictl.errors import StorageFailed
from hudictl.storage.open import open_storage
from hudictl.storage.remote import RemoteStorage

pytest.importorskip("adlfs", reason="the extra azure is not installed: pip install 'hudictl[azure]'")

ACCOUNT = {"account_key": "c2VjcmV0"}
NAMES = ["a?", "a?b=c", "a?b#c", "a?versionid=1", "a#1", "a/b?/c", "abfs:/x", "100%25"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_with_the_signs_of_a_url_is_that_name(name: str) -> None:
    """Also in another process, where an executor has got the storage."""
    for copies in range(2):
        store = open_storage("abfss://lake@acc.dfs.core.windows.net/t/", ".tmp", ACCOUNT)
        store = pickle.loads(pickle.dumps(store)) if copies else store
        assert isinstance(store, RemoteStorage)
        assert store.filesystem.split_path(store._path(name)) == ("lake", f"t/{name}", None)
        assert store.filesystem.account_name == "acc"


def test_an_account_in_the_uri_and_another_in_the_options() -> None:
    with pytest.raises(StorageFailed, match="account_name"):
        open_storage("abfs://lake@acc.dfs.core.windows.net/t", ".tmp", {**ACCOUNT, "account_name": "other"})
    open_storage("abfs://lake@acc.dfs.core.windows.net/t", ".tmp", {**ACCOUNT, "account_name": "acc"})


def test_what_azures_libraries_log_is_not_printed() -> None:
    """Python prints what no handler takes: then an error in JSON would not be alone."""
    open_storage("abfs://lake@acc.dfs.core.windows.net/t", ".tmp", ACCOUNT)
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("azure").handlers)
