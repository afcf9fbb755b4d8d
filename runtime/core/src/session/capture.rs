//! The session's capture: opened by the first event, closed by the first failure.

use super::{CaptureState, Session, State};
use crate::{RuntimeError, process};
use superstep_trace::{CaptureWriter, DeviceInfo, Event, Header, Outcome, TraceError};

impl Session {
    pub(super) fn end_capture(&self, outcome: &Outcome) -> Result<(), RuntimeError> {
        let mut state = self.patient_lock("end the capture")?;
        // A program without a single event still leaves a capture, an empty one.
        self.with_capture(&mut state, |_| Ok(()));
        match std::mem::replace(&mut state.capture, CaptureState::Closed) {
            CaptureState::Open(capture) => Ok(capture.finish(outcome)?),
            _ => Ok(()),
        }
    }

    pub(super) fn event(&self, state: &mut State, event: &Event) {
        self.with_capture(state, |capture| capture.event(event));
    }

    /// Runs `write` on the capture, which is opened first if need be, with all modules in it. A failure closes the capture and becomes a fault.
    pub(super) fn with_capture<T>(
        &self,
        state: &mut State,
        write: impl FnOnce(&CaptureWriter) -> Result<T, TraceError>,
    ) -> Option<T> {
        if matches!(state.capture, CaptureState::Unopened) {
            state.capture = self.open_capture(state.device.clone());
        }
        let CaptureState::Open(capture) = &state.capture else {
            return None;
        };
        let registered = self.registry.count();
        let mut result = Ok(());
        if state.modules_written < registered {
            let new = self.registry.from(state.modules_written);
            result = new.iter().try_for_each(|module| capture.module(module));
            state.modules_written = registered;
        }
        match result.and_then(|()| write(capture)) {
            Ok(value) => Some(value),
            Err(error) => {
                state.capture = CaptureState::Closed;
                self.fault(error);
                None
            }
        }
    }

    fn open_capture(&self, device: DeviceInfo) -> CaptureState {
        let Some(folder) = &self.config.capture else {
            return CaptureState::Closed;
        };
        let selection = &self.config.selection;
        let header = Header {
            sources: self.config.sources.clone(),
            selection: (!selection.is_everything()).then(|| selection.clone()),
            ..process::header(self.backend, device, self.start_unix_ns)
        };
        match CaptureWriter::create(folder, &header) {
            Ok(capture) => CaptureState::Open(capture.with_clock(self.start)),
            Err(error) => {
                self.fault(error);
                CaptureState::Closed
            }
        }
    }
}
