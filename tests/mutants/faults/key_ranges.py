"""Folders that are listed by the order of an object store's keys, and timelines that are read from their end."""

from tests.mutants.fault import Fault

RANGES = "table/files/key_ranges.py"
S3 = "storage/s3.py"
AVRO = "formats/avro.py"
TIMELINE = "table/timeline/active.py"
SHOWN = "reports/timeline.py"

FAULTS = (
    Fault(
        RANGES,
        "    in_order = sorted(folders, key=_first_key)\n",
        "    in_order = sorted(folders, key=lambda folder: folder.path)\n",
        "of two partitions, one with the other's name and a hyphen, one is not listed",
    ),
    Fault(
        RANGES,
        "            waiting += below(listing, task.within)\n",
        "",
        "partitions below the first folders are not listed",
    ),
    Fault(
        RANGES,
        "            waiting += below(listing, task.within)\n",
        "            waiting += below(listing)\n",
        "partitions are listed that do not matter",
    ),
    Fault(
        RANGES,
        "    if requests * _GAIN > len(folders):\n",
        "    if requests > len(folders) * _GAIN:\n",
        "large partitions are listed through few requests at once",
    ),
    Fault(
        RANGES,
        '[folder for folder in in_order if (_first_key(folder) < f"{META}/") is early] for early in (True, False)',
        "[folder for folder in in_order if early] for early in (True, False)",
        "a range goes through .hoodie",
    ),
    Fault(
        RANGES,
        'f"{whole}/".rpartition("/") if nameless else path.rpartition("/")',
        'path.rpartition("/")',
        "a folder without a name counts as one",
    ),
    Fault(
        RANGES,
        "            return found, task.folders[number + 1 :]\n",
        "            return found, ()\n",
        "of a large table on a store the partitions behind the first are not listed",
    ),
    Fault(
        "table/files/sweep.py",
        "        listed += chain.from_iterable(found for found, _ in begun)\n",
        "",
        "what the driver has listed by keys is forgotten",
        ("table/files/test_key_ranges.py",),
    ),
    Fault(
        "table/files/sweep.py",
        "                between += left_out\n",
        "",
        "for a few partitions of very many, all are listed",
        ("table/files/test_key_ranges.py",),
    ),
    Fault(
        S3,
        '                    if path > f"{last}/" and not path.startswith(f"{last}/"):\n',
        '                    if path > f"{last}/":\n',
        "the last partition of a range is listed as empty",
    ),
    Fault(
        S3,
        '            asked["ContinuationToken"] = answer["NextContinuationToken"]\n',
        "            return\n",
        "only a thousand files of a folder are listed",
    ),
    Fault(
        S3,
        "                if any(key >= following for key, following in pairwise(keys)):\n",
        "                if False:\n",
        "a store that lists keys in no order loses files",
    ),
    Fault(
        S3,
        '.endswith("--x-s3")',
        '.endswith("--x")',
        "folders of S3 Express are listed by keys, which have no order there",
    ),
    Fault(
        S3,
        "        if prefix and not found:\n            raise FileNotFoundError(folder)\n",
        "",
        "an absent folder counts as an empty one",
    ),
    Fault(
        AVRO,
        '        if source.read(_SYNC_BYTES) != header["sync"]:\n',
        "        if not source.read(_SYNC_BYTES):\n",
        "another marker behind a record counts as the file's",
        ("formats/test_avro.py::test_another_marker_behind_the_record_is_damage",),
    ),
    Fault(
        TIMELINE,
        "        yield from sorted(found, key=fmt.order, reverse=newest_first)\n",
        "        yield from found\n",
        "two instants of one time are shown in the wrong order",
    ),
    Fault(
        TIMELINE,
        "        return file.name, self.sizes[file.name], self.modified_ms[file.name]\n",
        "        return file.name, 0, 0\n",
        "a rollback's plan that was written anew counts as the one that was read before",
    ),
    Fault(
        SHOWN,
        "    active = chain(list(islice(active, 1)), active)\n",
        "",
        "an instant that is archived while the timeline is shown is in neither",
    ),
    Fault(
        SHOWN,
        "            if entry.time <= newest:\n",
        "            if False:\n",
        "archived instants are shown behind older ones of the active timeline",
    ),
)
