"""The notebook runs from its first cell to its last, and draws its pictures."""

from pathlib import Path
from typing import Any

import pytest

from tests.examples.conftest import EXAMPLES

nbformat = pytest.importorskip("nbformat", reason="needs the extra examples")
nbclient = pytest.importorskip("nbclient", reason="needs the extra examples")
pytest.importorskip("ipykernel", reason="needs the extra examples")
pytestmark = pytest.mark.slow


def read() -> Any:
    return nbformat.read(EXAMPLES / "timeline.ipynb", as_version=4)


def test_the_notebook_runs(trips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUDICTL_TABLE", str(trips))
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent))
    for name in ("MPLCONFIGDIR", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    notebook = read()
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = {cell.id: {kind for out in cell.outputs for kind in out.get("data", {})} for cell in code(notebook)}
    assert {name for name, kinds in shown.items() if "image/png" in kinds} == {"plot-writes", "plot-sizes"}
    (rows,) = [out["data"]["text/plain"] for cell in code(notebook) if cell.id == "open" for out in cell.outputs]
    assert "20261121030301559" in rows or "20261121030250364" in rows


def test_it_is_kept_without_outputs() -> None:
    """What one machine has drawn would differ with each run."""
    assert all(not cell.outputs and cell.execution_count is None for cell in code(read()))


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]
