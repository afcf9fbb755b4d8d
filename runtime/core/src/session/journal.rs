//! The session's journal, from which a summary is made if a program ends without its exit handlers.

use super::report::FAULT_PATIENCE;
use super::{JournalState, Session};
use crate::RuntimeError;
use crate::process::path_of;
use std::path::PathBuf;
use superstep_trace::{Journal, Process, Summary};

impl Session {
    /// Writes to the journal, which is opened first. Gives up a journal that cannot be written: most programs leave a summary.
    /// Fit for fault handlers.
    pub(super) fn note(&self, make: impl FnOnce(&mut Journal) -> std::io::Result<()>) {
        let Some(mut state) = self.journal.try_lock_for(FAULT_PATIENCE) else {
            return;
        };
        if matches!(*state, JournalState::Unopened) {
            *state = match self.begin_journal() {
                Some(journal) => JournalState::Open(journal),
                None => JournalState::Closed,
            };
        }
        if let JournalState::Open(journal) = &mut *state
            && make(journal).is_err()
        {
            *state = JournalState::Closed;
        }
    }

    /// Ends the journal, after the summary was written or if this process leaves none.
    pub(super) fn end_journal(&self) -> Result<(), RuntimeError> {
        let state = self.journal.try_lock_for(FAULT_PATIENCE);
        let mut state = state.ok_or(RuntimeError::Busy {
            action: "end the journal",
        })?;
        if let JournalState::Open(journal) = std::mem::replace(&mut *state, JournalState::Closed) {
            // It may stay: a summary takes precedence.
            let _ = journal.remove();
        }
        Ok(())
    }

    fn begin_journal(&self) -> Option<Journal> {
        let place = self.config.summary.as_ref()?;
        self.settle();
        let summary = Summary {
            device: self.device(),
            process: Some(self.identity.process()),
            ..Summary::new(self.backend)
        };
        Journal::create(&self.identity.path(place), summary).ok()
    }

    /// Gives this process its own name, before it writes anything.
    pub(super) fn settle(&self) {
        let leaves = |process: &Process| -> Vec<PathBuf> {
            let of = |path: &Option<PathBuf>| path_of(path.as_deref()?, process);
            let summary = of(&self.config.summary);
            let journal = summary.as_deref().map(Journal::beside);
            let all = [of(&self.config.capture), summary, journal];
            all.into_iter().flatten().collect()
        };
        self.identity
            .settle(|process| leaves(process).iter().any(|path| path.exists()));
    }
}
