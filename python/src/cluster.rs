//! Steps of the cluster analysis, for `superstep.spark`. A row is a tuple of bucket, kind, chunk, number and bytes.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyIterator;
use superstep_analysis::cluster::{self, Kind, Map, Row, Rows};
use superstep_analysis::communication::MemoryLimit;
use superstep_analysis::{AnalysisError, Result as AnalysisResult};

use crate::capture::{Analysis, Capture};
use crate::failure;

type RowTuple = (u32, u8, u64, u32, Vec<u8>);

#[pyclass(frozen, module = "superstep._native")]
pub struct RowIterator(Mutex<Rows>);

#[pymethods]
impl RowIterator {
    fn __iter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<RowTuple>> {
        let next = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).next());
        let row = next.transpose().map_err(failure)?;
        Ok(row.map(|row| (row.bucket, row.kind as u8, row.chunk, row.number, row.bytes)))
    }
}

fn row((bucket, kind, chunk, number, bytes): RowTuple) -> AnalysisResult<Row> {
    Ok(Row {
        bucket,
        kind: Kind::from_number(kind)?,
        chunk,
        number,
        bytes,
    })
}

/// Returns ranges of chunks with about `accesses` accesses each.
#[pyfunction]
pub fn tasks(capture: &Capture, accesses: u64) -> Vec<(u64, u64)> {
    let tasks = cluster::tasks(&capture.0, accesses).into_iter();
    tasks.map(|task| (task.start, task.end)).collect()
}

/// Runs the first step on a range of chunks.
#[pyfunction]
pub fn map_chunks(
    py: Python<'_>,
    capture: &Capture,
    chunks: (u64, u64),
    buckets: NonZero<u32>,
) -> RowIterator {
    let (capture, chunks) = (capture.0.clone(), chunks.0..chunks.1);
    let map = py.detach(|| Map::new(capture, &chunks, buckets.get()));
    RowIterator(Mutex::new(Box::new(map)))
}

/// Runs the second step on the rows of one bucket, or the third if `is_last`. Errors from `rows` are returned unchanged.
#[pyfunction]
pub fn run_step(
    capture: &Capture,
    is_last: bool,
    buckets: (u32, u32),
    bytes: u64,
    spill_into: PathBuf,
    rows: &Bound<'_, PyIterator>,
) -> PyResult<RowIterator> {
    let limit = MemoryLimit { bytes, spill_into };
    let mut failed = None;
    let mut next = || {
        let next = rows.clone().next();
        match next.map(|next| next?.extract::<RowTuple>()) {
            None => Ok(None),
            Some(Ok(found)) => row(found).map(Some),
            Some(Err(error)) => {
                failed = Some(error);
                Err(AnalysisError::Part {
                    what: "a row could not be received",
                })
            }
        }
    };
    let outcome = match is_last {
        false => cluster::reduce(&capture.0, buckets, &limit, &mut next),
        true => cluster::combine(&capture.0, buckets.0, &limit, &mut next),
    };
    match (failed, outcome) {
        (Some(error), _) => Err(error),
        (None, outcome) => Ok(RowIterator(Mutex::new(outcome.map_err(failure)?))),
    }
}

/// Merges all rows of the third step into an analysis.
#[pyfunction]
pub fn merge(
    py: Python<'_>,
    capture: &Capture,
    bytes: u64,
    spill_into: PathBuf,
    rows: &Bound<'_, PyIterator>,
) -> PyResult<Analysis> {
    let limit = MemoryLimit { bytes, spill_into };
    let mut merged = cluster::Merged::new(&capture.0, &limit);
    for next in rows.clone() {
        let found: RowTuple = next?.extract()?;
        py.detach(|| merged.add(&row(found)?)).map_err(failure)?;
    }
    let analysis = py.detach(|| {
        let analysis = merged.finish(&capture.0)?;
        Analysis::new(&analysis, &capture.0)
    });
    analysis.map_err(failure)
}
