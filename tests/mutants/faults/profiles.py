"""Profiles: which settings are used, and where secrets get; ``doctor``, which leaves nothing behind."""

from tests.mutants.fault import Fault

OPTIONS = "cli/options.py"
WRITERS = "cli/writers_options.py"
PROFILES = "library/profiles.py"
APPLY = "cli/commands/apply.py"
PROBE = "table/probe.py"
TRUST = "trust.py"
TESTS = "cli/test_profiles.py"
SECRETS = "cli/test_secrets.py"

FAULTS = (
    Fault(
        WRITERS,
        "        locking = Locking(of_environment() | kept | asked, lock_timeout, no_lock)\n",
        "        locking = Locking(asked, lock_timeout, no_lock)\n",
        "a change runs without the lock that its table's profile keeps",
        (f"{TESTS}::test_the_lock_of_the_profile_is_taken",),
    ),
    Fault(
        WRITERS,
        "        locking = Locking(of_environment() | kept | asked, lock_timeout, no_lock)\n",
        "        locking = Locking(asked | kept, lock_timeout, no_lock)\n",
        "the profile wins over the lock settings of the command line",
        (f"{TESTS}::test_lock_settings_merge_by_key",),
    ),
    Fault(
        OPTIONS,
        '        return resolved(self.profile, "storage_options") | self.given_storage\n',
        "        return self.given_storage\n",
        "the store is opened without the profile's options",
        (f"{TESTS}::test_secrets_are_printed_and_stored_nowhere",),
    ),
    Fault(
        "cli/profile_options.py",
        "    if os.path.isdir(text):\n        raise",
        "    if False:\n        raise",
        "a folder in the working directory is changed by the settings of another table, or the other way round",
        (f"{TESTS}::test_a_folder_of_the_same_name_is_told_apart",),
    ),
    Fault(
        PROFILES,
        "            if stranger is not None:\n",
        "            if False:\n",
        "anyone on the host sends commands to another table, and secrets to another store",
        ("cli/test_config_trust.py",),
    ),
    Fault(
        TRUST,
        "        above = number < len(way) - 2\n",
        "        above = True\n",
        "a sticky folder is the configuration file's own: others make it before the operator does",
        ("test_trust.py",),
    ),
    Fault(
        TRUST,
        "        if status.st_uid not in (0, os.geteuid()):\n",
        "        if False:\n",
        "another user's folder is above the configuration file: they replace it",
        ("test_trust.py",),
    ),
    Fault(
        PROFILES,
        "            found |= parse_profiles(body, file)\n",
        "            found = parse_profiles(body, file) | found\n",
        "the user's profile wins over that of the file which is given",
        (f"{TESTS}::test_the_profile_of_a_given_file_replaces_the_users_as_a_whole",),
    ),
    Fault(
        APPLY,
        "        _refuse_another(common, saved.table)\n",
        "        pass\n",
        "a plan is applied with the lock of another table, which protects nothing",
        (f"{TESTS}::test_a_plan_is_not_applied_with_the_locks_of_another_table",),
    ),
    Fault(
        APPLY,
        "        read.refuse_another_place()\n",
        "        pass\n",
        "a plan in which the table was changed is done to a copy of it, or asks another store with these credentials",
        ("cli/test_saved_plans.py::test_12_a_copy_of_the_table",),
    ),
    Fault(
        "table/operations.py",
        '"schema_version": _SCHEMA_VERSION, **asdict(operation)}, indent=2), secrets).encode()\n',
        '"schema_version": _SCHEMA_VERSION, **asdict(operation)}, indent=2), ()).encode()\n',
        "a secret in the error of a store's driver is kept in the table for all its readers",
        (f"{TESTS}::test_an_error_of_a_driver_does_not_tell_secrets",),
    ),
    Fault(
        "cli/main.py",
        "    return frozenset().union(*map(secrets_of, contexts))\n",
        "    return frozenset()\n",
        "a secret in an error is printed, and kept in the logs of cron",
        (f"{TESTS}::test_an_error_of_a_driver_does_not_tell_secrets",),
    ),
    Fault(
        PROBE,
        "            if not known and isinstance(storage, Folders) and _unused(storage):\n",
        "            if isinstance(storage, Folders) and _unused(storage):\n",
        "folders of hudictl that were there before are gone after a look",
    ),
    Fault(
        PROBE,
        '            storage.create(probe, b"2")\n',
        '            storage.create(probe, b"1")\n',
        "a good store, for which the same bytes count as created, is called one that cannot keep two hudictl apart",
    ),
    Fault(
        "cli/command_line.py",
        'f"{key}=***" if option in PAIR_OPTIONS and not is_harmless(key) else masked(value)',
        "masked(value)",
        "a key of the operator's store is kept in the table for all its readers",
        (f"{SECRETS}::test_records_of_a_table_keep_the_keys_and_harmless_values",),
    ),
    Fault(
        "secrets.py",
        " and not looks_secret(key)\n",
        "\n",
        "the password of the writers' lock is kept in the table for all its readers",
        ("test_secrets.py",),
    ),
    Fault(
        "secrets.py",
        '    text = _USER.sub("://***@", text)\n',
        "",
        "a password in an address is kept in the records of a table, and in the logs of cron",
        (f"{SECRETS}::test_uris_in_errors_lose_their_secrets",),
    ),
    Fault(
        "storage/open.py",
        "    hide_in_errors(options or {})\n",
        "",
        "a store's token that is an option is in the error that is sent to everybody on duty",
        (f"{SECRETS}::test_a_secret_option_is_in_no_error",),
    ),
    Fault(
        "errors.py",
        "masked_error(message), masked_error(hint)",
        "message, hint",
        "a notebook shows, in a traceback, the secret that a driver quotes",
        ("library/test_opening.py::test_no_secret_is_in_an_error",),
    ),
    Fault(
        "storage/open.py",
        "    if has_password(uri):\n",
        "    if False:\n",
        "a password gets into Hudi's own plans in the table",
        (f"{SECRETS}::test_a_password_in_the_uri_of_a_table_is_refused",),
    ),
    Fault(
        "cli/streams.py",
        "(without if data else masked)",
        "masked",
        "records of a table are shown with other values than they have",
        ("cli/test_log_records.py::test_records_are_shown_as_they_are",),
    ),
    Fault(
        "cli/streams.py",
        "    handler.addFilter(without_secrets)\n",
        "",
        "--verbose prints a token with which everyone can read the cluster",
        (f"{SECRETS}::test_uris_in_errors_lose_their_secrets",),
    ),
    Fault(
        "library/profiles.py",
        '_AGE = re.compile(r"[1-9]\\d{0,5}[mhd]")\n',
        '_AGE = re.compile(r"\\d{1,6}[mhd]?")\n',
        "an age without a unit is seconds, and cron drops all that is kept",
        ("cli/test_config_file.py",),
    ),
    Fault(
        "cli/commands/undo.py",
        " and not instants and older_than is None:\n",
        " and not instants:\n",
        "undo drop takes what is younger than the command line says",
        ("cli/test_profile_keeps.py",),
    ),
)
