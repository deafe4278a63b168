"""What a narrow terminal leaves out, and what it does not."""

from tests.mutants.fault import Fault

COLUMNS = "render/columns.py"
TEXT = "render/text.py"
TESTS = ("render/test_columns.py",)

FAULTS = (
    Fault(
        COLUMNS,
        '"instant operation outcome problem | target exit_code message',
        '"instant operation problem | target exit_code message outcome',
        "the outcome of an operation is not shown at 60 columns: a failed restore looks like one that succeeded",
        TESTS,
    ),
    Fault(
        TEXT,
        "        if len(shown) <= len(always) and least[widest] > _NARROWEST:\n",
        "        if least[widest] > _NARROWEST:\n",
        "file names are broken, although columns that matter less could be left out",
        TESTS,
    ),
    Fault(
        TEXT,
        "            shown.pop()\n",
        "            shown.pop(1)\n",
        "the columns that matter are left out first",
        TESTS,
    ),
    Fault(
        TEXT,
        "    if left_out:\n",
        "    if left_out and not shown:\n",
        "columns are missing, and nothing says so",
        TESTS,
    ),
    Fault(
        TEXT,
        '_WORD = re.compile(r"(?:`[^`]*`|',
        '_WORD = re.compile(r"(?:',
        "a command is broken at the end of a line, and half of it is pasted and run",
        TESTS,
    ),
    Fault(
        TEXT,
        "shutil.get_terminal_size().columns if terminal else _UNBOUNDED",
        "shutil.get_terminal_size().columns",
        "lines in a pipe or a file are cut at the width of no terminal",
        ("cli/test_screens.py",),
    ),
    Fault(
        TEXT,
        'color_system="standard" if terminal and color else None',
        'color_system="standard" if terminal else None',
        "colours, although NO_COLOR says that there are to be none",
        ("cli/test_screens.py",),
    ),
)
