"""Numbers for Prometheus, through prometheus_client, the only importer of it."""

import time
from collections import Counter
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Gauge, generate_latest, write_to_textfile

from hudictl.errors import StorageFailed
from hudictl.phrases import printable
from hudictl.reports.health.finding import SEVERITIES
from hudictl.reports.health.tables import Checked


def as_text(tables: Sequence[Checked]) -> str:
    """In Prometheus' text format."""
    return generate_latest(_registry(tables)).decode()


def write_text(tables: Sequence[Checked], path: str) -> None:
    """Into a file of node_exporter's textfile collector, atomically. Raises StorageFailed."""
    try:
        write_to_textfile(path, _registry(tables))
    except OSError as error:
        raise StorageFailed(f"{path} cannot be written: {error.strerror or error}", file=path) from error


def _registry(tables: Sequence[Checked]) -> CollectorRegistry:
    registry = CollectorRegistry()

    def gauge(name: str, means: str, *labels: str) -> Gauge:
        return Gauge(f"hudi_table_{name}", means, ("table", *labels), registry=registry)

    up = gauge("check_up", "Whether hudictl could check the table.")
    seconds = gauge("check_duration_seconds", "Duration of the check of the table.")
    ended = gauge("check_timestamp_seconds", "Time of the check of the table.")
    findings = gauge("findings", "Findings of hudictl check.", "severity")
    by_name = gauge(
        "finding", "Findings of hudictl check by name; no series for a name without any.", "severity", "finding"
    )
    for entry in tables:
        table = printable(entry.table)
        up.labels(table).set(entry.error is None)
        seconds.labels(table).set(entry.seconds)
        ended.labels(table).set(time.time())
        for severity in SEVERITIES:
            findings.labels(table, severity).set(entry.count(severity))
        for (severity, name), count in Counter((found.severity, found.finding) for found in entry.findings).items():
            by_name.labels(table, severity, name).set(count)
    return registry
