"""Captures of CUDA programs and their analysis, as Arrow tables."""

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any, final

__version__: str

class SuperstepError(Exception):
    """A capture cannot be read or analysed; the message names the file and what to do."""

class CaptureError(SuperstepError):
    """What is wrong lies in the capture: it is damaged, or cannot be read."""

def open(path: str | PathLike[str]) -> Capture:
    """Opens a capture: its folder, any file in it, or the folder of a program's run, which holds `capture`.

    A capture of a killed program opens as far as it goes: see `complete` and `problems`.
    """

@final
class Capture:
    """An open capture. Accesses stay on disk until they are read."""

    @property
    def folder(self) -> PathLike[str]: ...
    @property
    def complete(self) -> bool:
        """Whether every file was ended properly and nothing is missing."""
    @property
    def damaged(self) -> bool:
        """Whether bytes were changed or files are missing, as opposed to a program that was killed."""
    @property
    def problems(self) -> list[str]:
        """What is missing or damaged, one sentence each."""
    @property
    def thread_accesses(self) -> int:
        """Accesses in the capture, each lane counted."""
    @property
    def in_situ(self) -> bool:
        """Whether accesses were added up while kernels ran, so that it holds none."""
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
        """Accesses, chosen by launch number, kernel (a name, a glob or `regex:…`) and CTA (`"0-15,40"`).

        Nothing is read before the result is used as an Arrow stream. `threads` decode; the default is one for each core.
        """
    def analyse(
        self,
        *,
        memory_bytes: int | None = None,
        spill_into: str | PathLike[str] | None = None,
    ) -> Analysis:
        """All tables of the analysis. What `memory_bytes` leaves no room for goes to files in `spill_into`."""

@final
class Table:
    """A table in memory, for everything that takes Arrow streams."""

    @property
    def name(self) -> str: ...
    @property
    def meaning(self) -> str:
        """What a row is."""
    @property
    def column_names(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any: ...

@final
class Accesses:
    """Accesses that were chosen. Each use as an Arrow stream reads them anew, with bounded memory."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any: ...

@final
class Analysis:
    """The tables of an analysis, by name."""

    @property
    def digest(self) -> str:
        """Hash of all tables: equal where they are, whatever made them."""
    def write(self, folder: str | PathLike[str]) -> list[PathLike[str]]:
        """Writes every table as CSV and JSON into `folder`; returns the files."""
    def figure(self, name: str) -> Figure:
        """A figure of the report, by name: see `figures`.

        A name that there is not is a `KeyError`. Of a program of which there is nothing to draw, it is a `SuperstepError`.
        """
    def figures(self) -> list[Figure]:
        """All figures that can be drawn of the program."""
    def keys(self) -> list[str]: ...
    def __getitem__(self, name: str, /) -> Table: ...
    def __contains__(self, name: str, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...

@final
class Figure:
    """A figure of the report. As a cell's value in a notebook, it is shown."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str:
        """What it shows, for those who do not see it."""
    @property
    def table(self) -> Table:
        """The numbers that it is drawn from."""
    @property
    def svg(self) -> str: ...
    @property
    def png(self) -> bytes: ...
    def save(self, path: str | PathLike[str]) -> None:
        """Writes the file `path`, as SVG or PNG: its name says which."""
    def _repr_svg_(self) -> str | None: ...
    def _repr_png_(self) -> tuple[bytes, dict[str, int]] | None: ...
