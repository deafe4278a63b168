"""The item of AWS's lock client, and the locks that are named by a hash of the base path."""

from tests.mutants.fault import Fault

FILE = "table/locks/dynamodb.py"
IMPLICIT = "table/locks/config.py"
KINDS = "table/locks/config.py"
CONFIG = "table/locks/config.py"
CONTENTION = ("table/locks/test_dynamodb_contention.py",)
ASKED = ("table/locks/test_config.py",)

FAULTS = (
    Fault(
        FILE,
        '_ABSENT = "attribute_not_exists(#key)"',
        '_ABSENT = "attribute_not_exists(#key) OR attribute_exists(#key)"',
        "the lock of a writer that came between look and put is taken away",
    ),
    Fault(
        FILE,
        '_FREE = "attribute_exists(#key) AND #released = :released"',
        '_FREE = "attribute_exists(#key) OR #released = :released"',
        "a released lock is taken from a writer that was faster",
    ),
    Fault(
        FILE,
        '_UNCHANGED = "attribute_exists(#key) AND #version = :seen"',
        '_UNCHANGED = "attribute_exists(#key) OR #version = :seen"',
        "a holder that beats at the last moment loses the lock",
    ),
    Fault(
        FILE,
        '_OWN = "attribute_exists(#key) AND #owner = :own"',
        '_OWN = "attribute_exists(#key) OR #owner = :own"',
        "a contender that gives up deletes the lock of another one",
    ),
    Fault(
        FILE,
        "        if self.watched is None or self.watched.version != item.version:",
        "        if self.watched is None:",
        "a living holder counts as dead, however often it beats",
    ),
    Fault(
        FILE,
        "(asked - self.watched.moment) * 1000 > item.lease_ms",
        "(asked - self.watched.moment) * 1000 > self.lock.lease_ms",
        "a holder with a longer lease counts as dead too early",
    ),
    Fault(
        FILE,
        "(asked - self.watched.moment) * 1000 > item.lease_ms",
        "(time.monotonic() - self.watched.moment) * 1000 > item.lease_ms",
        "a slow answer counts as time in which the holder was silent",
    ),
    Fault(
        FILE,
        "            self.watched = _Since(item.version, time.monotonic())",
        "            self.watched = _Since(item.version, asked)",
        "a slow question counts as time in which the holder was silent",
    ),
    Fault(
        FILE,
        "        if item is not None and item.owner == self.owner and not item.released:\n",
        "        if item is not None and item.owner == self.owner and False:\n",
        "a process waits for itself where an answer was lost",
    ),
    Fault(
        FILE,
        "        if item is not None and item.owner == self.owner:\n            self._renewed(item.version)\n",
        "",
        "a heartbeat whose answer was lost is the last one",
    ),
    Fault(
        FILE,
        '            raise self._lost(f"it belongs to {item.owner}")\n',
        "            pass\n",
        "a process goes on whose lock was taken over",
    ),
    Fault(
        FILE,
        '            raise self._lost("its item was deleted or released")\n',
        "            return\n",
        "a process goes on whose lock was deleted",
    ),
    Fault(
        FILE,
        "        if quiet_s * 1000 >= self.lock.lease_ms:",
        "        if quiet_s * 1000 >= self.lock.lease_ms and item is None:",
        "a process without heartbeats goes on while another contender may take the lock",
    ),
    Fault(
        FILE,
        "        if done:\n            self.held = _Since(version, sent)",
        "        if done:\n            self.held = _Since(version, time.monotonic())",
        "the time of a slow put does not count to the lease",
    ),
    Fault(
        FILE,
        "        if done:\n            self.held = _Since(new, sent)",
        "        if done:\n            self.held = _Since(new, time.monotonic())",
        "the time of a slow heartbeat does not count to the lease",
    ),
    Fault(
        FILE,
        "    finally:\n        # An item that cannot be deleted expires.\n",
        "    except ZeroDivisionError:\n        # An item that cannot be deleted expires.\n",
        "the lock is kept for a lease after each operation",
    ),
    Fault(
        FILE,
        "        with suppress(StorageFailed):\n            own.release()",
        "        if own.held:\n            own.release()",
        "a lock whose answer was lost is kept, or a failing release hides that the work is done",
    ),
    Fault(
        FILE,
        "with kept_alive(own.beat, lock.lease_ms / 3000):",
        "with kept_alive(own.beat, lock.lease_ms / 1000):",
        "heartbeats come when the lease is over",
    ),
    Fault(
        FILE,
        '**_texts(item), "data": {"B": self.body}',
        '**_texts(item), "data": {"S": self.body.decode()}',
        "AWS's client fails on the item of hudictl",
    ),
    Fault(
        FILE,
        "ConsistentRead=True",
        "ConsistentRead=False",
        "an old answer says that the lock is still held",
    ),
    Fault(
        IMPLICIT,
        "_SEED = -625288518 % 2**64",
        "_SEED = -625288518 % 2**32",
        "hudictl takes a lock that no writer waits for",
    ),
    Fault(
        IMPLICIT,
        're.sub("^s3a://", "s3://", base, flags=re.IGNORECASE)',
        'base.rstrip("/")',
        "hudictl takes a lock that no writer waits for",
    ),
    Fault(
        IMPLICIT,
        "    base = settings.get(BASE_PATH) or None\n",
        "    base = settings.get(BASE_PATH) or table.uri\n",
        "hudictl guesses how the writers spell the base path",
    ),
    Fault(
        IMPLICIT,
        "    if base is not None and not _same(base, table.uri):",
        "    if base is not None and not base:",
        "the lock of another table is taken",
    ),
    Fault(
        IMPLICIT,
        "path == other_path and (host == other_host or not host or not other_host or is_hdfs(uri))",
        "path == other_path",
        "the lock of a table in another bucket is taken",
    ),
    Fault(
        KINDS,
        'lease_ms = _number(settings, "wait_time_ms", 60_000)',
        "lease_ms = 60_000",
        "other contenders take the lock before hudictl beats",
        ASKED,
    ),
    Fault(
        CONFIG,
        "        wait_ms += lock.lease_ms\n",
        "        wait_ms += 0\n",
        "a lock with a long lease is never waited out",
    ),
)
