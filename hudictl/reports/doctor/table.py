"""A table's store: credentials, listing, conditional create, clock."""

import time
from collections.abc import Mapping

from hudictl.formats.layouts import META
from hudictl.reports.doctor.checkup import MISSING, OK, WARNING, Checkup
from hudictl.reports.locks import LockDescription
from hudictl.storage import Storage
from hudictl.storage.open import find_credentials
from hudictl.table.clock import clock_sentence, measure_clock
from hudictl.table.probe import probe_create
from hudictl.table.table import Table

_SKEW_MS = 5_000
"""hudictl computes with the store's clock; Hudi's writers and their heartbeats with that of their own host."""


def credentials_checkup(uri: str, options: Mapping[str, str]) -> Checkup:
    """Raises what the libraries of the store raise."""
    try:
        found = find_credentials(uri, options)
    except ImportError as error:
        return Checkup("credentials", WARNING, f"not known: {error}", "install the store's package: see above")
    if found is None:
        is_local = ":" not in uri or uri.startswith("file:")
        return Checkup("credentials", OK, "none needed" if is_local else "which ones this store needs is not known")
    facts = "".join(f"; {fact}" for fact in found.facts)
    if not found.source:
        return Checkup("credentials", MISSING, f"none found{facts}", found.advice)
    return Checkup("credentials", OK, f"{found.source}{facts}")


def listing_checkup(storage: Storage) -> Checkup:
    """Raises StorageFailed."""
    begun = time.monotonic()
    try:
        found = storage.list(META)
    except FileNotFoundError:
        advice = "give the table's base path: the folder with .hoodie"
        return Checkup("listing", MISSING, f"{storage.uri} has no folder {META}", advice)
    took_ms = (time.monotonic() - begun) * 1000
    return Checkup("listing", OK, f"the {len(found)} entries of {META} were listed in {took_ms:.0f} ms")


def create_checkup(storage: Storage) -> Checkup:
    """Raises Unsupported, StorageFailed."""
    if probe_create(storage):
        return Checkup("create", OK, "a file was created once, not twice, and deleted")
    return Checkup(
        "create",
        WARNING,
        "the store has created the same file twice: it cannot keep two hudictl apart",
        "if no other hudictl uses this table: --single-operator",
    )


def clock_checkup(storage: Storage) -> Checkup:
    """Raises StorageFailed."""
    clock = measure_clock(storage)
    if abs(clock.skew_ms) > _SKEW_MS:
        return Checkup(
            "clock", WARNING, clock_sentence(clock), "synchronize this host's clock, and those of the writers"
        )
    return Checkup("clock", OK, clock_sentence(clock))


def table_checkup(table: Table) -> Checkup:
    zone_said = "" if table.zone else "; the time zone of its instants is not known: this host's is assumed"
    return Checkup("table", OK, f"{table.name}: version {table.version}, {table.type}{zone_said}")


def lock_checkup(found: LockDescription, line: str) -> Checkup:
    """The lock by its settings; ``line`` is the sentence of plans about it."""
    config = found.configured
    if config.unsupported:
        return Checkup("lock", MISSING, f"{config.provider} is configured, but {config.unsupported}")
    if found.problem:
        return Checkup("lock", MISSING, found.problem, "every change takes this lock first")
    held = [sign for sign in found.locks if sign.held]
    if held and config.provider is None:
        return Checkup(
            "lock",
            WARNING,
            f"no lock is configured, but {held[0].path} ({held[0].provider}) is held",
            "keep the writers' lock settings in a profile (docs/profiles.md)",
        )
    if held:
        return Checkup(
            "lock", WARNING, f"{line} It is held now: {held[0].path}", "`hudictl lock show` shows its holder"
        )
    return Checkup("lock", OK, line)
