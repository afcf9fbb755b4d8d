//! Begins launches: numbers them, and decides how much of each is recorded.

use super::{ActiveLaunch, Geometry, Session, State};
use std::cell::Cell;
use superstep_trace::{Event, Launch, LaunchId, Note, Recorded, StreamId};

thread_local! {
    static HAS_LAUNCHED: Cell<bool> = const { Cell::new(false) };
}

impl Session {
    /// Numbers a launch of the kernel with the mangled name `kernel`, and announces it in the capture. `parent` is the
    /// sequence number of the launch whose kernel requested this one, or `None` if the host did.
    pub fn launch_begin(
        &self,
        stream: StreamId,
        kernel: &str,
        geometry: Geometry,
        parent: Option<u64>,
    ) -> ActiveLaunch {
        let recorded = |state: &mut State| state.chooser.next(kernel, || self.display_name(kernel));
        self.begin(stream, kernel, geometry, parent, recorded)
    }

    /// Like [`launch_begin`](Self::launch_begin), but for a kernel in a CUDA graph, whose selection is fixed before its
    /// launches are numbered.
    pub fn graph_launch_begin(
        &self,
        stream: StreamId,
        kernel: &str,
        geometry: Geometry,
    ) -> ActiveLaunch {
        let recorded = self.recorded_in_graphs(kernel);
        self.begin(stream, kernel, geometry, None, |_| recorded)
    }

    /// Returns how much of a kernel's launches in CUDA graphs is recorded.
    pub fn recorded_in_graphs(&self, kernel: &str) -> Recorded {
        let selection = &self.config.selection;
        selection.decide_unnumbered(kernel, || self.display_name(kernel))
    }

    fn display_name(&self, kernel: &str) -> Option<String> {
        let (_, kernel) = self.registry.kernel(kernel)?;
        Some(kernel.display_name)
    }

    fn begin(
        &self,
        stream: StreamId,
        kernel: &str,
        geometry: Geometry,
        parent: Option<u64>,
        recorded: impl FnOnce(&mut State) -> Recorded,
    ) -> ActiveLaunch {
        let mut state = self.state.lock();
        if parent.is_none() && !HAS_LAUNCHED.replace(true) {
            self.note(|journal| journal.add(Note::HostThread));
        }
        let recorded = recorded(&mut state);
        let number = state.next_launch.entry(stream).or_insert(0);
        let launch_id = LaunchId(*number);
        *number += 1;
        let sequence = state.sequence();
        state.latest_launch = sequence;
        let position = state.launches;
        state.launches += 1;
        let launch = Launch {
            sequence,
            stream,
            launch: launch_id,
            kernel: kernel.to_owned(),
            grid: geometry.grid,
            block: geometry.block,
            dynamic_shared_bytes: geometry.dynamic_shared_bytes,
            static_shared_bytes: geometry.static_shared_bytes,
            parent,
            device: geometry.device.unsigned_abs(),
        };
        let writer = self.with_capture(&mut state, |capture| {
            capture.event(&Event::Launch(launch.clone()))?;
            if recorded != Recorded::All {
                capture.event(&Event::Selected {
                    stream: launch.stream,
                    launch: launch.launch,
                    recorded,
                })?;
            }
            capture.stream(launch.stream)
        });
        ActiveLaunch {
            launch,
            number: position,
            writer,
            recorded,
        }
    }
}
