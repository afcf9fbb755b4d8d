//! Captures, their accesses, and their analysis.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use superstep_analysis::communication::{MemoryLimit, Options};
use superstep_analysis::metrics::Settings;
use superstep_analysis::{Result as AnalysisResult, analyse_within, tables};
use superstep_export::accesses::{self, Choice};
use superstep_export::tables::{TableName, in_memory};
use superstep_report::figures::Programs;

use crate::choice::{Ctas, Numbers, choice};
use crate::figure::Figure;
use crate::stream::{Table, capsule, to_arrow, to_pandas, to_polars};
use crate::{failure, report_error};

/// Opens a capture, given its folder, any file in it, or the folder of a run with one capture, such as
/// `out/prog/latest`.
///
/// A capture of a killed program can be opened, but is incomplete: see `complete` and `problems`.
#[pyfunction]
pub fn open(py: Python<'_>, path: PathBuf) -> PyResult<Capture> {
    let capture = py.detach(|| superstep_trace::Capture::open(path));
    Ok(Capture(Arc::new(capture.map_err(failure)?)))
}

/// An open capture. Accesses stay on disk until they are read.
#[pyclass(frozen, module = "superstep")]
pub struct Capture(pub Arc<superstep_trace::Capture>);

impl Capture {
    fn table(&self, py: Python<'_>, name: TableName) -> PyResult<Table> {
        let table = py.detach(|| in_memory(&self.0, name));
        table.map(Table).map_err(failure)
    }
}

#[pymethods]
impl Capture {
    /// Folder of the capture.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.0.folder().to_owned()
    }

    /// True if every file ends properly and nothing is missing.
    #[getter]
    fn complete(&self) -> bool {
        self.0.complete
    }

    /// True if bytes were changed or files are missing. Merely killing the program does not cause this.
    #[getter]
    fn damaged(&self) -> bool {
        self.0.damaged
    }

    /// One sentence for each missing or damaged part.
    #[getter]
    fn problems(&self) -> Vec<String> {
        self.0.problems.clone()
    }

    /// Number of accesses in the capture, counted per lane.
    #[getter]
    fn thread_accesses(&self) -> u64 {
        let launches = self.0.launches();
        launches.map(|launch| launch.thread_accesses()).sum()
    }

    fn __repr__(&self) -> String {
        let folder = self.0.folder().display();
        let launches = self.0.launches().count();
        format!("<superstep.Capture {folder}: {launches} launches>")
    }

    /// True if accesses were added up while kernels ran, in which case the capture contains only the sums.
    #[getter]
    fn in_situ(&self) -> bool {
        self.0.is_in_situ()
    }

    /// Returns the launches, in the order of the host's calls.
    fn launches(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, TableName::Launches)
    }

    /// Returns the memory instructions, with their source lines.
    fn sites(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, TableName::Sites)
    }

    /// Returns the allocations and device variables.
    fn allocations(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, TableName::Allocations)
    }

    /// Returns the pairs of CTAs, from two launches, in which the second CTA received bytes from the first.
    fn transfers(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, TableName::Transfers)
    }

    /// Selects accesses by launch number, kernel (a name, a glob or `regex:…`) and CTA (`"0-15,40"`).
    ///
    /// Nothing is read until the result is used as an Arrow stream. `threads` is the number of decoding threads, by
    /// default one per core.
    #[pyo3(signature = (*, launch = None, kernel = None, cta = None, columns = None, threads = None))]
    fn accesses(
        &self,
        launch: Option<Numbers>,
        kernel: Option<&str>,
        cta: Option<Ctas>,
        columns: Option<Vec<String>>,
        threads: Option<usize>,
    ) -> PyResult<Accesses> {
        let choice = choice(launch, kernel, cta, columns, threads)?;
        accesses::check(&self.0, &choice).map_err(failure)?;
        Ok(Accesses {
            capture: Arc::clone(&self.0),
            choice,
        })
    }

    /// Returns all tables of the analysis. Data that exceeds `memory_bytes` is kept in files in `spill_into`.
    #[pyo3(signature = (*, memory_bytes = None, spill_into = None))]
    fn analyse(
        &self,
        py: Python<'_>,
        memory_bytes: Option<u64>,
        spill_into: Option<PathBuf>,
    ) -> PyResult<Analysis> {
        let none = MemoryLimit::none();
        let limit = MemoryLimit {
            bytes: memory_bytes.unwrap_or(none.bytes),
            spill_into: spill_into.unwrap_or(none.spill_into),
        };
        let analysis = py.detach(|| {
            let analysis = analyse_within(&self.0, Options::everything(), &limit)?;
            Analysis::new(&analysis, &self.0)
        });
        analysis.map_err(failure)
    }
}

