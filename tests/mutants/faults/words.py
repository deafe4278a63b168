"""Names of a table in what hudictl says: commands to copy, and what a terminal would obey."""

from tests.mutants.fault import Fault

PHRASES = "phrases.py"

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
        'sign.isprintable() and sign not in "\'\\\\"',
        "sign.isprintable()",
        "a quote in a name ends the word of a command, and the rest of the name is run",
    ),
)
