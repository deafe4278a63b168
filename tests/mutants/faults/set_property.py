"""``table set-property`` and ``partition repair``: what may change, and while who is at work."""

from tests.mutants.fault import Fault

FILE = "ops/set_property.py"

METAFILES = "ops/repair/metafiles.py"

FAULTS = (
    Fault(
        METAFILES,
        "        if extension:\n",
        "        if False:\n",
        "beside a damaged metafile in ORC stands one in text",
    ),
    Fault(
        METAFILES,
        '    timeline_guards.nothing_to_resume(signs, "it may remove partitions")\n',
        "",
        "a partition that a restore removes comes back, empty",
    ),
    Fault(
        METAFILES,
        "if not asked or path in asked}",
        "}",
        "more is written than was asked for",
    ),
    Fault(
        FILE,
        "    if wrong and not wrong_type(table, timeline):\n",
        "    if False:\n",
        "a table of merge on read becomes one of copy on write: the rows of its logs are lost",
    ),
    Fault(
        FILE,
        "    if agreed or key in _HARMLESS:\n",
        "    if agreed or key in _HARMLESS or key in known:\n",
        "the record key of a table becomes another, and each write adds rows that are there",
    ),
    Fault(
        FILE,
        "    if key in _OTHERS:\n",
        "    if key in _OTHERS and not agreed:\n",
        "the version of a table is changed by hand: no Hudi can read it",
    ),
    Fault(
        FILE,
        "        liveness.nothing_at_work(table, session.engine, signs, session.locking, options.idle_ms)\n",
        "",
        "a writer goes on by the old properties, beside others that write by the new ones",
    ),
    Fault(
        FILE,
        "        for restore in signs.restores:\n",
        "        for restore in ():\n",
        "a restore goes on by other properties than it was planned with",
    ),
    Fault(
        FILE,
        "        if now.changes != plan.changes:\n",
        "        if False:\n",
        "what another has set meanwhile is overwritten, and nobody saw it",
    ),
    Fault(
        FILE,
        "any(ord(sign) > 255 or ord(sign) < 32 for",
        "any(ord(sign) > 255 for",
        "a value brings a second property with it",
    ),
    Fault(
        "secrets.py",
        '    return value and ("***" if looks_secret(key) else masked(value))\n',
        "    return value\n",
        "the record of the operation has a secret",
        ("ops/test_set_property.py",),
    ),
    Fault(
        FILE,
        "    unfinished = table.storage.stat(PROPERTIES_BACKUP) is not None\n",
        "    unfinished = False\n",
        "the backup of a change that died stays, and the next one that dies leaves readers the older properties",
    ),
)
