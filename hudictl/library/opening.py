"""From a URI, or a profile, to its table."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal

from hudictl.errors import UsageError
from hudictl.library.access import Access
from hudictl.library.opened import Opened
from hudictl.library.profiles import Profile, profile_named, read_profiles, resolved, writers_settings_of
from hudictl.library.table import HudiTable

if TYPE_CHECKING:
    from hudictl.engine.base import Engine
    from hudictl.ops.session import Monitor
    from hudictl.table.table import Table


def open(
    uri: str = "",
    *,
    profile: str | None = None,
    config: str = "",
    storage_options: Mapping[str, str] | None = None,
    timezone: str | None = None,
    hoodie_conf: Mapping[str, str] | None = None,
    engine: Literal["spark", "local"] | None = None,
    master: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
    shared_filesystem: bool = False,
    lock_timeout_ms: int | None = None,
    single_operator: bool = False,
    monitor: "Monitor | None" = None,
) -> HudiTable:
    """Opens a Hudi table. What is given here wins over the profile.

    Args:
        uri: the base path; by default that of the profile.
        profile: a name in a configuration file (docs/profiles.md).
        config: a file with profiles, which win over the user's own.
        storage_options: of the store, as for fsspec.
        timezone: of the table's instant times: Europe/Berlin, UTC-05:00.
        hoodie_conf: the writers' settings: locks and heartbeats.
        engine: what lists, reads and deletes data files: Spark (the default), or threads of this process.
        master: of Spark; spark_conf: its configuration.
        shared_filesystem: all hosts of the Spark cluster see the same files.
        lock_timeout_ms: how long to wait for the lock. By default as in the writers' settings.
        single_operator: no other hudictl works on this table; needed if the store cannot create files exclusively.
        monitor: is told of each step.

    Raises:
        UsageError: no table is given, or a setting is wrong; NotFound: there is no table.
        Unreadable, Unsupported, StorageFailed.
    """
    from hudictl.table.beat_rule import heartbeat_rule
    from hudictl.table.locks.config import Locking
    from hudictl.table.open import open_table

    secrets: set[str] = set()
    known = profile_named(profile, read_profiles(config)) if profile else None
    if not uri and not (known and known.uri):
        raise UsageError("no table is given", hint="give its URI, or a profile that has one")
    stored = resolved(known, "storage_options", secrets) | dict(storage_options or {})
    settings = writers_settings_of(known, stored, secrets) | dict(hoodie_conf or {})
    zone = timezone or (known.timezone if known else "") or None
    core = open_table(
        uri or (known.uri if known else ""),
        stored,
        zone,
        single_operator=single_operator,
        rule=heartbeat_rule(settings),
    )
    access = Access(
        engine=_engine(known, engine, master, dict(spark_conf or {}), shared_filesystem, secrets),
        locking=Locking(of_environment() | settings, lock_timeout_ms, False),
        monitor=monitor,
        timezone=zone,
        storage_options=stored,
        secrets=lambda: frozenset(secrets),
    )
    return HudiTable(Opened(core, access))


def of_environment() -> dict[str, str]:
    """What Hudi's writers read from the environment, too."""
    region = os.environ.get("AWS_REGION")
    return {"hoodie.write.lock.dynamodb.region": region} if region else {}


def _engine(
    profile: Profile | None,
    name: str | None,
    master: str | None,
    conf: dict[str, str],
    shared_filesystem: bool,
    secrets: set[str],
) -> "Callable[[Table], Engine]":
    name = name or (profile.engine if profile else "") or "spark"
    if name == "local":
        if master or conf or shared_filesystem:
            raise UsageError(
                "master, spark_conf and shared_filesystem are for Spark: they do not go with engine='local'"
            )
        return partial(engine_for, "local", None, {}, False, frozenset())
    kept = resolved(profile, "spark_conf", secrets)
    shared = shared_filesystem or bool(profile and profile.shared_filesystem)
    return partial(
        engine_for, name, master or (profile.master if profile else None), kept | conf, shared, frozenset(kept)
    )


def engine_for(
    name: str, master: str | None, conf: Mapping[str, str], shared: bool, hidden: frozenset[str], table: "Table"
) -> "Engine":
    """The engine for a table. Executors must see its properties as this host does."""
    from hudictl.engine.open import open_engine
    from hudictl.formats.layouts import PROPERTIES
    from hudictl.workers import beginnings

    look = partial(beginnings, ((table.storage, PROPERTIES),))
    one_jvm = table.storage.uri.startswith("file:") and not shared
    return open_engine(name, master, conf, look=look, one_jvm=one_jvm, hidden=hidden)
