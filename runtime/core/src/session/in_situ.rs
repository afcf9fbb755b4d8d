//! Launches whose accesses the host aggregates.

use super::{ActiveLaunch, Session};
use crate::in_situ::{Running, Shadow};
use superstep_trace::{CtaBlocks, Protocol};

impl Session {
    pub fn is_in_situ(&self) -> bool {
        self.config.protocol == Some(Protocol::InSitu)
    }

    /// Returns the granularity of transfers.
    pub fn cta_blocks(&self) -> CtaBlocks {
        if self.is_in_situ() {
            self.config.cta_blocks
        } else {
            CtaBlocks::default()
        }
    }

    /// Returns the shadow memory, if the host aggregates accesses. The session records the host's writes in it.
    pub fn shadow(&self) -> Option<&Shadow> {
        self.shadow.as_ref()
    }

    /// Begins the aggregation of a launch. Returns `None` if the host does not aggregate accesses, or, after reporting a
    /// fault, if the launch is too large.
    pub fn add_up(&self, launch: &ActiveLaunch) -> Option<Running> {
        let running = self.shadow()?.begin(launch.number, &launch.launch);
        running.map_err(|error| self.fault(error)).ok()
    }

    /// Writes the aggregates of a launch. Must be called before [`launch_end`](Self::launch_end).
    pub fn launch_aggregated(&self, running: &Running) {
        let (sums, parts) = running.found();
        self.launch_sums(sums);
        self.parts(parts);
    }
}
