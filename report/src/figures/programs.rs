//! Figures of programs side by side.

use super::communication::all;
use super::data_volume::{DataVolumeRow, draw, volumes};
use super::multiples::Multiples;
use crate::error::{ReportError, Result};
use std::borrow::Cow;
use superstep_analysis::Analysis;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::run_summary::RunSummary;

#[derive(Clone, Debug)]
pub struct Programs<'a> {
    volumes: Vec<DataVolumeRow>,
    measured: Cow<'a, [(String, Metrics)]>,
}

impl<'a> Programs<'a> {
    /// Creates the figures of one program from its analysis and the analysis's metrics, if any.
    pub fn one(name: &str, analysis: &Analysis, metrics: Option<Metrics>) -> Self {
        let (counts, communication) = (&analysis.counts.total, &analysis.communication.total);
        let volume = DataVolumeRow {
            application: name.to_owned(),
            loaded_bytes: counts.loaded_bytes.saturating_add(counts.atomic_bytes),
            stored_bytes: communication.stored_bytes,
            communicated_stored_bytes: communication.communicated_stored_bytes,
            communication_share: communication.share(),
        };
        Self {
            volumes: vec![volume],
            measured: Vec::from_iter(metrics.map(|it| (name.to_owned(), it))).into(),
        }
    }

    /// Creates figures that show the analysed benchmarks of a run side by side.
    pub fn of_run(run: &RunSummary, measured: impl Into<Cow<'a, [(String, Metrics)]>>) -> Self {
        Self {
            volumes: volumes(run),
            measured: measured.into(),
        }
    }

    pub fn figures(&self) -> Vec<Multiples> {
        let mut figures = Vec::new();
        if !self.volumes.is_empty() {
            figures.push(draw(&self.volumes));
        }
        if !self.measured.is_empty() {
            let measured = self.measured.iter().map(|(name, it)| (name.as_str(), it));
            figures.extend(all(&measured.collect::<Vec<_>>()));
        }
        figures
    }

    /// Returns the figure named `name`.
    ///
    /// # Errors
    /// [`ReportError::NoSuchFigure`]; [`ReportError::NothingToDraw`] if only other programs have it.
    pub fn figure(&self, name: &str) -> Result<Multiples> {
        let figures = self.figures();
        let known: Vec<_> = figures.iter().map(|figure| figure.name).collect();
        let found = figures.into_iter().find(|figure| figure.name == name);
        found.ok_or_else(|| {
            let figure = name.to_owned();
            match self.shows(name) {
                Some(shows) => ReportError::NothingToDraw { figure, shows },
                None => ReportError::NoSuchFigure { figure, known },
            }
        })
    }

    /// Describes the data that a figure needs but the programs lack.
    fn shows(&self, name: &str) -> Option<&'static str> {
        let others = all(&[("", &Metrics::default())]);
        let is_known = |name| others.iter().any(|figure| figure.name == name);
        match name {
            "stride" if !self.measured.is_empty() => Some(
                "distances between addresses, but an in-situ capture has only sums; trace the program",
            ),
            "timeline" if !self.measured.is_empty() => Some(
                "when launches ran, which the capture does not record; trace the program again",
            ),
            name if is_known(name) || matches!(name, "stride" | "timeline") => {
                Some("how CTAs communicate, but the capture has no accesses")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
