"""The coverage-guided fuzzer: ``python -m tests.fuzz [GROUP] -max_total_time=30`` (extra ``fuzz``).

Without a group, all of them side by side. Options are libFuzzer's. Inputs that reach new code go to the group's corpus.
"""

import subprocess
import sys
from functools import partial

GROUPS = ("logs", "timeline", "table")

if sys.argv[1:2] == [] or sys.argv[1] not in GROUPS:
    running = [subprocess.Popen([sys.executable, "-m", "tests.fuzz", group, *sys.argv[1:]]) for group in GROUPS]
    sys.exit(max(abs(process.wait()) for process in running))

import atheris  # noqa: E402

with atheris.instrument_imports(include=["hudictl.formats", "hudictl.table", "hudictl.state.metadata.record"]):
    from tests.fuzz import groups

# An input is small: what takes a GiB, or half a minute, is a finding, too.
LIMITS = ["-rss_limit_mb=1024", "-timeout=30", "-max_len=20000"]

group = sys.argv[1]
atheris.Setup([sys.argv[0], *LIMITS, *sys.argv[2:], str(groups.CORPUS / group)], partial(groups.run, group))
atheris.Fuzz()
