//! Figures of the report, for display in notebooks.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use pyo3::exceptions::{PyImportError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use superstep_report::Result;
use superstep_report::figures::multiples::{Layout, Multiples};
use superstep_report::figures::{png, svg};
use superstep_table::FileError;

use crate::report_error;
use crate::stream::Table;

/// A figure of the report. Notebooks display it as the value of a cell.
#[pyclass(frozen, module = "superstep")]
pub struct Figure(pub Multiples);

impl Figure {
    /// Returns whether the figure is too complex for SVG.
    fn is_picture(&self) -> bool {
        self.0.layout == Layout::Maps
    }

    fn pdf(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let converter = py.import("vl_convert").map_err(|_| {
            PyImportError::new_err("PDF output needs the package vl-convert-python; run `pip install vl-convert-python`")
        })?;
        let file = converter.call_method1("svg_to_pdf", (self.svg(py)?,))?;
        file.extract()
    }
}

#[pymethods]
impl Figure {
    /// Name of the figure.
    #[getter]
    fn name(&self) -> &str {
        self.0.name
    }

    /// Title of the figure.
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// Alternative text for the figure.
    #[getter]
    fn description(&self) -> &str {
        self.0.description
    }

    /// The numbers in the figure.
    #[getter]
    fn table(&self) -> Table {
        Table(self.0.table.clone())
    }

    /// The figure as an SVG document.
    #[getter]
    fn svg(&self, py: Python<'_>) -> PyResult<String> {
        let drawn = py.detach(|| svg(&self.0));
        drawn.map_err(report_error)
    }

    /// The figure as a PNG file.
    #[getter]
    fn png<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let drawn = py.detach(|| png(&self.0));
        Ok(PyBytes::new(py, &drawn.map_err(report_error)?))
    }

    /// Writes the figure to `path` as SVG, PNG or PDF, depending on its extension. PDF needs vl-convert-python.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let draw = |draw: fn(&Multiples) -> Result<Vec<u8>>| {
            py.detach(|| draw(&self.0)).map_err(report_error)
        };
        let file = match path.extension().and_then(OsStr::to_str) {
            Some("svg") => draw(|figure| svg(figure).map(String::into_bytes))?,
            Some("png") => draw(png)?,
            Some("pdf") => self.pdf(py)?,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "failed to save a figure as {}: expected a name that ends with .svg, .png or .pdf",
                    path.display()
                )));
            }
        };
        let saved = fs::write(&path, file).map_err(FileError::at("write", &path));
        saved.map_err(|error| report_error(error.into()))
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
        let (width, height) = self.0.size();
        let size = PyDict::new(py);
        size.set_item("width", width)?;
        size.set_item("height", height)?;
        Ok(Some((self.png(py)?, size)))
    }

    fn __repr__(&self) -> String {
        format!("<superstep.Figure {}: {}>", self.name(), self.title())
    }
}
