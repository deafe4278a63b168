"""``check`` by name, on several tables, and for monitoring."""

from tests.mutants.fault import Fault

FAMILIES = "reports/health/families.py"
TABLES = "reports/health/tables.py"
COMMAND = "cli/commands/check.py"
CHECKS = "render/checks.py"
METRICS = "render/metrics.py"
OPTIONS = "cli/many_tables.py"
MAIN = "cli/main.py"
TESTS = "cli/test_check.py"

FAULTS = (
    Fault(
        FAMILIES,
        " or finding == UNREADABLE\n",
        "\n",
        "a damaged file is passed over where another finding is asked for, which rests on it",
        ("reports/health/test_families.py",),
    ),
    Fault(
        FAMILIES,
        "if every or any(map(self.takes, names))",
        "if every or all(map(self.takes, names))",
        "with one finding left out its whole family is not looked at",
        ("reports/health/test_families.py",),
    ),
    Fault(
        COMMAND,
        "        raise max(errors, key=lambda error: error.exit_code)\n",
        "        raise min(errors, key=lambda error: error.exit_code)\n",
        "the exit code is not that of the gravest table",
        (f"{TESTS}::test_the_highest_exit_code_counts",),
    ),
    Fault(
        TABLES,
        "    except HudictlError as error:\n",
        "    except ZeroDivisionError as error:\n",
        "a table that cannot be read stops the look at all others",
        (f"{TESTS}::test_several_tables",),
    ),
    Fault(
        COMMAND,
        "        uri = storage.uri\n",
        "        assert storage.uri\n",
        "a table has another name in monitoring as soon as it cannot be read",
        (f"{TESTS}::test_numbers_for_prometheus",),
    ),
    Fault(
        CHECKS,
        "    counts[ERROR] -= len(failed)\n",
        "    pass\n",
        "a table that cannot be looked at is critical, not unknown",
        (f"{TESTS}::test_a_plugin_of_nagios_says_what_is_wrong",),
    ),
    Fault(
        METRICS,
        "set(entry.error is None)",
        "set(True)",
        "a table that cannot be read is up",
        (f"{TESTS}::test_numbers_for_prometheus",),
    ),
    Fault(
        OPTIONS,
        "    if (file or by_profile) and",
        "    if by_profile and",
        "the table of the environment is added to those of a file",
        (f"{TESTS}::test_tables_by_a_file",),
    ),
    Fault(
        OPTIONS,
        '    envvar_list_splitter = "\\n"\n',
        "",
        "a path with a blank in the environment is taken for two tables",
        (f"{TESTS}::test_a_path_with_a_blank_in_the_environment",),
    ),
    Fault(
        MAIN,
        "        return UNKNOWN\n",
        "        return error.exit_code\n",
        "a plugin that was called wrongly says critical",
        (f"{TESTS}::test_a_plugin_of_nagios_says_what_is_wrong",),
    ),
)
