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
use superstep_report::figures::Program;

use crate::choice::{Ctas, Numbers, choice};
use crate::figure::Figure;
use crate::stream::{Table, capsule};
use crate::{failure, of_report};

/// Opens a capture, given its folder, any file in it, or the run folder that contains `capture`.
#[pyfunction]
pub fn open(py: Python<'_>, path: PathBuf) -> PyResult<Capture> {
    let of_run = path.join("capture");
    let path = if of_run.is_dir() { of_run } else { path };
    let capture = py.detach(|| superstep_trace::Capture::open(path));
    Ok(Capture {
        capture: Arc::new(capture.map_err(failure)?),
    })
}

#[pyclass(frozen, module = "superstep")]
pub struct Capture {
    pub capture: Arc<superstep_trace::Capture>,
}

impl Capture {
    fn table(&self, py: Python<'_>, name: TableName) -> PyResult<Table> {
        let table = py.detach(|| in_memory(&self.capture, name));
        table.map(|table| Table { table }).map_err(failure)
    }
}

#[pymethods]
impl Capture {
    #[getter]
    fn folder(&self) -> PathBuf {
        self.capture.folder().to_owned()
    }

    #[getter]
    fn complete(&self) -> bool {
        self.capture.complete
    }

    #[getter]
    fn damaged(&self) -> bool {
        self.capture.damaged
    }

    #[getter]
    fn problems(&self) -> Vec<String> {
        self.capture.problems.clone()
    }

    #[getter]
    fn thread_accesses(&self) -> u64 {
        let launches = self.capture.launches();
        launches.map(|launch| launch.thread_accesses()).sum()
    }

    fn __repr__(&self) -> String {
        let folder = self.capture.folder().display();
        let launches = self.capture.launches().count();
        format!("<superstep.Capture {folder}: {launches} launches>")
    }

    #[getter]
    fn in_situ(&self) -> bool {
        self.capture.is_in_situ()
    }

    fn launches(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, TableName::Launches)
    }

    fn sites(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, TableName::Sites)
    }

    fn allocations(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, TableName::Allocations)
    }

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
        accesses::check(&self.capture, &choice).map_err(failure)?;
        Ok(Accesses {
            capture: Arc::clone(&self.capture),
            choice,
        })
    }

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
            let analysis = analyse_within(&self.capture, Options::everything(), &limit)?;
            Analysis::new(&analysis, &self.capture)
        });
        analysis.map_err(failure)
    }
}

/// Chosen accesses. Each Arrow stream reads them again.
#[pyclass(frozen, module = "superstep")]
pub struct Accesses {
    capture: Arc<superstep_trace::Capture>,
    choice: Choice,
}

#[pymethods]
impl Accesses {
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

/// Tables and figures of an analysis.
#[pyclass(frozen, module = "superstep", mapping)]
pub struct Analysis {
    tables: Vec<superstep_table::Table>,
    program: Program,
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
        // Captures in run folders all have the same name.
        let named = match folder.file_name() {
            Some(name) if name == "capture" => folder.parent(),
            _ => Some(&*folder),
        };
        let name = named.and_then(Path::file_name).unwrap_or_default();
        let program = Program::new(name.to_string_lossy().into_owned(), analysis, metrics);
        Ok(Self { tables, program })
    }
}

#[pymethods]
impl Analysis {
    fn keys(&self) -> Vec<String> {
        let names = self.tables.iter().map(|table| table.name().to_owned());
        names.collect()
    }

    #[getter]
    fn digest(&self, py: Python<'_>) -> String {
        py.detach(|| tables::digest(&self.tables))
    }

    fn write(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Vec<PathBuf>> {
        let files = py.detach(|| tables::write(&folder, &self.tables));
        files.map_err(failure)
    }

    fn figures(&self, py: Python<'_>) -> Vec<Figure> {
        let figures = py.detach(|| self.program.figures()).into_iter();
        figures.map(|figure| Figure { figure }).collect()
    }

    fn figure(&self, py: Python<'_>, name: &str) -> PyResult<Figure> {
        let figure = py.detach(|| self.program.figure(name));
        figure.map(|figure| Figure { figure }).map_err(of_report)
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

    fn __getitem__(&self, name: &str) -> PyResult<Table> {
        let table = self.tables.iter().find(|table| table.name() == name);
        let table = table.cloned().ok_or_else(|| {
            let names = self.keys().join(", ");
            PyKeyError::new_err(format!(
                "there is no table {name:?}; the tables are {names}"
            ))
        })?;
        Ok(Table { table })
    }

    fn __repr__(&self) -> String {
        format!("<superstep.Analysis: {}>", self.keys().join(", "))
    }
}
