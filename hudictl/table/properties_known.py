"""What the properties in ``hoodie.properties`` mean, and Hudi's defaults, as in HoodieTableConfig of 0.15.0, 1.0.2 and
1.2.0, which write table versions 6, 8 and 9."""

from collections.abc import Mapping

from hudictl.errors import UsageError

Known = Mapping[str, tuple[str, str | None]]
"""By name: the meaning, and the default in the words of the file; None: there is none."""

_VALUES = {
    "hoodie.record.merge.mode": ("EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING", "CUSTOM"),
    "hoodie.table.base.file.format": ("PARQUET", "ORC", "HFILE", "LANCE"),
    "hoodie.table.timeline.timezone": ("LOCAL", "UTC"),
    "hoodie.table.type": ("COPY_ON_WRITE", "MERGE_ON_READ"),
}
_FLAGS = ("true", "false")
_HFILE_INDEX = "org.apache.hudi.common.bootstrap.index.hfile.HFileBootstrapIndex"
_VERSION = "table version: which releases read and write it"
_INITIAL = "table version with which the table was created"
_PAYLOAD = "class that merges the versions of a record"

_ALL: Known = {
    "hoodie.archivelog.folder": ("folder of the archived timeline, below .hoodie", "archived"),
    "hoodie.bootstrap.base.path": ("the table whose files the bootstrap left in place", None),
    "hoodie.bootstrap.index.class": ("class of the index from new files to bootstrapped ones", _HFILE_INDEX),
    "hoodie.bootstrap.index.enable": ("whether there is an index to bootstrapped files", "true"),
    "hoodie.database.name": ("database of the table in the catalog", None),
    "hoodie.datasource.write.drop.partition.columns": ("whether data files lack the partition columns", "false"),
    "hoodie.datasource.write.hive_style_partitioning": ("whether partitions are named p=value", "false"),
    "hoodie.datasource.write.partitionpath.urlencode": ("whether partition values are URL-encoded in paths", "false"),
    "hoodie.partition.metafile.use.base.format": ("whether partition metadata is in the base file format", "false"),
    "hoodie.populate.meta.fields": ("whether records have Hudi's own columns (_hoodie_...)", "true"),
    "hoodie.table.base.file.format": ("format of base files", "PARQUET"),
    "hoodie.table.cdc.enabled": ("whether writes log changed records (change data capture)", "false"),
    "hoodie.table.cdc.supplemental.logging.mode": ("what a logged change has of the record", "DATA_BEFORE_AFTER"),
    "hoodie.table.checksum": ("CRC-32 of database and table name: shows a file that was cut off", None),
    "hoodie.table.create.schema": ("schema with which the table was created (Avro)", None),
    "hoodie.table.keygenerator.class": ("class that makes keys and partition paths of records", None),
    "hoodie.table.log.file.format": ("format of log files", "HOODIE_LOG"),
    "hoodie.table.metadata.partitions": ("partitions of the metadata table that readers use", None),
    "hoodie.table.metadata.partitions.inflight": ("partitions of the metadata table that are being built", None),
    "hoodie.table.name": ("name of the table", None),
    "hoodie.table.partition.fields": ("partition columns, in the order of the path", None),
    "hoodie.table.precombine.field": ("column whose greatest value wins (ordering fields since version 9)", None),
    "hoodie.table.recordkey.fields": ("columns of the record key", None),
    "hoodie.table.secondary.indexes.metadata": ("secondary indexes of Lucene, as JSON", None),
    "hoodie.table.timeline.timezone": ("zone of instant times: LOCAL (the writers') or UTC", "LOCAL"),
    "hoodie.table.type": ("COPY_ON_WRITE or MERGE_ON_READ", "COPY_ON_WRITE"),
    "hoodie.timeline.layout.version": ("how the timeline lies on storage: 1 up to table version 6, then 2", None),
}
_ONLY_6: Known = {
    "hoodie.compaction.payload.class": (_PAYLOAD, "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"),
    "hoodie.compaction.record.merger.strategy": ("id of the merge rule", "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"),
    "hoodie.table.version": (_VERSION, "0"),
}
_SINCE_8: Known = {
    "hoodie.compaction.payload.class": (_PAYLOAD, None),
    "hoodie.bootstrap.index.type": ("kind of the index to bootstrapped files", "HFILE"),
    "hoodie.record.merge.mode": ("which version of a record wins", None),
    "hoodie.record.merge.strategy.id": ("id of the rule of a custom merge mode", None),
    "hoodie.table.index.defs.path": ("file of the index definitions", None),
    "hoodie.table.keygenerator.type": ("kind of the key generator", None),
    "hoodie.table.multiple.base.file.formats.enable": ("whether base files may have several formats", "false"),
    "hoodie.timeline.history.path": ("folder of the archived timeline, below the timeline", "history"),
    "hoodie.timeline.path": ("folder of the timeline, below .hoodie", "timeline"),
}
_SINCE_9: Known = {
    "hoodie.datasource.write.slash.separated.date.partitioning": ("whether dates become paths as 2026/11/21", "false"),
    "hoodie.table.format": ("table format that keeps the timeline", "native"),
    "hoodie.table.legacy.payload.class": ("payload class that the table had before version 9", None),
    "hoodie.table.ordering.fields": ("columns whose greatest value wins among the versions of a record", None),
    "hoodie.table.partial.update.mode": ("how columns that a write lacks are filled", None),
    "hoodie.table.partition_extractor_class": ("class that reads partition values from paths", None),
}


def known_properties(version: int) -> Known:
    """The properties of the release that writes a table version, or the nearest older version that is known here."""
    if version < 8:
        return {**_ALL, **_ONLY_6}
    newest = "8" if version < 9 else "9"
    own = {"hoodie.table.version": (_VERSION, newest), "hoodie.table.initial.version": (_INITIAL, newest)}
    return {**_ALL, **_SINCE_8, **own, **(_SINCE_9 if newest == "9" else {})}


def require_value(key: str, value: str, known: Known) -> None:
    """Raises UsageError: Hudi does not take the value."""
    default = known.get(key, ("", None))[1]
    allowed = _VALUES.get(key, _FLAGS if default in _FLAGS else ())
    if allowed and value not in allowed:
        raise UsageError(f"{key}={value}: not a value of it", hint=f"use {' or '.join(allowed)}")
