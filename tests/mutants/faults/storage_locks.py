"""The writers' lock in the store, and locks that are broken."""

from tests.mutants.fault import Fault

LOCK = "table/locks/storage_based.py"
SWAP = "storage/swap.py"
S3 = "storage/s3.py"
BREAK = "ops/clean_up/lock_break.py"
BROKEN = ("cli/test_lock_break.py",)

FAULTS = (
    Fault(
        S3,
        '        condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}\n',
        "        condition: dict[str, str] = {}\n",
        "two processes have the lock: each replaces the other's",
        ("storage/test_swap.py",),
    ),
    Fault(
        S3,
        '                refuse_larger(path, answer["ContentLength"], LOCK_BYTES)\n',
        "",
        "an object of any size in the lock's place is read into memory",
        ("storage/test_swap.py::test_what_is_too_large_for_a_lock_is_not_read",),
    ),
    Fault(
        SWAP,
        "        if found is not None and found.body == body:\n            return found.version\n",
        "",
        "a write whose reply was lost counts as another's: the lock is held by nobody for five minutes",
    ),
    Fault(
        SWAP,
        "_LATER = frozenset({408, 409, 429})",
        "_LATER = frozenset({408})",
        "a store that limits its requests ends a restore in the middle",
    ),
    Fault(
        SWAP,
        "        if status == _CHANGED or isinstance(error, FileExistsError):\n            return None\n",
        "        return None\n",
        "a store that asks to try later counts as another owner: the lock is given up",
    ),
    Fault(
        LOCK,
        '            if seen.held and not (seen.owner or "").startswith(OURS):',
        "            if False:",
        "a living writer's lock is taken",
    ),
    Fault(
        LOCK,
        ' and not (seen.owner or "").startswith(OURS):',
        ":",
        "a killed hudictl blocks the next one for five minutes",
    ),
    Fault(
        LOCK,
        "            if found is None or found.body != self.held.body:",
        "            if found is None:",
        "a stolen lock does not stop the next step",
    ),
    Fault(
        LOCK,
        "            if _valid_until_ms(self.held) <= host_now_ms():",
        "            if False:",
        "a process that slept goes on, although a writer may have the lock",
    ),
    Fault(
        LOCK,
        '                self.lost = "another process has written it"\n',
        "                pass\n",
        "a renewal that met another owner is forgotten",
    ),
    Fault(
        LOCK,
        "host_now_ms() + self.lock.validity_ms, expired=False)",
        "host_now_ms(), expired=False)",
        "a lock is free as soon as it is taken",
    ),
    Fault(
        LOCK,
        "    with releasing(own.release, hint), kept_alive(own.renew, lock.renew_ms / 1000):\n",
        "    with releasing(own.release, hint):\n",
        "a restore of ten minutes loses its lock after five",
    ),
    Fault(
        "ops/guards/liveness.py",
        '        if takes_none and STORAGE.endswith(f".{lock.provider}"):',
        "        if False:",
        "writers that lock are not noticed, and commit during a restore",
        tests=("cli/test_object_store.py",),
    ),
    Fault(
        BREAK,
        "    if not sign.expired and not isinstance(config.lock, ItemLock):\n",
        "    if False:\n",
        "a living writer's lock is broken",
        tests=BROKEN,
    ),
    Fault(
        BREAK,
        "        _not_shared(sign, config.lock)\n",
        "",
        "the lock of a living writer of another table is broken",
        tests=BROKEN,
    ),
    Fault(
        BREAK,
        "        if (now.content, now.owner) != (shown.content, shown.owner):",
        "        if False:",
        "another lock is broken than the one that was shown",
        tests=BROKEN,
    ),
    Fault(
        "table/locks/look.py",
        "    if own is not None and isinstance(own[0], Folders) and own[0].has_folder(own[1]):\n",
        "    if False:\n",
        "no lock is held, while a folder in its place keeps everybody from taking it",
        ("table/locks/test_look.py::test_a_configured_lock_that_is_a_folder",),
    ),
)
