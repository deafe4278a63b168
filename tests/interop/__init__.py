import pytest

# Asserts that tests share say what they compared, as those of the tests do.
pytest.register_assert_rewrite("tests.interop.killed", "tests.interop.product")
