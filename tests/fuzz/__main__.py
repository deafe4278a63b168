"""The coverage-guided fuzzer: ``python -m tests.fuzz tests/fuzz/corpus -max_total_time=30`` (extra ``fuzz``).

Options are libFuzzer's. Inputs that reach new code go to the first folder that is named.
"""

import sys

import atheris

with atheris.instrument_imports(include=["hudictl.formats"]):
    from tests.fuzz import targets

# An input is small: what takes a GiB, or half a minute, is a finding, too.
LIMITS = ["-rss_limit_mb=1024", "-timeout=30", "-max_len=20000"]

atheris.Setup([sys.argv[0], *LIMITS, *sys.argv[1:]], targets.run)
atheris.Fuzz()
