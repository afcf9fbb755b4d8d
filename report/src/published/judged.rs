//! Published values of programs, for judging statements of the thesis.

use super::{Quantity, data};
use crate::claims::Program;
use std::borrow::Cow;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::metrics::bisection::BisectionRow;

/// Figures whose published numbers suffice to judge their statements.
pub(crate) const JUDGED: [&str; 2] = ["6.1", "6.4"];

/// Returns the published values of a program that the statements about the [`JUDGED`] figures need.
pub(crate) fn program(name: &'static str) -> Program<'static> {
    let series = data().series;
    let value = |quantity| {
        let found = (series.iter()).find(|it| it.program == name && it.quantity == quantity);
        found
            .and_then(|it| it.values.first())
            .map_or(0.0, |it| it.1)
    };
    let cut = |dimension: &str, bytes, share| {
        let bytes = value(bytes) as u64;
        let share = value(share) / 100.0;
        BisectionRow {
            dimension: dimension.to_owned(),
            coordinates: if bytes > 0 { 2 } else { 1 },
            cut: 1,
            crossing_bytes: bytes,
            share,
            as_published_bytes: bytes,
            as_published_share: share,
        }
    };
    Program {
        name,
        loaded_bytes: value(Quantity::Loaded) as u64,
        stored_bytes: value(Quantity::Stored) as u64,
        share: value(Quantity::Communicated) / value(Quantity::Stored),
        metrics: Cow::Owned(Metrics {
            bisection: vec![
                cut("x", Quantity::CutX, Quantity::CutXShare),
                cut("y", Quantity::CutY, Quantity::CutYShare),
            ],
            ..Metrics::default()
        }),
    }
}
