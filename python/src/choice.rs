//! Arguments that select accesses.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::num::NonZero;
use superstep_export::accesses::Choice;
use superstep_trace::{CtaRange, Pattern, SelectionError};

#[derive(FromPyObject)]
pub enum Numbers {
    One(u32),
    Many(Vec<u32>),
}

impl Numbers {
    fn into_vec(self) -> Vec<u32> {
        match self {
            Self::One(number) => vec![number],
            Self::Many(numbers) => numbers,
        }
    }
}

/// CTAs: numbers, or text in the syntax of `--ctas`.
#[derive(FromPyObject)]
pub enum Ctas {
    Text(String),
    Numbers(Numbers),
}

fn value_error(error: SelectionError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub fn choice(
    launch: Option<Numbers>,
    kernel: Option<&str>,
    cta: Option<Ctas>,
    columns: Option<Vec<String>>,
    threads: Option<usize>,
) -> PyResult<Choice> {
    let threads = threads.map(|threads| {
        NonZero::new(threads).ok_or_else(|| {
            PyValueError::new_err("failed to read threads: expected at least 1, found 0")
        })
    });
    Ok(Choice {
        launches: launch.map(|numbers| numbers.into_vec().into_iter().collect()),
        kernel: (kernel.map(str::parse::<Pattern>).transpose()).map_err(value_error)?,
        ctas: match cta {
            None => Vec::new(),
            Some(Ctas::Text(text)) => CtaRange::parse_list(&text).map_err(value_error)?,
            Some(Ctas::Numbers(numbers)) => ranges(numbers.into_vec())?,
        },
        columns,
        threads: threads.transpose()?,
    })
}

/// Merges adjacent numbers, since each group of accesses is compared with every range.
fn ranges(mut numbers: Vec<u32>) -> PyResult<Vec<CtaRange>> {
    if numbers.is_empty() {
        return Err(PyValueError::new_err(
            "failed to read cta: expected at least one number; leave it out to read all CTAs",
        ));
    }
    numbers.sort_unstable();
    let runs = numbers.chunk_by(|a, b| *b <= a.saturating_add(1));
    let ranges = runs.map(|run| CtaRange {
        first: run[0],
        last: run[run.len() - 1],
    });
    Ok(ranges.collect())
}
