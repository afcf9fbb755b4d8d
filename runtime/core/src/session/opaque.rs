//! Launches of code that Superstep did not build.

use super::Session;
use superstep_trace::{Event, OpaqueEnd, OpaqueGeometry, OpaqueLaunch, Probe, StreamId};

impl Session {
    /// Numbers and notes a launch of code that Superstep did not build; answers its number. `kernel` is its mangled name.
    pub fn opaque_launch(
        &self,
        stream: StreamId,
        kernel: Option<&str>,
        geometry: Option<OpaqueGeometry>,
    ) -> u64 {
        let mut state = self.state.lock();
        let sequence = state.sequence();
        let launch = OpaqueLaunch {
            sequence,
            stream,
            kernel: kernel.map(str::to_owned),
            geometry,
        };
        if state.opaque.kernels.is_empty() && self.registry.probe() != Probe::None {
            self.warning(format!(
                "the program launches GPU code that Superstep did not build ({} first); what that writes is unknown, and its accesses are not traced",
                launch.name()
            ));
        }
        state.opaque.of(launch.name()).launches += 1;
        self.event(&mut state, &Event::OpaqueLaunch(launch));
        sequence
    }

    /// The opaque launch with number `launch`, of `kernel`, has ended.
    pub fn opaque_end(&self, launch: u64, kernel: Option<&str>, elapsed_ns: u64) {
        let mut state = self.state.lock();
        let name = kernel.unwrap_or(OpaqueLaunch::UNNAMED);
        state.opaque.of(name).ns += elapsed_ns;
        self.event(
            &mut state,
            &Event::OpaqueEnd(OpaqueEnd { launch, elapsed_ns }),
        );
    }
}
