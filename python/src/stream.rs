//! Record batches as PyCapsules: <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.

use arrow_array::cast::AsArray as _;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatchIterator, RecordBatchReader};
use arrow_schema::DataType;
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

/// Wraps a stream in a capsule. The consumer moves the stream out; otherwise, it is released with the capsule.
pub fn capsule<'py>(
    py: Python<'py>,
    reader: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'py, PyCapsule>> {
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// Reads an Arrow stream into a pyarrow table.
pub fn to_arrow<'py>(stream: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let pyarrow = stream.py().import("pyarrow")?;
    pyarrow.call_method1("table", (stream,))
}

/// Reads an Arrow stream into a pandas data frame.
pub fn to_pandas<'py>(stream: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    to_arrow(stream)?.call_method0("to_pandas")
}

/// Reads an Arrow stream into a Polars data frame.
pub fn to_polars<'py>(stream: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let polars = stream.py().import("polars")?;
    polars.call_method1("DataFrame", (stream,))
}

/// Returns a cell as a Python value, or `None` if it is empty.
fn cell<'py>(py: Python<'py>, array: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).into_bound_py_any(py),
        DataType::UInt32 => (array.as_primitive::<UInt32Type>().value(row)).into_bound_py_any(py),
        DataType::UInt64 => (array.as_primitive::<UInt64Type>().value(row)).into_bound_py_any(py),
        DataType::Float64 => (array.as_primitive::<Float64Type>().value(row)).into_bound_py_any(py),
        _ => array.as_string::<i32>().value(row).into_bound_py_any(py),
    }
}

/// A table in memory: an Arrow stream, and a sequence of rows.
#[pyclass(frozen, module = "superstep")]
pub struct Table(pub superstep_table::Table);

#[pymethods]
impl Table {
    /// Name of the table.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Meaning of a row.
    #[getter]
    fn meaning(&self) -> &str {
        self.0.meaning()
    }

    /// Names of the columns; docs/columns.csv has their units and meanings.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let columns = self.0.columns();
        columns.map(|column| column.name.to_owned()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.rows()
    }

    /// Returns the table as a `pandas.DataFrame`. Needs pandas and pyarrow.
    fn to_pandas<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        to_pandas(this)
    }

    /// Returns the table as a `polars.DataFrame`. Needs polars.
    fn to_polars<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        to_polars(this)
    }

    /// Returns the table as a `pyarrow.Table`. Needs pyarrow.
    fn to_arrow<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        to_arrow(this)
    }

    /// Returns a row as a dictionary that maps column names to values.
    fn __getitem__<'py>(&self, py: Python<'py>, row: isize) -> PyResult<Bound<'py, PyDict>> {
        let rows = self.0.rows();
        let row = match row {
            ..0 => rows.checked_add_signed(row),
            _ => Some(row.unsigned_abs()),
        };
        let row = row.filter(|&row| row < rows);
        let row = row.ok_or_else(|| PyIndexError::new_err(format!("the table has {rows} rows")))?;
        let values = PyDict::new(py);
        for (column, array) in self.0.columns().zip(self.0.batch().columns()) {
            values.set_item(column.name, cell(py, array, row)?)?;
        }
        Ok(values)
    }

    /// Iterates over the rows. `pandas.DataFrame` needs this to accept the table.
    fn __iter__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let builtins = this.py().import("builtins")?;
        let rows = builtins.call_method1("range", (this.len()?,))?;
        builtins.call_method1("map", (this.getattr("__getitem__")?, rows))
    }

    fn __repr__(&self) -> String {
        format!("<superstep.Table {}: {} rows>", self.name(), self.__len__())
    }

    /// Returns the rows as an Arrow stream with the table's own schema.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batch = self.0.batch().clone();
        let schema = batch.schema();
        capsule(py, RecordBatchIterator::new([Ok(batch)], schema))
    }
}
