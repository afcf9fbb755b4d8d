//! The published programs, as far as statements of the thesis are judged by them.

use super::{Quantity, data};
use crate::claims::Program;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::metrics::bisection::BisectionRow;

/// Figures by whose published numbers their statements are judged: those that have all that the rules need.
pub(crate) const JUDGED: [&str; 2] = ["6.1", "6.4"];

/// The published program of that name, as far as the statements on figures of [`JUDGED`] go.
pub(crate) struct Published {
    name: &'static str,
    loaded_bytes: u64,
    stored_bytes: u64,
    share: f64,
    metrics: Metrics,
}

impl Published {
    pub(crate) fn program(&self) -> Program<'_> {
        Program {
            name: self.name,
            loaded_bytes: self.loaded_bytes,
            stored_bytes: self.stored_bytes,
            share: self.share,
            metrics: &self.metrics,
        }
    }

    pub(crate) fn of(name: &'static str) -> Self {
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
        Self {
            name,
            loaded_bytes: value(Quantity::Loaded) as u64,
            stored_bytes: value(Quantity::Stored) as u64,
            share: value(Quantity::Communicated) / value(Quantity::Stored),
            metrics: Metrics {
                bisection: vec![
                    cut("x", Quantity::CutX, Quantity::CutXShare),
                    cut("y", Quantity::CutY, Quantity::CutYShare),
                ],
                ..Metrics::default()
            },
        }
    }
}
