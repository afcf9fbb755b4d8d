"""Runs the documentation's notebook as a user would, next to a run's folder."""

import os
import shutil
import tempfile
import unittest
from pathlib import Path
from unittest import mock

try:
    import nbclient
    import nbformat
    from traitlets.config import Config
except ImportError:
    nbclient = None

ROOT = Path(__file__).resolve().parents[2]


@unittest.skipIf(nbclient is None, "nbclient is not installed")
class Notebook(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        # The user's own Jupyter files are neither read nor written.
        variables = {name: str(self.folder / name) for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
        self.enterContext(mock.patch.dict(os.environ, variables))
        self.notebook = nbformat.read(ROOT / "docs" / "notebook.ipynb", as_version=4)
        self.cells = [cell for cell in self.notebook.cells if cell.cell_type == "code"]

    def test_it_is_stored_without_results(self):
        nbformat.validate(self.notebook)
        for cell in self.cells:
            self.assertEqual((cell.outputs, cell.execution_count), ([], None), cell.source)

    def test_it_runs(self):
        run = self.folder / "out" / "thesis" / "latest" / "benchmarks" / "hs2d"
        shutil.copytree(ROOT / "trace" / "tests" / "captures" / "exchange", run / "capture")
        resources = {"metadata": {"path": str(self.folder)}}
        # Use sockets in a folder instead of ports that other users can reach.
        config = Config(KernelManager={"transport": "ipc", "ip": str(self.folder / "kernel")})
        nbclient.NotebookClient(self.notebook, config=config, timeout=300, resources=resources).execute()

        def shown(source):
            [cell] = [cell for cell in self.cells if cell.source == source]
            [output] = cell.outputs
            return output.data

        self.assertIn("2 launches", shown(self.cells[0].source)["text/plain"])
        drawing = shown('analysis.figure("superstep-volume")')
        self.assertIn("Bytes communicated in each superstep", drawing["image/svg+xml"])
        self.assertNotIn("image/png", drawing)
        picture = shown('analysis.figure("density-first")')
        self.assertIn("image/png", picture)
        self.assertNotIn("image/svg+xml", picture)
        tables = [cell for cell in self.cells if any("text/html" in output.get("data", {}) for output in cell.outputs)]
        self.assertEqual(len(tables), 8)


if __name__ == "__main__":
    unittest.main()
