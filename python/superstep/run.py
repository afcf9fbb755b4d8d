"""The results of `superstep run` and `superstep suite`: `open_run("out/prog/latest")`."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from superstep import _native

if TYPE_CHECKING:
    from superstep import Capture, Figure, Table


def open_run(path: str | PathLike[str]) -> Run:
    """Opens the folder of a run, such as `out/prog/latest`."""
    return Run(path)


class Run:
    """The results of a run.

    The argument `benchmark` can be omitted if the run has only one benchmark. If a program has several processes, a
    name such as `prog/rank-0-pid-17` selects one of them.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.folder = Path(path)
        """Folder of the run."""
        file = self.folder / "run.json"
        try:
            self.summary: dict[str, Any] = json.loads(file.read_bytes())
            """Contents of run.json; docs/results.md describes the fields."""
        except FileNotFoundError:
            reason = "there is no run.json; give the folder of a run, such as out/prog/latest"
            raise _native.SuperstepError(f"failed to open {path}: {reason}") from None
        except ValueError as error:
            raise _native.SuperstepError(f"failed to read {file}: {error}") from None

    def __repr__(self) -> str:
        return f"<superstep.Run {self.folder}: {', '.join(self.benchmarks) or 'no benchmarks'}>"

    @property
    def benchmarks(self) -> dict[str, dict[str, Any]]:
        """Entries of run.json for all benchmarks and processes, by name, in suite order."""
        entries = (entry for whole in self.summary["benchmarks"] for entry in (whole, *whole.get("processes", ())))
        return {entry["name"]: entry for entry in entries}

    @property
    def warnings(self) -> list[str]:
        """The warnings of all benchmarks, one sentence each, as printed on the terminal."""
        checks = ((entry["name"], check) for entry in self.summary["benchmarks"] for check in entry["verification"])
        return [f"{name}: {check['detail']}" for name, check in checks if check.get("warning")]

    def capture(self, benchmark: str | None = None) -> Capture:
        """Opens the capture of a benchmark."""
        program, _, process = self._name(benchmark).partition("/")
        return _native.open(self.folder / "benchmarks" / program / "capture" / process)

    def tables(self, benchmark: str | None = None) -> list[str]:
        """Returns the names of a benchmark's tables."""
        return sorted(path.stem for path in self._tables(benchmark).glob("*.json"))

    def table(self, name: str, benchmark: str | None = None) -> Table:
        """Returns a table of a benchmark by name; raises a `KeyError` that lists the names."""
        path = self._tables(benchmark) / f"{name}.json"
        if not path.is_file():
            names = ", ".join(self.tables(benchmark))
            reason = f"the tables are {names}" if names else "the program was not analysed"
            raise KeyError(f"there is no table {name!r}; {reason}")
        return _native.read_table(path)

    def figures(self, benchmark: str | None = None) -> list[Figure]:
        """Returns the figures of one benchmark, or of all benchmarks side by side."""
        name = None if benchmark is None else self._name(benchmark)
        return _native.run_figures(self.folder, name, None)

    def figure(self, name: str, benchmark: str | None = None) -> Figure:
        """Returns a figure by name, for one benchmark or for all benchmarks side by side."""
        benchmark = None if benchmark is None else self._name(benchmark)
        return _native.run_figures(self.folder, benchmark, name)[0]

    def _name(self, benchmark: str | None) -> str:
        known = ", ".join(self.benchmarks)
        if benchmark is None:
            names = [entry["name"] for entry in self.summary["benchmarks"]]
            if len(names) != 1:
                raise ValueError(f"the run has {len(names)} benchmarks; name one of them: {known}")
            return names[0]
        if benchmark not in self.benchmarks:
            raise KeyError(f"there is no benchmark {benchmark!r}; the benchmarks are {known}")
        return benchmark

    def _tables(self, benchmark: str | None) -> Path:
        folder = self.folder / "tables" / self._name(benchmark)
        joined = folder / "joined"
        return joined if joined.is_dir() else folder
