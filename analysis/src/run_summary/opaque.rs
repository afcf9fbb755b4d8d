//! Results of launches of code that Superstep did not build.

use crate::metrics::share;
use serde::{Deserialize, Serialize};
use superstep_trace::{Summary, display_name};

/// Launches of code that Superstep did not build.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpaqueSummary {
    pub launches: u64,
    /// Sum of the known times.
    pub ns: u64,
    /// `ns` divided by the time of all launches; `None` if no time is known.
    pub share: Option<f64>,
    /// Kernels in the order of first launch.
    pub kernels: Vec<OpaqueKernel>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpaqueKernel {
    pub name: String,
    pub launches: u64,
    pub ns: u64,
}

impl OpaqueSummary {
    /// Summarises an untraced run; returns `None` if it had no such launches.
    pub fn of(summary: &Summary) -> Option<Self> {
        let kernels = summary.opaque.iter().map(|kernel| OpaqueKernel {
            name: display_name(&kernel.name),
            launches: kernel.launches,
            ns: kernel.ns,
        });
        let kernels: Vec<_> = kernels.collect();
        let ns = kernels.iter().map(|kernel| kernel.ns).sum();
        (!kernels.is_empty()).then(|| Self {
            launches: kernels.iter().map(|kernel| kernel.launches).sum(),
            ns,
            share: (ns > 0).then(|| share(ns, ns + summary.kernel_ns)),
            kernels,
        })
    }
}
