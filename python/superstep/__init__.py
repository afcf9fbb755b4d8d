"""Captures of CUDA programs and their analysis, as Arrow tables. `superstep.spark` runs the analysis on a cluster."""

from superstep._native import Accesses, Analysis, Capture, CaptureError, Figure, SuperstepError, Table
from superstep._native import __version__, open
from superstep.run import Run, open_run

__all__ = [
    "Accesses", "Analysis", "Capture", "CaptureError", "Figure", "Run", "SuperstepError", "Table", "__version__", "open", "open_run",
]
