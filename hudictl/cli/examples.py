"""Examples at the end of each command's ``--help``: a test runs them."""

import click

_RESTORED = "20261121030414313"
_WRITTEN = "20261121030415374"
_FAILED = "20261121030627840"
_CLEANED = "20261121030339253"
_COMPACTED = "20261121030402687"
_CLUSTERED = "20261121030319187"
_INDEXED = "20261121235959000"
_ROLLING_BACK = "20261121030655262"
_RESTORING = "20261121030802660"
_FILE = f"part-0/384bfc70-33f5-4dfa-9fc7-f4f791e27901-0_3-1707-3672_{_WRITTEN}.parquet"

EXAMPLES = {
    "archive repair": ("archive repair --plan",),
    "apply": (f"restore {_RESTORED} --plan -o json > plan.json", "apply plan.json"),
    "check": ("check", "check --fail-on error -o nagios"),
    "checkpoint list": ("checkpoint list --limit 1",),
    "clean discard": (f"clean discard {_INDEXED} --plan",),
    "clean list": ("clean list --archived --limit 10",),
    "clean show": (f"clean show {_CLEANED}",),
    "clustering list": ("clustering list",),
    "clustering prune": (f"clustering prune {_CLUSTERED} --plan",),
    "clustering show": (f"clustering show {_CLUSTERED}",),
    "commit diff": ("commit diff /lake/trips",),
    "commit list": ("commit list --limit 10", "commit list --since 7d --where 'errors>0' -o csv"),
    "commit show": (f"commit show {_WRITTEN}", f"commit show {_WRITTEN} --by file"),
    "compaction list": ("compaction list", "compaction list --where state!=COMPLETED"),
    "compaction show": (f"compaction show {_COMPACTED}",),
    "compaction rebuild-plan": (f"compaction rebuild-plan {_COMPACTED} --plan",),
    "compaction unschedule": (
        f"compaction unschedule {_COMPACTED} --group part-0/75aec7d2-c5ef-44c4-aa95-9903e5d37ce6-0 --plan",
        f"compaction unschedule {_COMPACTED} --yes",
    ),
    "compaction validate": (f"compaction validate {_COMPACTED}",),
    "config list": ("config list",),
    "demo": ("demo --engine local",),
    "copy": ("copy --as-of 20261121030412254 --to /lake/trips_then --plan",),
    "doctor": ("doctor --no-spark", "doctor --engine local -o json"),
    "failed-writes clean": ("failed-writes clean --plan", "failed-writes clean --yes"),
    "failed-writes list": ("failed-writes list",),
    "heartbeat delete": (f"heartbeat delete {_FAILED} --yes",),
    "heartbeat list": ("heartbeat list",),
    "indexing list": ("indexing list",),
    "indexing show": (f"indexing show {_INDEXED}",),
    "history": ("history",),
    "history show": ("history show 20261121040000000",),
    "lock break": (
        "lock break --hoodie-conf "
        "hoodie.write.lock.provider=org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider "
        "--hoodie-conf hoodie.write.lock.filesystem.expire=10 --yes",
    ),
    "lock show": ("lock show --hoodie-conf hoodie.write.lock.provider=...FileSystemBasedLockProvider",),
    "log inspect": ("log inspect --partition part-0", f"log inspect --instant {_FAILED}"),
    "log records": (
        "log records '/lake/trips/part-0/.*.log.*' --limit 5",
        "log records --merged /lake/trips/part-0 -o json",
    ),
    "file explain": ("file explain 384bfc70-33f5-4dfa-9fc7-f4f791e27901-0_2-1607-3438_20261121030410998.parquet",),
    "file history": ("file history 384bfc70-33f5-4dfa-9fc7-f4f791e27901-0 --archived",),
    "file slices": ("file slices", "file slices --partition part-0"),
    "log verify": ("log verify",),
    "marker delete": ("marker delete 20261121030623731 --yes",),
    "marker list": ("marker list", f"marker list {_FAILED}"),
    "metadata columns": (f"metadata columns {_FILE}",),
    "metadata drop": ("metadata drop --plan", "metadata drop column_stats --yes", "metadata drop --yes"),
    "metadata files": ("metadata files", "metadata files part-0"),
    "metadata lookup": ("metadata lookup 17 18",),
    "metadata partitions": ("metadata partitions",),
    "metadata verify": ("metadata verify", "metadata verify --indexes --sample 10"),
    "orphans delete": ("orphans delete --plan", "orphans delete --yes", "orphans delete --duplicates --keep-files"),
    "orphans list": ("orphans list",),
    "partition list": ("partition list", "partition list --where state!=used --sort last_write"),
    "restore": (
        f"restore {_RESTORED} --plan",
        f"restore {_RESTORED} --yes",
        f"restore {_RESTORED} --require-index column_stats --yes",
    ),
    "restore list": ("restore list",),
    "restore show": (f"restore show {_RESTORING}",),
    "resume": ("resume --plan", "resume --yes"),
    "rollback": (f"rollback {_WRITTEN} --plan", f"rollback {_WRITTEN} --yes"),
    "rollback list": ("rollback list --since 7d",),
    "rollback show": (f"rollback show {_ROLLING_BACK}",),
    "savepoint create": (
        'savepoint create --comment "before the nightly job" --yes',
        f"savepoint create {_WRITTEN} --yes",
        "savepoint create --every 24h --tag nightly --yes",
    ),
    "record find": ("record find 17", f"record find 17 --partition part-2 --as-of {_RESTORED}"),
    "record duplicates": ("record duplicates", "record duplicates --partition part-0 -o csv"),
    "record history": ("record history 17", "record history 17 --archived --where state=committed"),
    "savepoint delete": (f"savepoint delete {_RESTORED} --yes",),
    "savepoint prune": (
        "savepoint prune --tag nightly --keep-daily 7 --keep-weekly 5 --plan",
        "savepoint prune --all --keep-last 3 --yes",
    ),
    "savepoint list": ("savepoint list", "savepoint list --bytes -o json"),
    "savepoint show": (f"savepoint show {_RESTORED} --verify",),
    "schema": ("schema", "schema savepoint list > savepoint-list.json"),
    "stats amplification": ("stats amplification --since 7d",),
    "stats phases": ("stats phases --limit 10", "stats phases --where 'to_completed_ms>60000'"),
    "stats sizes": ("stats sizes", "stats sizes --by commit --of files"),
    "stats skew": ("stats skew --limit 10",),
    "table properties": ("table properties", "table properties --all --where name~timeline"),
    "partition repair": ("partition repair --plan",),
    "table set-property": ("table set-property hoodie.database.name=lake --plan",),
    "table repair-properties": (
        "table repair-properties --plan",
        "table repair-properties --set hoodie.table.name=trips --plan",
    ),
    "table schema": ("table schema", "table schema --history"),
    "table show": ("table show", "table show -o json"),
    "timeline inspect": (f"timeline inspect {_WRITTEN}",),
    "timeline quarantine": (f"timeline quarantine {_WRITTEN} --plan",),
    "timeline report": ("timeline report --html trips.html", "timeline report --html trips.html --quick"),
    "timeline show": (
        "timeline show --limit 20",
        "timeline show --with-metadata-table",
        "timeline show --archived --action commit -o json",
    ),
    "undo": (f"restore {_RESTORED} --keep-files --yes", "undo 20261129150000000 --yes"),
    "undo drop": ("undo drop --older-than 14d --yes",),
    "undo list": ("undo list",),
    "wait": ("wait --for no-writers --timeout 30m", f"wait --for nothing-pending --for instant={_WRITTEN}"),
    "why archive": ("why archive --assume-defaults",),
    "why clean": ("why clean --assume-defaults",),
    "why compaction": ("why compaction --assume-defaults",),
}
"""By command; each line follows ``hudictl``."""


def give_examples(name: str, command: click.Command) -> None:
    """Adds its examples to a command."""
    if name in EXAMPLES:
        lines = "\n".join(f"  hudictl {line}" for line in EXAMPLES[name])
        # Behind \b click keeps a paragraph as it is.
        command.epilog = f"\b\nExample{'s' if len(EXAMPLES[name]) > 1 else ''}:\n{lines}"
