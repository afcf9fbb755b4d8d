//! How far runs of one program agree.

use crate::named::named;

named! {
    /// Properties that all runs of a program share, from the fewest to the most. Results are compared by them.
    #[derive(Default)]
    pub enum Reproducibility("agreement") {
        /// What one launch of a kernel does in numbers: its CTAs, accesses and their bytes. How many launches there are differs.
        CountsEachLaunch => "counts-each-launch",
        /// Launches and CTAs of each kernel.
        Launches => "launches",
        /// These, and how often each site executes in each launch.
        Counts => "counts",
        /// Every access.
        #[default]
        Digests => "digests",
    }
}
