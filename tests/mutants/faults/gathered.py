"""Faults in what commits and a savepoint name, and the metadata table lists, by partition."""

from tests.mutants.fault import Fault

LISTED = "table/files/listed.py"
LISTING = "table/metadata/listing.py"
HIDDEN = "reports/health/test_indexes.py::test_a_group_that_a_failed_write_has_begun_in_a_partitioned_index"
SAVED = "table/files/saved.py"
NAMES = "formats/savepoint_names.py"
WRITTEN = "table/files/written.py"
FACTS = "state/facts.py"
BASE = "engine/base.py"
UNPACKED = "state/files/partition.py"

FAULTS = (
    Fault(
        WRITTEN,
        "max(stat.file_bytes, files[path].get(name, 0))",
        "stat.file_bytes",
        "of a file with two statistics the last one's size counts",
        ("table/files/test_written.py",),
    ),
    Fault(
        WRITTEN,
        '        yield "", Written(time, readable=False)\n',
        "        return\n",
        "a commit that cannot be read names nothing, and nobody is told",
        ("table/files/test_written.py",),
    ),
    Fault(
        WRITTEN,
        "(*metadata.stats, *files, *metadata.replaced)",
        "(*metadata.stats, *files)",
        "a partition whose file groups are only replaced is not known",
        ("table/files/test_written.py",),
    ),
    Fault(
        FACTS,
        "    if written.unreadable and not damaged_ok:\n",
        "    if False:\n",
        "a restore goes on though a commit cannot be read",
        ("state/test_written.py",),
    ),
    Fault(
        FACTS,
        "partitions = written.partitions.union(*(commit.stats for commit in whole))",
        "partitions = written.partitions",
        "the partitions of removed and pending writes are not known",
        ("state/test_written.py",),
    ),
    Fault(
        UNPACKED,
        "replaced=others.replaced.union(*(entry.replaced for entry in kept)),",
        "replaced=others.replaced,",
        "replaced file groups count as needed",
        ("state/files/test_partition.py",),
    ),
    Fault(
        UNPACKED,
        "revived=others.revived.union(*(entry.replaced for entry in back)),",
        "revived=others.revived,",
        "a revived group that is gone is not missed",
        ("state/files/test_partition.py",),
    ),
    Fault(
        BASE,
        "return gathered if gathered.engine == engine else engine.keep(gathered.engine.pairs(gathered))",
        "return gathered",
        "what another engine has gathered is taken for this one's",
        ("engine/test_local.py", "engine/test_spark.py"),
    ),
    Fault(
        SAVED,
        "        if not gone and _LOG not in entry.names:\n",
        "        if not gone:\n",
        "a log of a commit that does not count binds, since the savepoint names it",
        ("table/files/test_saved.py",),
    ),
    Fault(
        SAVED,
        "        if not gone and _LOG not in entry.names:\n",
        "        if _LOG not in entry.names:\n",
        "a base file of a removed instant binds, since the savepoint names it",
        ("table/files/test_saved.py", "state/files/test_needed.py"),
    ),
    Fault(
        SAVED,
        "    for place in places:\n        if place.error is not None:\n            raise place.error\n",
        "",
        "a savepoint that cannot be read counts as one without files",
        ("table/files/test_saved.py",),
    ),
    Fault(
        NAMES,
        " or source.position != end or source.take",
        " or source.take",
        "a savepoint whose record ends early passes as whole",
        ("formats/test_savepoint_names.py",),
    ),
    Fault(
        NAMES,
        "                if length & 1 or start",
        "                if start",
        "a negative length is read as a long name",
        ("formats/test_savepoint_names.py",),
    ),
    Fault(
        "formats/file_names.py",
        '    return names.split("/") if names else []\n',
        '    return names.split("/")\n',
        "a partition without files lists one with an empty name",
        ("table/files/test_listed.py",),
    ),
    Fault(
        LISTED,
        "older = {} if key in gone else",
        "older =",
        "what a log has deleted from the listing is listed",
        ("table/files/test_listed.py",),
    ),
    Fault(
        LISTED,
        " if key in keys else ListedNames()",
        "",
        "a partition that is no longer listed is listed",
        ("table/files/test_listed.py",),
    ),
    Fault(
        LISTING,
        "        if listing.empty:\n",
        "        if False:\n",
        "a metadata table that Hudi cannot read, as it lists an empty file, is kept",
        ("reports/test_metadata_table.py",),
    ),
    Fault(
        LISTING,
        "    if count != decoded:\n",
        "    if False:\n",
        "a base file that lacks records passes as whole",
        ("table/files/test_listed.py",),
    ),
    Fault(
        LISTING,
        "                if place.error is not None:\n",
        "                if False:\n",
        "a part of the listing that cannot be read counts as empty",
        ("table/files/test_listed.py",),
    ),
    Fault(
        LISTING,
        "key=lambda part: part[0].key) - 1)",
        "key=lambda part: part[0].key))",
        "a log's record counts in the wrong part of the listing",
        ("table/files/test_listed.py",),
    ),
    Fault(
        "engine/jvm.py",
        "    return {} if alone or cluster.names_address(os.environ) else {cluster.ADDRESS: cluster.LOOPBACK}\n",
        "    return {}\n",
        "whoever reaches this host's address can send code to the workers of a local cluster",
        ("engine/test_jvm.py",),
    ),
    Fault(
        LISTING,
        "        hides += [file for file in logs if file.data.instant not in known]\n",
        "",
        "check and verify call a record index right into whose new groups no writer can write",
        (HIDDEN,),
    ),
    Fault(
        LISTING,
        "        found[group[1]] = None if hides and partition != FILES else read\n",
        "        found[group[1]] = read\n",
        "check and verify call a record index right of which readers see nothing",
        (HIDDEN,),
    ),
    Fault(
        "state/metadata/undo.py",
        "        if hiding(self._facts.metadata.rules, rest, committed, None):\n",
        "        if False:\n",
        "a record index is kept in which Hudi's writers do not find their own keys",
        (
            "state/metadata/test_undo_partitions.py::test_logs_that_the_first_log_of_a_failed_write_hides_are_in_the_way",
        ),
    ),
)