/// A selection of accesses. Each use as an Arrow stream reads them again, with bounded memory.
#[pyclass(frozen, module = "superstep")]
pub struct Accesses {
    capture: Arc<superstep_trace::Capture>,
    choice: Choice,
}

#[pymethods]
impl Accesses {
    /// Reads the accesses into a `pandas.DataFrame`. Needs pandas and pyarrow.
    fn to_pandas<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        to_pandas(this)
    }

    /// Reads the accesses into a `polars.DataFrame`. Needs polars.
    fn to_polars<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        to_polars(this)
    }

    /// Reads the accesses into a `pyarrow.Table`. Needs pyarrow.
    fn to_arrow<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        to_arrow(this)
    }

    /// Returns the accesses as an Arrow stream.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let capture = Arc::clone(&self.capture);
        let reader = py.detach(|| accesses::read(capture, &self.choice));
        capsule(py, reader.map_err(failure)?)
    }
}

/// The tables of an analysis, by name, and its figures.
#[pyclass(frozen, module = "superstep", mapping)]
pub struct Analysis {
    tables: Vec<superstep_table::Table>,
    programs: Programs<'static>,
}

impl Analysis {
    pub fn new(
        analysis: &superstep_analysis::Analysis,
        capture: &superstep_trace::Capture,
    ) -> AnalysisResult<Self> {
        let (tables, metrics) =
            tables::with_metrics(analysis, capture.sites(), &Settings::default())?;
        let folder = capture.folder();
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        // All captures in run folders have the same name.
        let program = match folder.file_name() {
            Some(name) if name == "capture" => folder.parent(),
            _ => Some(&*folder),
        };
        let name = program.and_then(Path::file_name).unwrap_or_default();
        let programs = Programs::one(&name.to_string_lossy(), analysis, metrics);
        Ok(Self { tables, programs })
    }
}

#[pymethods]
impl Analysis {
    /// Returns the names of the tables.
    fn keys(&self) -> Vec<String> {
        let names = self.tables.iter().map(|table| table.name().to_owned());
        names.collect()
    }

    /// Hash of all tables; equal tables have equal hashes.
    #[getter]
    fn digest(&self, py: Python<'_>) -> String {
        py.detach(|| tables::digest(&self.tables))
    }

    /// Writes every table as CSV and JSON into `folder`, and returns the files.
    fn write(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Vec<PathBuf>> {
        let files = py.detach(|| tables::write(&folder, &self.tables));
        files.map_err(failure)
    }

    /// Returns all figures that can be drawn for the program.
    fn figures(&self, py: Python<'_>) -> Vec<Figure> {
        let figures = py.detach(|| self.programs.figures()).into_iter();
        figures.map(Figure).collect()
    }

    /// Returns a figure of the report by name (see `figures`).
    ///
    /// Raises a `KeyError` for an unknown name, and a `SuperstepError` if there is nothing to draw.
    fn figure(&self, py: Python<'_>, name: &str) -> PyResult<Figure> {
        let figure = py.detach(|| self.programs.figure(name));
        figure.map(Figure).map_err(report_error)
    }

    fn __len__(&self) -> usize {
        self.tables.len()
    }

    fn __contains__(&self, name: &str) -> bool {
        self.tables.iter().any(|table| table.name() == name)
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let names = self.keys().into_pyobject(py)?;
        Ok(names.try_iter()?.into_any().unbind())
    }

    /// Returns a table by name; raises a `KeyError` that lists the names.
    fn __getitem__(&self, name: &str) -> PyResult<Table> {
        let table = self.tables.iter().find(|table| table.name() == name);
        let table = table.cloned().ok_or_else(|| {
            let names = self.keys().join(", ");
            PyKeyError::new_err(format!(
                "there is no table {name:?}; the tables are {names}"
            ))
        })?;
        Ok(Table(table))
    }

    fn __repr__(&self) -> String {
        format!("<superstep.Analysis: {}>", self.keys().join(", "))
    }
}
