"""What Hudi itself says of a table's properties and schema: a part of ``judge_server.py``, so without hudictl, too."""

import json
from typing import Any

from judge_java import hudi, java_list, meta_client, release


def table_config() -> dict[str, str | None]:
    """Each property of HoodieTableConfig, by reflection: the text of its default, None if it has none."""
    config = hudi().org.apache.hudi.common.table.HoodieTableConfig
    kind = hudi().java.lang.Class.forName("org.apache.hudi.common.config.ConfigProperty")
    found = {}
    for field in hudi().java.lang.Class.forName("org.apache.hudi.common.table.HoodieTableConfig").getDeclaredFields():
        if kind.isAssignableFrom(field.getType()):
            one = getattr(config, field.getName())
            value = one.defaultValue() if one.hasDefaultValue() else None
            found[str(one.key())] = str(value).lower() if isinstance(value, bool) else value and str(value)
    return found


def table_schema(path: str, instant: str | None = None) -> dict[str, Any]:
    """The table's Avro schema without Hudi's own columns, now or as of a completed write."""
    client = meta_client(path)
    resolver = hudi().org.apache.hudi.common.table.TableSchemaResolver(client)
    # From 1.1 on Hudi has a type of its own for it.
    ask = resolver.getTableAvroSchema if release() < (1, 1) else resolver.getTableSchema
    writes = client.getActiveTimeline().getCommitsTimeline().filterCompletedInstants().getInstants()
    # An instant is printed as [time...; what gives its time has other names in other releases.
    of = [write for write in java_list(writes) if str(write.toString()).startswith(f"[{instant}")]
    return dict(json.loads(ask(*of, False).toString()))


def schema_keepers() -> list[str]:
    """The operations that never change the schema."""
    kind = hudi().org.apache.hudi.common.model.WriteOperationType
    return [str(one) for one in kind.values() if not kind.canUpdateSchema(one)]
