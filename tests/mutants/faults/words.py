"""Names of a table in what hudictl says: commands to copy, and what a terminal would obey."""

from tests.mutants.fault import Fault

PHRASES = "phrases.py"
TO_COPY = "cli/to_copy.py"
HOSTILE = "cli/test_hostile_names.py"

FAULTS = (
    Fault(
        PHRASES,
        "        return shlex.quote(word)\n",
        "        return word\n",
        "whoever copies a command runs what a folder of the table is named",
        ("test_phrases.py", "cli/test_marker.py::test_a_folder_that_is_named_like_a_command_is_told_as_one_word"),
    ),
    Fault(
        PHRASES,
        'any(value.startswith("-") for value in values)',
        "False",
        "a folder that is named --yes answers the question of the command that is copied",
    ),
    Fault(
        PHRASES,
        'sign.isprintable() and sign not in "\'\\\\`"',
        "sign.isprintable()",
        "a quote in a name ends the word of a command, and the rest of the name is run",
    ),
    Fault(
        PHRASES,
        ' and "`" not in word',
        "",
        "a name in a hint is completed as a command of hudictl",
        ("cli/test_to_copy.py::test_what_a_table_says_never_becomes_a_command",),
    ),
    Fault(
        TO_COPY,
        "value is True or kept(name, value) == value",
        "True",
        "a key of the operator's store is printed in a command to copy",
        ("cli/test_to_copy.py::test_a_secret_is_left_out",),
    ),
    Fault(
        TO_COPY,
        "if several[name] or len(values) == 1 for",
        "for",
        "a command to copy names all tables of a check, and none takes several",
        ("cli/test_to_copy.py::test_of_several_tables_a_command_for_one_gets_none",),
    ),
    Fault(
        "cli/commands/check.py",
        "to_copy(table=named)",
        "to_copy()",
        "the remedy of one of several tables names no table",
        ("cli/test_to_copy.py::test_of_several_tables_each_is_named_as_the_operator_does",),
    ),
    Fault(
        "cli/commands/apply.py",
        '        keep_given(click.get_current_context(), {"uri": saved.table})\n',
        "",
        "a command to copy means the table of the environment, not the saved plan's",
        ("cli/test_to_copy.py::test_a_saved_plan_names_its_table",),
    ),
    Fault(
        "ops/guards/rollback.py",
        "if entry.time < target.time]",
        "if entry.time <= target.time]",
        "the restore that is to remove a commit and all later ones keeps the commit",
        ("cli/test_to_copy.py::test_a_refused_rollback_names_the_restore_that_removes_all",),
    ),
    Fault(
        PHRASES,
        "sign.isprintable() else sign.encode",
        "ord(sign) > 0x9f else sign.encode",
        "a name turns the direction of the text in which it stands, and reads as another",
        ("test_phrases.py", HOSTILE),
    ),
    Fault(
        "render/text.py",
        "    return printable(text), _STYLES",
        "    return text, _STYLES",
        "a comment of a savepoint writes over the rows of a table",
        ("render/test_text.py", HOSTILE),
    ),
    Fault(
        "render/text.py",
        "        said = printable(line)\n",
        "        said = line\n",
        "a partition's name makes lines of its own in a report",
        (HOSTILE,),
    ),
    Fault(
        "cli/main.py",
        "{name}: {printable(said)}",
        "{name}: {said}",
        "an error shows what a file's name says",
        (HOSTILE,),
    ),
    Fault(
        "cli/streams.py",
        "printable(masked(record.getMessage(), secrets_of(context)))",
        "masked(record.getMessage(), secrets_of(context))",
        "the log of --verbose obeys names of files",
        (HOSTILE,),
    ),
    Fault(
        "render/nagios.py",
        "    return printable(text)",
        "    return text",
        "a partition's name adds lines to what a monitor reads",
        (HOSTILE,),
    ),
    Fault(
        "cli/confirm.py",
        "    what, answer = printable(what), printable(answer)\n",
        "",
        "the owner of a lock writes over the question whether it may be freed",
        ("cli/test_confirm.py",),
    ),
    Fault(
        "cli/confirm.py",
        "click.confirm(printable(what)",
        "click.confirm(what",
        "a folder's name writes over the question whether it may be deleted",
        ("cli/test_confirm.py",),
    ),
    Fault(
        "cli/progress.py",
        "= printable(name), time",
        "= name, time",
        "a step's name controls the terminal",
        ("cli/test_progress.py",),
    ),
    Fault(
        "cli/complete.py",
        " and _PLAIN.fullmatch(name)",
        "",
        "a shell runs the name of a partition that it has completed",
        ("cli/test_completion.py",),
    ),
    Fault(
        "state/files/catalog.py",
        " or not all(map(_quotable, (*self.fields, *parts)))",
        "",
        "a client of Hive ends the statement in the middle of a partition's name, and runs the rest",
    ),
    Fault(
        "state/files/catalog.py",
        """    if not _quotable(f"{database or ''}{name}"):\n        return ()\n""",
        "",
        "the same with a table's name",
    ),
    Fault(
        "formats/savepoint_names.py",
        "    except UnicodeEncodeError as error:",
        "    except UnicodeDecodeError as error:",
        "a partition that is named by bytes ends a savepoint as a bug",
        (HOSTILE,),
    ),
    Fault(
        "storage/base.py",
        " or half or too_long",
        " or too_long",
        "half a pair in a record ends a command as a bug",
        ("storage/test_untrusted.py",),
    ),
    Fault(
        "ops/fingerprint.py",
        '"\\n".join(lines).encode(errors="surrogatepass")',
        '"\\n".join(lines).encode()',
        "a partition that is named by bytes ends a plan as a bug",
        (HOSTILE,),
    ),
)
