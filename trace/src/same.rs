//! How far runs of one program agree.

use crate::named::named;

named! {
    /// Agreement of all runs of a program, from the least to the most. Results are compared by it.
    #[derive(Default)]
    pub enum Same("agreement") {
        /// Numbers of one launch of a kernel: its CTAs, accesses and their bytes. How many launches there are differs.
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
