"""The lock in a Hive metastore, and what a catalog lists wrongly after a change."""

from tests.mutants.fault import Fault

LOCK = "table/locks/hive_metastore.py"
KINDS = "table/locks/config.py"
CATALOG = "state/files/catalog.py"
RENDER = "render/afterwards.py"

FAULTS = (
    Fault(
        CATALOG,
        " if commit.silent else commit.stats",
        " if False else commit.stats",
        "the partitions that only a write with an empty file had written stay in the catalog without a word",
        ("state/files/test_catalog.py::test_the_partitions_of_a_write_whose_file_is_empty_are_those_of_its_files",),
    ),
    Fault(
        LOCK,
        "        if state != idl().LockState.ACQUIRED:\n",
        "        if state is None:\n",
        "a request that waits counts as the lock",
    ),
    Fault(
        LOCK,
        "        if self._state() == idl().LockState.ACQUIRED:\n            return None\n",
        "        return None\n",
        "the lock is held by two",
    ),
    Fault(
        LOCK,
        "        except StorageFailed as error:\n            raise self._lost(error.message) from error\n",
        "        except StorageFailed:\n            return\n",
        "without an answer a lock that may be lost counts as held",
    ),
    Fault(
        LOCK,
        "        with suppress(StorageFailed, TException):\n            _withdraw(lock, agent)\n        raise\n",
        "        raise\n",
        "a request whose reply was lost holds the lock until the metastore's timeout",
    ),
    Fault(
        LOCK,
        "min(lock.heartbeat_ms, _timeout_ms(lock) // 3)",
        "lock.heartbeat_ms",
        "a lock expires in the middle of a restore, because the metastore's timeout is short",
    ),
    Fault(
        LOCK,
        "        with suppress(StorageFailed, TException):\n            queued.release()\n",
        "        pass\n",
        "the lock stays after the command, and writers wait for nobody",
    ),
    Fault(
        LOCK,
        "        if int(ours.lastheartbeat) - int(held.lastheartbeat) <= _timeout_ms(lock):\n",
        "        if int(ours.lastheartbeat) < int(held.lastheartbeat):\n",
        "the lock of a living writer is removed",
    ),
    Fault(
        LOCK,
        ' or held.lastheartbeat != seen["lastheartbeat"]',
        "",
        "a lock is removed that was renewed after it was looked at",
    ),
    Fault(
        LOCK,
        "            problem = error\n            continue\n",
        "            problem = error\n            break\n",
        "with the first metastore down, the second one is not asked",
    ),
    Fault(
        KINDS,
        '        if site.get(key, "").lower() == "true":\n            return lock,',
        '        if site.get(key, "").lower() == "yes":\n            return lock,',
        "a metastore with Kerberos is asked without, and each command fails late",
        ("table/locks/test_config.py",),
    ),
    Fault(
        CATALOG,
        "        commit = (backup if instant is None or instant.pending else commits).get(time)\n",
        "        commit = commits.get(time)\n",
        "a resumed restore does not name the partitions that it removed",
    ),
    Fault(
        CATALOG,
        "        commit = (backup if instant is None or instant.pending else commits).get(time)\n",
        "        commit = backup.get(time) or commits.get(time)\n",
        "a failed write's partitions are to be dropped from the catalog, though nobody saw them",
    ),
    Fault(
        CATALOG,
        "if visible and path not in needed)",
        "if visible)",
        "a partition with data is to be dropped from the catalog",
    ),
    Fault(
        CATALOG,
        "    for time in sorted(removed):\n",
        "    for time in removed:\n",
        "a partition that was dropped and written again is said to return",
    ),
    Fault(
        CATALOG,
        "if commit.operation == _DROPPED else ()",
        "if commit.replaced else ()",
        "an overwritten partition is said to be missing in the catalog",
    ),
    Fault(
        CATALOG,
        'if named != self.hive_style or "=" in value or not',
        "if not",
        "a statement drops a partition by a value that the catalog does not have",
    ),
    Fault(
        CATALOG,
        "table.partition_fields if _values_in_path(table.properties) else ()",
        "table.partition_fields",
        "a statement names the value of a timestamp as the path has it",
    ),
    Fault(
        CATALOG,
        """text.replace("\\\\", "\\\\\\\\").replace("'", "\\\\'")""",
        "text",
        "a statement for a partition with a quote does something else",
    ),
    Fault(
        RENDER,
        "    if len(gap.vanishing_partitions) > _AT_MOST:\n",
        "    if len(gap.vanishing_partitions) > 10 * _AT_MOST:\n",
        "a statement of many lines on a terminal",
    ),
    Fault(
        "ops/restore/execute.py",
        "        **vars(after),\n",
        "",
        "the result of a restore does not say what the catalog lists wrongly",
        ("ops/undo/test_catalog.py",),
    ),
    Fault(
        "ops/rollback/execute.py",
        "        **vars(afterwards(run.table, plan.resumes, plan.undo, plan.checkpoint)),\n",
        "",
        "the result of a rollback does not say what the catalog lists wrongly",
        ("ops/undo/test_catalog.py",),
    ),
)
