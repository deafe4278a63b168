"""What the fuzzer has found worth keeping, without the fuzzer."""

from pathlib import Path

import pytest

from tests.fuzz import targets

CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())


@pytest.mark.parametrize("target", range(len(targets.TARGETS)))
def test_no_input_of_the_kept_corpus_breaks_a_promise(target: int) -> None:
    inputs = [body for path in CORPUS if (body := path.read_bytes()) and body[0] % len(targets.TARGETS) == target]
    assert inputs
    for body in inputs:
        targets.run(body)
