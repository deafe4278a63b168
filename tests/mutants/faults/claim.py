"""hudictl's claim, the locks of Hudi's writers, and the beats of both: one who changes the table at a time."""

from tests.mutants.fault import Fault

FILE = "table/locks/claim.py"
BEAT = "table/writers/beat.py"
CONFIG = "table/locks/config.py"
HOLD = "table/locks/hold.py"
LOCK = "table/locks/file_system.py"
SIGNS = "table/locks/look.py"
NODE = "table/locks/zookeeper.py"

FAULTS = (
    Fault(
        FILE,
        "(owner.host, owner.boot_id, owner.pid_namespace) == (socket.gethostname(), _boot_id(), _pid_namespace())",
        "(owner.host, owner.boot_id) == (socket.gethostname(), _boot_id())",
        "a living hudictl in another container counts as dead",
    ),
    Fault(
        FILE,
        'return start in ("", owner.process_start) or not owner.process_start',
        "return start == owner.process_start",
        "a hudictl whose start time is hidden counts as dead",
    ),
    Fault(
        FILE,
        "    _prove_exclusive(held)\n    held.check()\n",
        "    _prove_exclusive(held)\n",
        "a slow process goes on beside the holder of a higher link",
    ),
    Fault(
        FILE,
        "    if owner.uuid in _LEFT:\n",
        "    if owner.pid == os.getpid():\n",
        "two threads of a program change a table at the same time",
    ),
    Fault(
        LOCK,
        "                delete_all(self.storage, [self.path])\n",
        "                self.storage.delete([self.path])\n",
        "a lock that cannot be given back stays, and nobody is told",
        ("table/locks/test_hold.py::test_a_lock_that_cannot_be_given_back_is_told",),
    ),
    Fault(
        "table/writers/beat.py",
        "        with suppress(StorageFailed):\n            release()\n        raise\n",
        "        release()\n        raise\n",
        "a lock that cannot be given back hides why the work has ended",
        ("table/locks/test_hold.py::test_a_lock_that_cannot_be_given_back_is_told",),
    ),
    # More.
    Fault(
        FILE,
        "        if highest < self.number:\n",
        "        if 0 < highest < self.number:\n",
        "a process goes on whose link was deleted, so that another began a chain of its own",
    ),
    Fault(
        FILE,
        "for number in claim_links(storage) if number < held.number])",
        "for number in claim_links(storage) if number <= held.number])",
        "a process deletes its own link",
    ),
    Fault(
        FILE,
        "alive = storage_now_ms(measure_clock(storage)) - (found",
        "alive = host_now_ms() - (found",
        "a beat is judged by a clock that is ahead: a living hudictl on another host counts as dead",
    ),
    Fault(
        FILE,
        " for entry in entries if entry.modified_ms < dead_ms])",
        " for entry in entries])",
        "the file of another process on its way to a name is deleted",
    ),
    Fault(
        FILE,
        "    except HudictlError:\n        _release(held)\n        raise\n",
        "    except HudictlError:\n        raise\n",
        "a command that is refused for its clock leaves the table claimed",
    ),
    Fault(
        FILE,
        "    if abs(skew_ms) > MAX_SKEW_MS:",
        "    if skew_ms > MAX_SKEW_MS:",
        "a host whose clock is ahead of the storage's goes on",
    ),
    Fault(
        FILE,
        '        raise Conflict(\n            f"{claim_path(number)} cannot be read",',
        '        return\n        raise Conflict(\n            f"{claim_path(number)} cannot be read",',
        "a claim that cannot be read counts as dead",
    ),
    Fault(
        FILE,
        "    except PermissionError:\n        pass\n",
        "    except PermissionError:\n        return False\n",
        "the hudictl of another user counts as dead",
    ),
    Fault(
        FILE,
        '        raise Conflict("another hudictl claimed the table at the same moment", '
        'hint="run the command again") from error\n',
        "        pass\n",
        "two hudictl hold one table after a race for the same link",
    ),
    Fault(
        FILE,
        "    except (Exception, KeyboardInterrupt):\n        _release(held)\n        raise\n",
        "    except Exception:\n        _release(held)\n        raise\n",
        "a command that is interrupted leaves the table claimed",
        tests=("cli/test_change.py::test_130_at_once_with_the_second_signal",),
    ),
    Fault(
        BEAT,
        "        thread.join()\n",
        "",
        "a slow beat puts the content of a released claim back",
        tests=("table/writers/test_heartbeats.py::test_beating_does_not_bring_back_what_was_deleted",),
    ),
    Fault(
        BEAT,
        "            continue\n",
        "            return\n",
        "after one beat that failed a living hudictl looks dead",
        tests=("table/locks/test_claim.py::test_it_beats_while_it_is_held",),
    ),
    Fault(
        HOLD,
        "            self.lock.check()\n",
        "            pass\n",
        "a command goes on after a writer has deleted its lock",
    ),
    Fault(
        LOCK,
        "        if 0 < self.expire_ms < _age_ms(status):",
        "        if self.expire_ms < _age_ms(status):",
        "the lock of a living writer is taken where locks never expire",
        tests=("table/locks/test_hold.py::test_anothers_lock_is_never_deleted",),
    ),
    Fault(
        LOCK,
        'return owner.get("table") == self.table or',
        "return True or",
        "the lock that hudictl holds for another table counts as dead",
        tests=("table/locks/test_hold.py::test_anothers_lock_is_never_deleted",),
    ),
    Fault(
        LOCK,
        " == self.path == _BESIDE_CLAIMS",
        " == self.path",
        "the lock that a living hudictl holds for another table, in a folder that both link to, counts as dead",
        tests=("table/locks/test_hold.py::test_a_dead_hudictls_lock_is_taken_over_by_another_name_of_the_table",),
    ),
    Fault(
        LOCK,
        "        if found is not None and not self._is_dead(*found):\n",
        "        if found is not None and self._is_dead(*found):\n",
        "a living lock that was met while a dead one is moved away is gone",
        tests=("table/locks/test_hold.py::test_of_two_that_find_it_expired_one_wins",),
    ),
    Fault(
        LOCK,
        "        if self._is_own():\n            self.storage.touch(self.path)",
        "        if self.path:\n            self.storage.touch(self.path)",
        "the dead lock of another is kept young",
        tests=("table/locks/test_hold.py::test_a_held_lock_is_renewed",),
    ),
    Fault(
        LOCK,
        "            if self._is_own():\n                delete_all(self.storage, [self.path])",
        "            if self.path:\n                self.storage.delete([self.path])",
        "the lock of a writer is deleted at the end",
        tests=("table/locks/test_hold.py::test_anothers_lock_is_never_deleted",),
    ),
    Fault(
        LOCK,
        '        return None if self._is_own() else "a writer that took it at the same moment"',
        "        return None",
        "a writer that took the lock in the same moment works beside hudictl",
        tests=("table/locks/test_hold.py::test_a_writer_that_was_quicker_by_a_moment_has_it",),
    ),
    Fault(
        SIGNS,
        "held, expired, owner, expires_in_ms = True, False",
        "held, expired, owner, expires_in_ms = False, False",
        "a lock that cannot be read counts as free",
    ),
    Fault(
        SIGNS,
        "        over = left_ms < -DRIFT_MS\n",
        "        over = left_ms < 0\n",
        "a lock counts as free while Hudi still counts it as held",
    ),
    Fault(
        NODE,
        "if status is None or self.client.client_id is None or status.owner_session_id != self.client.client_id[0]:",
        "if status is None:",
        "a session that was lost and begun anew still counts as holding the lock",
    ),
    Fault(
        NODE,
        'return sorted(_ask(client, lock, "get_children", lock.path), key=_sequence)',
        'return sorted(_ask(client, lock, "get_children", lock.path))',
        "hudictl takes the lock before a writer that came first",
    ),
    Fault(
        CONFIG,
        '    if provider is None and settings.get("hoodie.write.concurrency.mode", "").upper() in _MULTI_WRITER:',
        '    if provider is None and settings.get("hoodie.write.concurrency.mode", "") == _MULTI_WRITER[0]:',
        "the default lock of non-blocking concurrency control is not taken",
    ),
    Fault(
        CONFIG,
        "    settings = locking.settings",
        "    settings = {**table.properties, **locking.settings}",
        "who can write into the table chooses the lock, and with it files to delete and hosts to ask",
    ),
    Fault(
        LOCK,
        "with self._alone(wait=True):",
        "if True:",
        "a lock that another has taken meanwhile is deleted as one's own",
        tests=("table/locks/test_hold.py::test_giving_back_never_deletes_anothers",),
    ),
)
