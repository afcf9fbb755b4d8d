//! Record batches as PyCapsules: <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.

use arrow_array::RecordBatchIterator;
use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Wraps a stream that its consumer moves out of the capsule, or that is released with the capsule.
pub fn capsule<'py>(
    py: Python<'py>,
    reader: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'py, PyCapsule>> {
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

#[pyclass(frozen, module = "superstep")]
pub struct Table {
    pub table: superstep_table::Table,
}

#[pymethods]
impl Table {
    #[getter]
    fn name(&self) -> &str {
        self.table.name()
    }

    #[getter]
    fn meaning(&self) -> &str {
        self.table.meaning()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        let columns = self.table.columns();
        columns.map(|column| column.name.to_owned()).collect()
    }

    fn __len__(&self) -> usize {
        self.table.rows()
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
        let batch = self.table.batch().clone();
        let schema = batch.schema();
        capsule(py, RecordBatchIterator::new([Ok(batch)], schema))
    }
}
