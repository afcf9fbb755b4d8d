//! Communication within launches, in `run.json`.

use crate::Analysis;
use crate::metrics::within_launch::{self, WithinLaunchRow};
use crate::metrics::{Source, share};
use serde::{Deserialize, Serialize};
use superstep_trace::SiteTable;

/// Loads of bytes that another CTA stores in the same launch, over a whole program, counting every access.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WithinLaunchSummary {
    /// Bytes loaded, atomics excluded: an upper bound on the exchange between CTAs; in situ, a lower bound.
    pub loaded_bytes: u64,
    /// Bytes accessed by atomics.
    pub atomic_bytes: u64,
    /// All bytes that the program loaded, atomics included.
    pub of_loaded_bytes: u64,
    /// Line with the most `loaded_bytes`; unknown in situ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top: Option<WithinLaunchRow>,
}

/// Share of the loaded bytes above which results report communication within launches.
const MIN_REPORTED_SHARE: f64 = 0.01;

impl WithinLaunchSummary {
    pub fn new(analysis: &Analysis, sites: &SiteTable) -> Self {
        let total = &analysis.communication.total;
        let source = Source::new(analysis, &[], sites);
        let mut rows = within_launch::rows(&source).into_iter();
        Self {
            loaded_bytes: total.within_launch_loaded_bytes,
            atomic_bytes: total.within_launch_atomic_bytes,
            of_loaded_bytes: total.loaded_bytes,
            top: rows.next().filter(|row| row.loaded_bytes > 0),
        }
    }

    /// Returns `loaded_bytes / of_loaded_bytes`, from 0 to 1; 0 if nothing was loaded.
    pub fn share(&self) -> f64 {
        share(self.loaded_bytes, self.of_loaded_bytes)
    }

    /// Adds the loads of another process.
    pub fn add(&mut self, other: &Self) {
        self.loaded_bytes += other.loaded_bytes;
        self.atomic_bytes += other.atomic_bytes;
        self.of_loaded_bytes += other.of_loaded_bytes;
        let lines = [&self.top, &other.top].into_iter().flatten();
        self.top = lines.max_by_key(|line| line.loaded_bytes).cloned();
    }

    /// Describes the loads in a sentence, formatting bytes with `show`; returns `None` if their share is small.
    pub fn in_words(&self, in_situ: bool, show: impl Fn(u64) -> String) -> Option<String> {
        if self.share() <= MIN_REPORTED_SHARE {
            return None;
        }
        let bound = if in_situ { "at least" } else { "up to" };
        let top = self.top.as_ref().map_or(String::new(), |top| {
            let file = top.file.rsplit('/').next().unwrap_or(&top.file);
            // Kernel names in libraries can be very long.
            let kernel = top.kernel.split('<').next().unwrap_or_default();
            format!(
                ", most of them in kernel {kernel} from {} ({file}:{})",
                top.array, top.line
            )
        });
        Some(format!(
            "CTAs of the same launch exchange {bound} {} ({:.1} % of the loaded bytes){top}; communication between launches \
             excludes these bytes",
            show(self.loaded_bytes),
            100.0 * self.share()
        ))
    }
}
