//! The Python module `superstep`: captures and their analysis as Arrow tables (signatures: `superstep/__init__.pyi`).

mod capture;
mod choice;
mod cluster;
mod figure;
mod run;
mod stream;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyError, PyValueError};
use pyo3::prelude::*;
use superstep_analysis::AnalysisError;
use superstep_export::ExportError;
use superstep_report::ReportError;

create_exception!(
    superstep,
    SuperstepError,
    PyException,
    "A capture cannot be read or analysed; the message names the file and says how to fix the problem."
);
create_exception!(
    superstep,
    CaptureError,
    SuperstepError,
    "A capture is damaged or cannot be read."
);

/// Converts an error: `ValueError` for an invalid argument, `CaptureError` for a damaged capture, `SuperstepError`
/// otherwise.
fn failure(error: impl Into<ExportError>) -> PyErr {
    match error.into() {
        error @ ExportError::Choice { .. } => PyValueError::new_err(error.to_string()),
        error @ (ExportError::Trace(_) | ExportError::Analysis(AnalysisError::Trace(_))) => {
            CaptureError::new_err(error.to_string())
        }
        error => SuperstepError::new_err(error.to_string()),
    }
}

fn report_error(error: ReportError) -> PyErr {
    match error {
        error @ ReportError::NoSuchFigure { .. } => PyKeyError::new_err(error.to_string()),
        error => SuperstepError::new_err(error.to_string()),
    }
}

/// Captures of CUDA programs and their analysis, as Arrow tables.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::capture::{Accesses, Analysis, Capture, open};
    #[pymodule_export]
    use crate::cluster::{RowIterator, map_chunks, merge, run_step, tasks};
    #[pymodule_export]
    use crate::figure::Figure;
    #[pymodule_export]
    use crate::run::{read_table, run_figures};
    #[pymodule_export]
    use crate::stream::Table;
    #[pymodule_export]
    use crate::{CaptureError, SuperstepError};

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
