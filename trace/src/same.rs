//! How far runs of one program agree.

use serde::{Deserialize, Serialize};

/// What every run of a program has in common, from the least to the most. Results are compared by it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Same {
    /// What one launch of a kernel does in numbers: its CTAs, accesses and their bytes. How many launches there are differs.
    CountsEachLaunch,
    /// Launches and CTAs of each kernel.
    Launches,
    /// These, and how often each site executes in each launch.
    Counts,
    /// Every access.
    #[default]
    Digests,
}

impl Same {
    /// As manifests and results write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Same::CountsEachLaunch => "counts-each-launch",
            Same::Launches => "launches",
            Same::Counts => "counts",
            Same::Digests => "digests",
        }
    }
}
