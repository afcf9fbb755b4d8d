//! Figures of the report, which notebooks display.

use std::fs;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use superstep_report::figures::multiples::{Layout, Multiples};
use superstep_report::figures::{png, svg};
use superstep_report::{ReportError, Result};
use superstep_table::FileError;

use crate::of_report;
use crate::stream::Table;

/// A figure, drawn when it is shown.
#[pyclass(frozen, module = "superstep")]
pub struct Figure {
    pub figure: Multiples,
}

impl Figure {
    /// Returns whether the figure is too complex for SVG.
    fn is_picture(&self) -> bool {
        self.figure.layout == Layout::Maps
    }
}

#[pymethods]
impl Figure {
    #[getter]
    fn name(&self) -> &str {
        self.figure.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.figure.title
    }

    #[getter]
    fn description(&self) -> &str {
        self.figure.description
    }

    #[getter]
    fn table(&self) -> Table {
        Table {
            table: self.figure.table.clone(),
        }
    }

    #[getter]
    fn svg(&self, py: Python<'_>) -> PyResult<String> {
        let drawn = py.detach(|| svg(&self.figure, self.figure.name));
        drawn.map_err(of_report)
    }

    #[getter]
    fn png<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let drawn = py.detach(|| png(&self.figure));
        Ok(PyBytes::new(py, &drawn.map_err(of_report)?))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let draw: fn(&Multiples) -> Result<Vec<u8>> = match path
            .extension()
            .and_then(|extension| extension.to_str())
        {
            Some("svg") => |figure| svg(figure, figure.name).map(String::into_bytes),
            Some("png") => png,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "failed to save a figure as {}: expected a name that ends with .svg or .png",
                    path.display()
                )));
            }
        };
        let saved = py.detach(|| -> Result<()> {
            fs::write(&path, draw(&self.figure)?)
                .map_err(FileError::at("write", &path))
                .map_err(ReportError::from)
        });
        saved.map_err(of_report)
    }

    fn _repr_svg_(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let is_drawing = !self.is_picture();
        is_drawing.then(|| self.svg(py)).transpose()
    }

    /// Returns the picture and its display size, which is half its size in pixels.
    fn _repr_png_<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<(Bound<'py, PyBytes>, Bound<'py, PyDict>)>> {
        if !self.is_picture() {
            return Ok(None);
        }
        let (width, height) = self.figure.size();
        let size = PyDict::new(py);
        size.set_item("width", width)?;
        size.set_item("height", height)?;
        Ok(Some((self.png(py)?, size)))
    }

    fn __repr__(&self) -> String {
        format!("<superstep.Figure {}: {}>", self.name(), self.title())
    }
}
