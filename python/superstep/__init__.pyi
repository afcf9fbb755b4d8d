"""Captures of CUDA programs and their analysis, as Arrow tables."""

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any, final

__version__: str

class SuperstepError(Exception):
    """A capture cannot be read or analysed; the message names the file and says what to do."""

class CaptureError(SuperstepError):
    """A capture is damaged or cannot be read."""

def open(path: str | PathLike[str]) -> Capture:
    """Opens a capture, given its folder, any file in it, or the run folder that contains `capture`.

    A capture of a killed program can be opened, but is incomplete: see `complete` and `problems`.
    """

@final
class Capture:
    """An open capture. Accesses stay on disk until they are read."""

    @property
    def folder(self) -> PathLike[str]: ...
    @property
    def complete(self) -> bool:
        """True if every file has a proper end and nothing is missing."""
    @property
    def damaged(self) -> bool:
        """True if bytes were changed or files are missing. A killed program alone does not cause this."""
    @property
    def problems(self) -> list[str]:
        """Missing or damaged parts, one sentence each."""
    @property
    def thread_accesses(self) -> int:
        """Number of accesses in the capture, counted per lane."""
    @property
    def in_situ(self) -> bool:
        """True if accesses were added up while kernels ran, so that the capture contains none."""
    def launches(self) -> Table: ...
    def sites(self) -> Table: ...
    def allocations(self) -> Table: ...
    def accesses(
        self,
        *,
        launch: int | Sequence[int] | None = None,
        kernel: str | None = None,
        cta: int | Sequence[int] | str | None = None,
        columns: Sequence[str] | None = None,
        threads: int | None = None,
    ) -> Accesses:
        """Chooses accesses by launch number, kernel (a name, a glob or `regex:…`) and CTA (`"0-15,40"`).

        Nothing is read before the result is used as an Arrow stream. `threads` is the number of threads
        that decode, by default one per core.
        """
    def analyse(
        self,
        *,
        memory_bytes: int | None = None,
        spill_into: str | PathLike[str] | None = None,
    ) -> Analysis:
        """Returns all tables of the analysis. Data beyond `memory_bytes` is kept in files in `spill_into`."""

@final
class Table:
    """A table in memory, usable as an Arrow stream."""

    @property
    def name(self) -> str: ...
    @property
    def meaning(self) -> str:
        """Meaning of a row."""
    @property
    def column_names(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any: ...

@final
class Accesses:
    """Chosen accesses. Each use as an Arrow stream reads them again, with bounded memory."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any: ...

@final
class Analysis:
    """The tables of an analysis, by name."""

    @property
    def digest(self) -> str:
        """Hash of all tables; equal tables have equal hashes."""
    def write(self, folder: str | PathLike[str]) -> list[PathLike[str]]:
        """Writes every table as CSV and JSON into `folder`; returns the files."""
    def figure(self, name: str) -> Figure:
        """Returns a figure of the report by name: see `figures`.

        Raises a `KeyError` for an unknown name, and a `SuperstepError` if the program has nothing to draw.
        """
    def figures(self) -> list[Figure]:
        """Returns all figures that can be drawn for the program."""
    def keys(self) -> list[str]: ...
    def __getitem__(self, name: str, /) -> Table: ...
    def __contains__(self, name: str, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...

@final
class Figure:
    """A figure of the report, which notebooks display as a cell's value."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str:
        """Text alternative of the figure."""
    @property
    def table(self) -> Table:
        """The numbers in the figure."""
    @property
    def svg(self) -> str: ...
    @property
    def png(self) -> bytes: ...
    def save(self, path: str | PathLike[str]) -> None:
        """Writes the file `path`, as SVG or PNG depending on its extension."""
    def _repr_svg_(self) -> str | None: ...
    def _repr_png_(self) -> tuple[bytes, dict[str, int]] | None: ...
