"""What the tests of needed share with others."""

# 0.15.0 archives nothing before the first compaction of a metadata table.
BY_HAND = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.metadata.enable": "false",
}


ONE_COMMIT = {"hoodie.cleaner.policy": "KEEP_LATEST_COMMITS", "hoodie.cleaner.commits.retained": "1"}


def keep(least: int, most: int) -> dict[str, str]:
    """An archival's settings; the cleaner must retain less than it."""
    return {"hoodie.keep.min.commits": str(least), "hoodie.keep.max.commits": str(most), **ONE_COMMIT, **BY_HAND}
