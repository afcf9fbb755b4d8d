//! Faults, warnings, and the end of the run.

use super::{Messages, Session, State};
use crate::{RuntimeError, is_used_fork};
use parking_lot::MutexGuard;
use std::sync::atomic::Ordering;
use std::time::Duration;
use superstep_trace::{Event, Gap, Note, Outcome, Probe, Transport};

/// Maximum time that a fault handler waits for a lock that the faulting thread might hold.
pub(super) const FAULT_PATIENCE: Duration = Duration::from_secs(2);
const MAX_MESSAGES: usize = 100;

impl Session {
    /// Records and prints an error that invalidates the run. Fault handlers can call this.
    pub fn fault(&self, text: impl std::fmt::Display) {
        let text = text.to_string();
        say(format_args!("error: {text}"));
        if self.keep(|messages| &mut messages.faults, text.clone()) {
            self.note(|journal| journal.add(Note::Fault(text)));
            // A caller that holds the lock ends the run again itself.
            if self.state.try_lock().is_some() {
                self.end_again();
            }
        }
    }

    /// Records and prints a warning, once.
    pub fn warning(&self, text: impl std::fmt::Display) {
        let text = text.to_string();
        if self.keep(|messages| &mut messages.warnings, text.clone()) {
            say(format_args!("warning: {text}"));
            self.note(|journal| journal.add(Note::Warning(text)));
        }
    }

    /// Records a gap in the capture: something that the program did is missing.
    pub fn gap(&self, gap: Gap) {
        self.event(&mut self.state.lock(), &Event::Gap(gap));
    }

    pub fn transport(&self, transport: Transport) {
        self.event(&mut self.state.lock(), &Event::Transport(transport));
    }

    /// Counts records that did not reach the capture.
    pub fn records_lost(&self, records: u64) {
        self.note(|journal| journal.add(Note::RecordsLost(records)));
    }

    /// Counts accesses outside any allocation.
    pub fn bad_addresses(&self, accesses: u64) {
        self.note(|journal| journal.add(Note::BadAddresses(accesses)));
    }

    pub fn has_faults(&self) -> bool {
        self.messages
            .try_lock_for(FAULT_PATIENCE)
            .is_none_or(|messages| !messages.faults.is_empty())
    }

    /// Ends the capture and the journal. Fault handlers can call this, and it can be called more than once; after later
    /// events, the capture is ended again.
    pub fn finish(&self, outcome: &Outcome) -> Result<(), RuntimeError> {
        if is_used_fork() {
            return Ok(());
        }
        if self.is_idle_fork() {
            return self.remove_capture().and(self.remove_journal());
        }
        let ended = self.end_capture(outcome);
        if let Err(error) = &ended {
            self.fault(error);
        }
        // A run without probed launches leaves an empty results folder.
        self.add_results(|_| Ok(()));
        let counted = self.registry.probe() == Probe::Count;
        self.note(|journal| journal.add(Note::End { counted }));
        ended
    }

    /// Calls [`finish`](Self::finish) at the program's exit, with an outcome that depends on the faults so far.
    pub fn finish_at_exit(&self) {
        let fault = self
            .messages
            .try_lock_for(FAULT_PATIENCE)
            .and_then(|messages| messages.faults.first().cloned());
        let outcome = fault.map_or(Outcome::Finished, Outcome::Failed);
        if let Err(error) = self.finish(&outcome) {
            say(format_args!("error: {error}"));
        }
    }

    /// Ends the run again if it has ended.
    pub(super) fn end_again(&self) {
        if self.has_ended.load(Ordering::Acquire) {
            self.finish_at_exit();
        }
    }

    pub(super) fn patient_lock(
        &self,
        action: &'static str,
    ) -> Result<MutexGuard<'_, State>, RuntimeError> {
        self.state
            .try_lock_for(FAULT_PATIENCE)
            .ok_or(RuntimeError::Busy { action })
    }

    /// Adds a message unless it already exists or there are too many; returns whether it was added.
    fn keep(&self, list: impl Fn(&mut Messages) -> &mut Vec<String>, text: String) -> bool {
        let Some(mut messages) = self.messages.try_lock_for(FAULT_PATIENCE) else {
            return false;
        };
        let list = list(&mut messages);
        let add = list.len() < MAX_MESSAGES && !list.contains(&text);
        if add {
            list.push(text);
        }
        add
    }
}

/// Prints to stderr. Unlike `eprintln!`, this does not panic if stderr is closed.
pub(super) fn say(message: std::fmt::Arguments<'_>) {
    let text = format_args!("superstep: {message}\n");
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), text);
}
