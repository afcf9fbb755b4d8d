//! The session's journal, from which the harness reads the summary of the run.

use super::report::{FAULT_PATIENCE, say};
use super::{Output, Session};
use crate::RuntimeError;
use crate::process::path_of;
use superstep_trace::{Journal, Summary, TraceError};

impl Session {
    /// Writes to the journal, opening it if needed and closing it after an error. Fault handlers can call this.
    pub(super) fn note(&self, write: impl FnOnce(&mut Journal) -> Result<(), TraceError>) {
        let Some(mut state) = self.journal.try_lock_for(FAULT_PATIENCE) else {
            return;
        };
        if matches!(*state, Output::Unopened) {
            *state = self.open_journal().map_or(Output::Closed, Output::Open);
        }
        if let Output::Open(journal) = &mut *state
            && let Err(error) = write(journal)
        {
            say(format_args!("error: {error}"));
            *state = Output::Closed;
        }
    }

    pub(super) fn remove_journal(&self) -> Result<(), RuntimeError> {
        let state = self.journal.try_lock_for(FAULT_PATIENCE);
        let mut state = state.ok_or(RuntimeError::Busy {
            action: "remove the journal",
        })?;
        if let Output::Open(journal) = std::mem::replace(&mut *state, Output::Closed) {
            // A leftover journal does no harm: the harness ignores processes without launches.
            let _ = journal.remove();
        }
        Ok(())
    }

    fn open_journal(&self) -> Option<Journal> {
        let path = self.config.summary.as_ref()?;
        self.settle();
        let summary = Summary {
            device: self.device(),
            process: Some(self.identity.process()),
            ..Summary::new(self.backend)
        };
        let journal = Journal::create(self.identity.path(path), summary);
        let report = |error| say(format_args!("error: {error}"));
        journal.map_err(report).ok()
    }

    /// Gives this process a unique name before it writes anything.
    pub(super) fn settle(&self) {
        let outputs = [&self.config.capture, &self.config.summary];
        self.identity.settle(|process| {
            let paths = outputs.map(|path| path_of(path.as_deref()?, process));
            paths.iter().flatten().any(|path| path.exists())
        });
    }
}
