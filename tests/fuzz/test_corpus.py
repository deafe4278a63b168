"""What the fuzzer has found worth keeping, without the fuzzer."""

import pytest

from tests.fuzz.groups import CORPUS, GROUPS, run


@pytest.mark.parametrize(
    ("group", "target"), [(group, target) for group, targets in GROUPS.items() for target in range(len(targets))]
)
def test_no_input_of_the_kept_corpus_breaks_a_promise(group: str, target: int) -> None:
    bodies = (path.read_bytes() for path in sorted((CORPUS / group).iterdir()))
    inputs = [body for body in bodies if body and body[0] % len(GROUPS[group]) == target]
    assert inputs
    for body in inputs:
        run(group, body)
