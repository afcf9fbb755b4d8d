//! Agreement between runs of one program.

crate::named! {
    /// Properties that all runs of a program share, from fewest to most; only these are compared.
    #[derive(Default)]
    pub enum Reproducibility("agreement") {
        /// Counts for each launch of a kernel: CTAs, accesses and bytes. The number of launches may differ.
        CountsEachLaunch => "counts-each-launch",
        /// Launches and CTAs of each kernel.
        Launches => "launches",
        /// Launches and CTAs of each kernel, and the executions of each site in each launch.
        Counts => "counts",
        /// Every access.
        #[default]
        Digests => "digests",
    }
}
