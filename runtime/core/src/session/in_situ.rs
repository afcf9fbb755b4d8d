//! Launches whose accesses the host aggregates.

use super::{ActiveLaunch, Session};
use crate::in_situ::{Running, Shadow};
use superstep_trace::{Backend, CtaBlocks, Protocol};

impl Session {
    /// Whether accesses are aggregated while kernels run, and none is recorded.
    pub fn is_in_situ(&self) -> bool {
        self.config.protocol == Some(Protocol::InSitu)
    }

    /// What transfers in situ are kept between.
    pub fn cta_blocks(&self) -> CtaBlocks {
        match self.is_in_situ() {
            true => self.config.cta_blocks,
            false => CtaBlocks::default(),
        }
    }

    /// Who wrote the program's memory, where the host adds its accesses up. The session tells it what the host does.
    pub fn shadow(&self) -> Option<&Shadow> {
        self.shadow.as_ref()
    }

    pub(super) fn new_shadow(&mut self) {
        let is_wanted =
            self.backend == Backend::Cpu && self.is_in_situ() && self.config.capture.is_some();
        self.shadow = is_wanted.then(|| Shadow::new(self.cta_blocks()));
    }

    /// Begins the aggregation of a launch; `None` where nothing is aggregated, and where it does not fit, which is a fault.
    pub fn add_up(&self, launch: &ActiveLaunch) -> Option<Running> {
        match self.shadow()?.begin(launch.number, &launch.launch) {
            Ok(running) => Some(running),
            Err(error) => {
                self.fault(error);
                None
            }
        }
    }

    /// Keeps the aggregates of a launch; to be called before [`launch_end`](Self::launch_end).
    pub fn launch_aggregated(&self, running: &Running) {
        let (sums, parts) = running.found();
        self.launch_sums(sums);
        self.parts(parts);
    }
}
