"""For all tests."""

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.s3 import S3

# The sample tables' LOCAL times are UTC: west of it, a host's clock would be behind their timelines for some hours.
os.environ["TZ"] = "UTC"
time.tzset()

# Properties are not held to a clock: a busy host is no fault of theirs.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


# Version 8 differs from 9 in what Hudi writes, not in what hudictl does: what operations and commands promise is proved
# on versions 6 and 9 each time, and on 8 with the long form. These look at what each Hudi has written, or did.
_EACH_VERSION = ("test_parity", "test_needed", "test_metadata")
# A quarter of a minute or more with the real Hudi.
_SLOW = (
    "test_scenario",
    "test_a_lazy_writer_is_running_at_any_moment_of_its_commits",
    "test_a_hudi_writer_waits_for_hudictl",
    "test_what_a_killed_writer_left_comes_back_as_rows_and_is_deleted",
    "test_queries_see_what_valid_blocks_hold",
    "test_every_table",
    "test_hudis_own_rollback",
    "test_hudis_own_restore",
    "test_partition_paths",
    "test_what_logs_and_base_files_say_of_the_same",
    "test_hudi_reads_through_a_metadata_table_whose_logs_hudictl_has_written_again",
    "test_queries_see_an_upsert_and_a_delete_in_a_log_of_a_commit_until_a_block_rolls_it_back",
    "test_merged_records_of_shared_tables",
    "test_merged_records_of_histories_by_chance",
    "test_merged_records_of_partial_updates_by_chance",
)
# The longest: version 9 alone in the short form.
_SLOWEST = (
    "test_hudi_reads_in_every_log_that_hudictl_has_written_again_what_it_read_before",
    "test_a_metadata_table_of_hudictls_hfiles",
    "test_writes_that_die_about_the_metadata_tables_commit",
    "test_slices_are_those_of_hudi",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the cases that the long form alone runs."""
    for item in items:
        folder, _, module = item.path.with_suffix("").as_posix().rpartition("/")
        named = getattr(item, "callspec", None)
        function = getattr(item, "originalname", "")
        long = (
            any(f"/tests/{room}" in folder for room in ("state", "reports", "ops", "cli"))
            and module not in _EACH_VERSION
        )
        left_out = {"v8"} if long or function in _SLOW else {"v6", "v8"} if function in _SLOWEST else set()
        if named is not None and left_out & set(named.id.split("-")):
            item.add_marker(pytest.mark.full)


@pytest.fixture(scope="session")
def s3() -> "Iterator[S3]":
    """An S3 of this process; each test has keys of its own."""
    from tests.s3 import serve

    with serve() as running:
        yield running
