//! Figures of one program from its analysis, without a suite run.

use super::communication::all;
use super::data_volume::{DataVolumeRow, of};
use super::multiples::Multiples;
use crate::error::{ReportError, Result};
use superstep_analysis::Analysis;
use superstep_analysis::metrics::{Metrics, share};

#[derive(Clone, Debug)]
pub struct Program {
    volume: DataVolumeRow,
    metrics: Option<Metrics>,
}

impl Program {
    /// `metrics` are those of the analysis, if any.
    pub fn new(name: String, analysis: &Analysis, metrics: Option<Metrics>) -> Self {
        let counts = &analysis.counts.total;
        let communication = &analysis.communication.total;
        let (stored, communicated) = (
            communication.stored_bytes,
            communication.communicated_stored_bytes,
        );
        Self {
            volume: DataVolumeRow {
                application: name,
                loaded_bytes: counts.loaded_bytes.saturating_add(counts.atomic_bytes),
                stored_bytes: stored,
                communicated_stored_bytes: communicated,
                communication_share: share(communicated, stored),
            },
            metrics,
        }
    }

    pub fn figures(&self) -> Vec<Multiples> {
        let volume = std::slice::from_ref(&self.volume);
        let mut figures = vec![of(volume)];
        if let Some(metrics) = &self.metrics {
            figures.extend(all(&[(&self.volume.application, metrics)]));
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

    /// Describes the content that a figure needs and this program lacks.
    fn shows(&self, name: &str) -> Option<&'static str> {
        let is_any =
            || (all(&[("", &Metrics::default())]).iter()).any(|figure| figure.name == name);
        match name {
            "stride" if self.metrics.is_some() => Some(
                "distances between addresses, but an in-situ capture has only sums; trace the program",
            ),
            "timeline" if self.metrics.is_some() => Some(
                "when launches ran, which the capture does not record; trace the program again",
            ),
            "stride" | "timeline" => Some(NO_ACCESSES),
            _ if is_any() => Some(NO_ACCESSES),
            _ => None,
        }
    }
}

const NO_ACCESSES: &str = "how CTAs communicate, but the capture has no accesses";

#[cfg(test)]
mod tests;
