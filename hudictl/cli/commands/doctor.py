"""``hudictl doctor``."""

from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING

import click

from hudictl.cli.options import (
    TABLE_VARIABLE,
    EngineOptions,
    TableOptions,
    common_options,
    engine_options,
    table_option,
)
from hudictl.cli.profiles import config_files, read_profiles
from hudictl.cli.progress import shown
from hudictl.cli.show import show_rows
from hudictl.cli.to_copy import to_copy
from hudictl.cli.tree import StrictCommand
from hudictl.cli.writers_options import lock_options
from hudictl.errors import Findings, Refused, StorageFailed, UsageError
from hudictl.library.profiles import Profile
from hudictl.phrases import count_of

if TYPE_CHECKING:
    from hudictl.reports.doctor.checkup import Checkup
    from hudictl.storage import Storage


@click.command(cls=StrictCommand)
@click.option("--no-spark", is_flag=True, help="Do not start Spark.")
@table_option("Base path of a table to try, or its profile's name.", envvar=TABLE_VARIABLE, default="")
@common_options
@engine_options
@lock_options
def doctor(common: TableOptions, engine_options: EngineOptions, no_spark: bool) -> None:
    """Check what hudictl needs on this host, and what it needs for a table: report what is missing, and what to do.

    Without a table nothing is written, and no store is asked. With a table, hudictl lists its timeline. It creates a
    temporary file in `.hoodie/.hudictl`, and deletes it.

    Profiles are checked, too, without a profile all: references, values, and secrets that others can read.

    Spark is started once, unless --no-spark or --engine local is used.

    Exit code 3 for a warning or something missing, else 0.
    """
    from hudictl.reports.doctor.checkup import OK, Checkup

    with shown("doctor", common.progress) as progress:
        rows = []
        for row in _checkups(common, engine_options, no_spark=no_spark):
            progress.note(row.check)
            rows.append(to_copy().all_of(row))
    show_rows(common, "doctor", common.uri or None, rows, Checkup, "")
    found = [row.check for row in rows if row.outcome != OK]
    if found:
        raise Findings(f"{count_of(len(found), 'finding')}: {', '.join(found)}", findings=len(found))


def _checkups(common: TableOptions, options: EngineOptions, *, no_spark: bool) -> "Iterator[Checkup]":
    from hudictl.cli.profile_checks import profile_checkups
    from hudictl.reports.doctor import host
    from hudictl.reports.doctor.checkup import checked

    yield host.python_checkup()
    yield checked("pyspark", partial(host.pyspark_checkup, options.name))
    yield checked("java", partial(host.java_checkup, options.name))
    if options.name != "local" and not no_spark:
        yield checked("spark", partial(_spark, options))
    yield checked("config", _config)
    for profile in [common.profile] if common.profile else _profiles():
        yield from profile_checkups(profile)
    yield from host.driver_checkups(common.uri.partition(":")[0] if ":" in common.uri else "", _purposes(common))
    if common.uri:
        yield from _table(common)


def _spark(options: EngineOptions) -> "Checkup":
    from hudictl.reports.doctor.host import spark_checkup

    with closing(options.open_at()) as engine:
        return spark_checkup(engine)


def _config() -> "Checkup":
    from hudictl.reports.doctor.checkup import MISSING, OK, Checkup

    try:
        profiles = read_profiles()
    except UsageError as error:
        return Checkup("config", MISSING, error.message, error.hint)
    files = sorted({profile.file for profile in profiles.values()})
    if not files:
        return Checkup("config", OK, f"no profiles: looked for {' and '.join(config_files())}")
    return Checkup("config", OK, f"{count_of(len(profiles), 'profile')} in {', '.join(files)}")


def _profiles() -> list[Profile]:
    """All of them; none where the files are wrong, which ``config`` says."""
    with suppress(UsageError):
        return list(read_profiles().values())
    return []


def _purposes(common: TableOptions) -> list[str]:
    """What drivers are needed for, besides the URI's own."""
    from hudictl.reports.doctor.host import DYNAMODB, KERBEROS, METASTORE, ZOOKEEPER
    from hudictl.storage import is_hdfs
    from hudictl.storage.hadoop_conf import asks_kerberos

    provider = (common.locking.settings if common.locking else {}).get("hoodie.write.lock.provider", "").lower()
    words = ((ZOOKEEPER, "zookeeper"), (DYNAMODB, "dynamodb"), (METASTORE, "metastore"))
    purposes = [purpose for purpose, word in words if word in provider]
    # Settings of Hadoop that cannot be read are found where the store is opened.
    with suppress(StorageFailed):
        if is_hdfs(common.uri) and asks_kerberos(common.storage_options):
            purposes.append(KERBEROS)
    return purposes


def _table(common: TableOptions) -> "Iterator[Checkup]":
    from hudictl.formats.layouts import SCRATCH
    from hudictl.reports.doctor import table
    from hudictl.reports.doctor.checkup import OK, Checkup, checked
    from hudictl.storage.open import open_storage
    from hudictl.table.probe import leaving_nothing

    opened: list[Storage] = []

    def store() -> Checkup:
        opened.append(open_storage(common.uri, SCRATCH, common.storage_options))
        return Checkup("store", OK, opened[0].uri)

    yield checked("credentials", lambda: table.credentials_checkup(common.uri, common.storage_options))
    yield checked("store", store)
    if not opened:
        return
    listing = checked("listing", partial(table.listing_checkup, opened[0]))
    yield listing
    # A path that is no table's gets no folder.
    if listing.outcome == OK:
        with leaving_nothing(opened[0]):
            yield checked("create", partial(table.create_checkup, opened[0]))
            yield checked("clock", partial(table.clock_checkup, opened[0]))
        yield checked("table", lambda: _look_at_table(common, opened[0]))
        yield checked("lock", partial(_lock, common, opened[0]))


def _look_at_table(common: TableOptions, storage: "Storage") -> "Checkup":
    from hudictl.ops.guards.clock import writers_zone
    from hudictl.reports.doctor.checkup import MISSING, Checkup
    from hudictl.reports.doctor.table import table_checkup
    from hudictl.table.table import table_at
    from hudictl.table.timeline.active import load_timeline

    table = table_at(storage, common.timezone)
    try:
        writers_zone(table, load_timeline(table))
    except Refused as error:
        return Checkup("table", MISSING, f"every change is refused: {error.message}", error.hint)
    return table_checkup(table)


def _lock(common: TableOptions, storage: "Storage") -> "Checkup":
    from hudictl.render.locks import lock_line
    from hudictl.reports.doctor.table import lock_checkup
    from hudictl.reports.locks import describe_locks
    from hudictl.table.locks.config import NOTHING_SAID
    from hudictl.table.table import table_at

    found = describe_locks(table_at(storage, common.timezone), common.locking or NOTHING_SAID)
    return lock_checkup(found, f"{lock_line(found.configured)} {common.lock_source}".strip())
