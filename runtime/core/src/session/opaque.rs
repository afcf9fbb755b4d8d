//! Launches of code that Superstep did not build.

use super::Session;
use crate::in_situ::entry::Entry;
use superstep_trace::{
    Event, KnownCall, Note, OpaqueEnd, OpaqueGeometry, OpaqueLaunch, Probe, StreamId,
};

impl Session {
    /// Numbers and records an opaque launch; returns its number. `kernel` is a mangled name; `call` is the library call
    /// that launched it, if known.
    pub fn opaque_launch(
        &self,
        stream: StreamId,
        kernel: Option<&str>,
        geometry: Option<OpaqueGeometry>,
        call: Option<KnownCall>,
    ) -> u64 {
        match (&self.shadow, &call) {
            (None, _) => {}
            (Some(shadow), None) => shadow.unknown_wrote_all(),
            (Some(shadow), Some(call)) => {
                let written = call.writes.iter().flat_map(|block| block.ranges());
                written.for_each(|(address, bytes)| shadow.set(address, bytes, Entry::UNKNOWN));
            }
        }
        let mut state = self.state.lock();
        let sequence = state.sequence();
        let launch = OpaqueLaunch {
            sequence,
            stream,
            kernel: kernel.map(str::to_owned),
            geometry,
            call,
        };
        if !state.has_opaque_launches && self.registry.probe() != Probe::None {
            self.warning(format!(
                "the program launches GPU code that Superstep did not build (first: {}); its accesses are not traced, and its writes are known only for a few library calls",
                launch.name()
            ));
        }
        state.has_opaque_launches = true;
        self.note(|journal| journal.add_for_kernel(launch.name(), Note::OpaqueLaunch));
        self.event(&mut state, &Event::OpaqueLaunch(launch));
        drop(state);
        self.end_again();
        sequence
    }

    pub fn opaque_end(&self, launch: u64, kernel: Option<&str>, elapsed_ns: u64) {
        let mut state = self.state.lock();
        let (name, ns) = (kernel.unwrap_or(OpaqueLaunch::UNNAMED), elapsed_ns);
        self.note(|journal| journal.add_for_kernel(name, |kernel| Note::OpaqueEnd { kernel, ns }));
        let end = OpaqueEnd { launch, elapsed_ns };
        self.event(&mut state, &Event::OpaqueEnd(end));
        drop(state);
        self.end_again();
    }
}
