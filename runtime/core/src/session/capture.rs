//! The session's capture, which the first event opens and the first failure closes.

use super::{Output, Session, State};
use crate::{RuntimeError, process};
use std::sync::atomic::Ordering;
use superstep_trace::{CaptureWriter, Event, Header, Outcome, TraceError};

impl Session {
    pub(super) fn end_capture(&self, outcome: &Outcome) -> Result<(), RuntimeError> {
        let mut state = self.patient_lock("end the capture")?;
        state.outcome = None;
        // A program without events leaves an empty capture.
        self.with_capture(&mut state, |_| Ok(()));
        state.outcome = Some(outcome.clone());
        self.has_ended.store(true, Ordering::Release);
        match &state.capture {
            Output::Open(capture) => Ok(capture.finish(outcome)?),
            _ => Ok(()),
        }
    }

    pub(super) fn event(&self, state: &mut State, event: &Event) {
        self.with_capture(state, |capture| capture.event(event));
    }

    /// Opens the capture if needed, adds new modules, runs `write`, and, if the capture had ended, ends it again. A
    /// failure closes it and reports a fault.
    pub(super) fn with_capture<T>(
        &self,
        state: &mut State,
        write: impl FnOnce(&CaptureWriter) -> Result<T, TraceError>,
    ) -> Option<T> {
        if matches!(state.capture, Output::Unopened) {
            state.capture = self.open_capture().map_or(Output::Closed, Output::Open);
        }
        let Output::Open(capture) = &state.capture else {
            state.early.clear();
            return None;
        };
        let registered = self.registry.count();
        let mut result = Ok(());
        if state.modules_written < registered {
            let new = self.registry.from(state.modules_written);
            result = new.iter().try_for_each(|module| capture.module(module));
            state.modules_written = registered;
        }
        for event in state.early.drain(..) {
            result = result.and_then(|()| capture.event(&event));
        }
        let written = result.and_then(|()| write(capture));
        let ended = match &state.outcome {
            Some(outcome) => capture.finish(outcome),
            None => Ok(()),
        };
        let close = |error| {
            state.capture = Output::Closed;
            self.fault(error);
        };
        let written = written.and_then(|value| ended.map(|()| value));
        written.map_err(close).ok()
    }

    /// Returns whether this is a forked process without launches, which writes nothing.
    pub(super) fn is_idle_fork(&self) -> bool {
        self.identity.is_fork()
            && !self.has_faults()
            && self
                .patient_lock("determine what the process did")
                .is_ok_and(|state| state.launches == 0 && !state.has_opaque_launches)
    }

    pub(super) fn remove_capture(&self) -> Result<(), RuntimeError> {
        let mut state = self.patient_lock("remove the capture")?;
        if let Output::Open(capture) = std::mem::replace(&mut state.capture, Output::Closed) {
            // A capture that cannot be removed does no harm.
            let _ = std::fs::remove_dir_all(capture.folder());
        }
        Ok(())
    }

    fn open_capture(&self) -> Option<CaptureWriter> {
        let path = self.config.capture.as_ref()?;
        self.settle();
        let folder = self.identity.path(path);
        let selection = &self.config.selection;
        let header = Header {
            sources: self.config.sources.clone(),
            selection: (!selection.is_everything()).then(|| selection.clone()),
            process: Some(self.identity.process()),
            cta_blocks: self.cta_blocks(),
            ..process::header(self.backend, self.device(), self.start_unix_ns)
        };
        let capture = CaptureWriter::create(folder, &header);
        let capture = capture.map_err(|error| self.fault(error)).ok()?;
        Some(capture.with_clock(self.start))
    }
}
