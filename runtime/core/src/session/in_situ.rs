//! Launches whose accesses the host aggregates.

use super::{ActiveLaunch, Session};
use crate::in_situ::{Running, Shadow};
use superstep_trace::{Backend, CtaBlocks, Protocol};

impl Session {
    pub fn is_in_situ(&self) -> bool {
        self.config.protocol == Some(Protocol::InSitu)
    }

    /// Granularity of transfers in situ.
    pub fn cta_blocks(&self) -> CtaBlocks {
        if self.is_in_situ() {
            self.config.cta_blocks
        } else {
            CtaBlocks::default()
        }
    }

    /// Shadow memory, if the host aggregates accesses. The session keeps it up to date with the host's accesses.
    pub fn shadow(&self) -> Option<&Shadow> {
        self.shadow.as_ref()
    }

    pub(super) fn new_shadow(&mut self) {
        let is_wanted =
            self.backend == Backend::Cpu && self.is_in_situ() && self.config.capture.is_some();
        self.shadow = is_wanted.then(|| Shadow::new(self.cta_blocks()));
    }

    /// Begins the aggregation of a launch. `None` without aggregation, or, with a fault, where the launch does not fit.
    pub fn add_up(&self, launch: &ActiveLaunch) -> Option<Running> {
        match self.shadow()?.begin(launch.number, &launch.launch) {
            Ok(running) => Some(running),
            Err(error) => {
                self.fault(error);
                None
            }
        }
    }

    /// Writes the aggregates of a launch; to be called before [`launch_end`](Self::launch_end).
    pub fn launch_aggregated(&self, running: &Running) {
        let (sums, parts) = running.found();
        self.launch_sums(sums);
        self.parts(parts);
    }
}
