"""Which worker of pytest-xdist runs what."""

import re

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

HUDI = "tests/interop/"
# The longest of them, longest first. What takes long is begun first, or one worker waits for the other in the end.
LONG = (
    "test_hdfs_writers",
    "test_hdfs_spark",
    "test_object_store",
    "test_hdfs",
    "test_contract",
    "test_terminal",
    "test_remote",
    "test_partition",
    "test_indexes",
    "test_undo",
    "test_bootstrapped",
    "test_copy",
    "test_hashing",
    "test_late_clustering",
    "test_accidents",
    "test_orphans",
    "test_restore",
    "test_metadata_drop",
    "test_metadata_files",
    "test_lost_end",
    "test_rollback",
    "test_record",
    "test_killed_writers",
    "test_bases",
    "test_crash",
    "test_dropped",
    "test_history",
    "test_overlaps",
    "test_locks",
    "test_rollback_exchange",
    "test_live_writer",
)


class ByRelease(LoadFileScheduling):
    """A file at a time, and of files with the real Hudi the cases of one release at a time.

    Each worker starts a judge of each release that it meets, which costs half a minute until it is warm: so a worker
    stays with the releases it has, then takes one that no other has, and only in the end helps the others with theirs.
    """

    def _split_scope(self, nodeid: str) -> str:
        file, _, case = nodeid.partition("::")
        if not file.startswith(HUDI):
            return file
        found = re.search(r"(?<![a-z0-9])v[689](?![a-z0-9])", case)
        # Where a test is for one release alone, which its name then does not say, it mostly is the oldest.
        return f"{file}@{found[0] if found else 'v6'}"

    def _assign_work_unit(self, node: WorkerController) -> None:
        mine = {release(scope) for scope in self.assigned_work[node]}
        others = {release(scope) for work in self.assigned_work.values() for scope in work} - mine

        def order(scope: str) -> tuple[bool, bool, int]:
            file = scope.partition("@")[0].rpartition("/")[2].removesuffix(".py")
            late = LONG.index(file) if file in LONG else len(LONG)
            return release(scope) in others, release(scope) not in mine, late

        self.workqueue.move_to_end(min(self.workqueue, key=order), last=False)
        super()._assign_work_unit(node)


def release(scope: str) -> str:
    return scope.partition("@")[2]
