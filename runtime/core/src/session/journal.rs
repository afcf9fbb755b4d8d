//! The session's journal, from which the harness reads the summary of the run.

use super::report::{FAULT_PATIENCE, say};
use super::{JournalState, Session};
use crate::RuntimeError;
use crate::process::path_of;
use std::path::PathBuf;
use superstep_trace::{Journal, Process, Summary, TraceError};

impl Session {
    /// Writes to the journal, opening it if needed and closing it after an error. May be called by fault handlers.
    pub(super) fn note(&self, make: impl FnOnce(&mut Journal) -> Result<(), TraceError>) {
        let Some(mut state) = self.journal.try_lock_for(FAULT_PATIENCE) else {
            return;
        };
        if matches!(*state, JournalState::Unopened) {
            *state = match self.begin_journal() {
                Some(Ok(journal)) => JournalState::Open(journal),
                None => JournalState::Closed,
                Some(Err(error)) => {
                    say(format_args!("error: {error}"));
                    JournalState::Closed
                }
            };
        }
        if let JournalState::Open(journal) = &mut *state
            && let Err(error) = make(journal)
        {
            say(format_args!("error: {error}"));
            *state = JournalState::Closed;
        }
    }

    pub(super) fn remove_journal(&self) -> Result<(), RuntimeError> {
        let state = self.journal.try_lock_for(FAULT_PATIENCE);
        let mut state = state.ok_or(RuntimeError::Busy {
            action: "remove the journal",
        })?;
        if let JournalState::Open(journal) = std::mem::replace(&mut *state, JournalState::Closed) {
            // A leftover journal does no harm: the harness ignores processes without launches.
            let _ = journal.remove();
        }
        Ok(())
    }

    fn begin_journal(&self) -> Option<Result<Journal, TraceError>> {
        let place = self.config.summary.as_ref()?;
        self.settle();
        let summary = Summary {
            device: self.device(),
            process: Some(self.identity.process()),
            ..Summary::new(self.backend)
        };
        Some(Journal::create(self.identity.path(place), summary))
    }

    /// Gives this process a unique name, before it writes anything.
    pub(super) fn settle(&self) {
        let leaves = |process: &Process| -> Vec<PathBuf> {
            let of = |path: &Option<PathBuf>| path_of(path.as_deref()?, process);
            let all = [of(&self.config.capture), of(&self.config.summary)];
            all.into_iter().flatten().collect()
        };
        self.identity
            .settle(|process| leaves(process).iter().any(|path| path.exists()));
    }
}
