"""From a URI, or a profile, to its table."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from hudictl.errors import UsageError
from hudictl.library.access import Access
from hudictl.library.engines import EngineOptions
from hudictl.library.opened import Opened
from hudictl.library.profiles import ENGINES, profile_named, read_profiles, resolved, writers_settings_of
from hudictl.library.table import HudiTable
from hudictl.secrets import hide_in_errors

if TYPE_CHECKING:
    from hudictl.ops.session import Monitor


def open(
    uri: str | os.PathLike[str] = "",
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
    keep_files: bool | None = None,
    monitor: "Monitor | None" = None,
    salvage: Mapping[str, str] | None = None,
) -> HudiTable:
    """Opens a Hudi table. What is given here wins over the profile.

    Args:
        uri: The base path; by default that of the profile.
        profile: A name in a configuration file (docs/profiles.md): the user's own, or ``config``. Variables of the
            environment that begin with HUDICTL_ are for the commands: they do not count here.
        config: A file with profiles, which win over those in the user's own.
        storage_options: Options of the store, as for fsspec.
        timezone: The time zone of the table's instant times: Europe/Berlin, UTC-05:00.
        hoodie_conf: The writers' settings: locks, heartbeats, and what ``check`` and ``why`` compare with. Changes take
            the lock that these configure.
        engine: What lists, reads and deletes data files: "spark" (the default), or "local": threads of this process.
        master: The master of Spark. Where a SparkContext is active in this process, that one is used.
        spark_conf: The configuration of Spark.
        shared_filesystem: All hosts of the Spark cluster see the same files.
        lock_timeout_ms: How long to wait for the lock, in milliseconds. By default as in the writers' settings.
        single_operator: No other hudictl works on this table; needed if the store cannot create files exclusively.
        keep_files: Restores, rollbacks and deletions keep the files that they take away, for ``undo``, whatever their
            own options say. By default as the profile says.
        monitor: What is told of each step, and can end a change between two of them.
        salvage: Opens it also where its hoodie.properties is damaged or missing, for ``repairs.properties``: by what is
            left, and by these properties.

    Raises:
        UsageError: No table is given, or a setting is wrong.
        NotFound: There is no table.
        Unreadable: Its hoodie.properties cannot be read.
        Unsupported: Its version is not supported.
        StorageFailed: The store does not answer, or refuses.
    """
    from hudictl.table.beat_rule import heartbeat_rule
    from hudictl.table.locks.config import Locking
    from hudictl.table.open import open_table

    if engine not in (None, *ENGINES):
        raise UsageError(f"engine={engine!r}: write {' or '.join(map(repr, ENGINES))}")
    secrets: set[str] = set()
    for given in (hoodie_conf, spark_conf):
        hide_in_errors(given or {})
    known = profile_named(profile, read_profiles(config)) if profile else None
    if not os.fspath(uri) and not (known and known.uri):
        raise UsageError("no table is given", hint="give its URI, or a profile that has one")
    stored = resolved(known, "storage_options", secrets) | dict(storage_options or {})
    settings = writers_settings_of(known, stored, secrets) | dict(hoodie_conf or {})
    zone = timezone or (known.timezone if known else "") or None
    core = open_table(
        os.fspath(uri) or (known.uri if known else ""),
        stored,
        zone,
        single_operator=single_operator,
        rule=heartbeat_rule(settings),
        salvage=salvage,
    )
    asked = EngineOptions(
        engine or (known.engine if known else "") or "spark", master, dict(spark_conf or {}), shared_filesystem
    )
    access = Access(
        engine=asked.over(
            known,
            resolved(known, "spark_conf", secrets) if asked.name != "local" else {},
            refusal="master, spark_conf and shared_filesystem are for Spark: they do not go with engine='local'",
        ),
        locking=Locking(of_environment() | settings, lock_timeout_ms, False),
        monitor=monitor,
        timezone=zone,
        keep_files=bool(known and known.keep_files) if keep_files is None else keep_files,
        single_operator=single_operator,
        storage_options=stored,
        secrets=lambda: frozenset(secrets),
    )
    return HudiTable(Opened(core, access))


def of_environment() -> dict[str, str]:
    """What Hudi's writers read from the environment, too."""
    region = os.environ.get("AWS_REGION")
    return {"hoodie.write.lock.dynamodb.region": region} if region else {}
