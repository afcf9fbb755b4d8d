//! The traced launches of a stream, in order, each with its phase.
//!
//! Used by the launching thread, the stream (through host functions or the device's count of launches), the consumers,
//! and the monitor, which looks for faults. None of them holds the lock while calling CUDA or writing a file.

use super::signals::{OPEN_LAUNCHES, PROGRESS, wait_while};
use crate::cuda::Event;
use crate::recorder::stream::rings::Ended;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use superstep_runtime_core::ActiveLaunch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The launch is in the stream and has not begun.
    Queued,
    /// The kernel may be running.
    Running,
    /// The kernel has ended, but its last records are still in the bins.
    Finished,
    /// The device has stopped with an error.
    Faulted,
}

pub struct Ticket {
    pub active: ActiveLaunch,
    /// Events recorded before and after the kernel.
    pub events: [Option<Event>; 2],
    /// Queried for device errors. Recorded when the whole launch is in the stream. Launches of a CUDA graph share it.
    pub fault_event: Option<Event>,
    /// Index of the launch among all those pushed to the queue, starting at 0.
    pub serial: u64,
    phase: Mutex<Phase>,
    submitted: AtomicBool,
    failure: OnceLock<String>,
    refused: AtomicBool,
}

impl Ticket {
    pub fn phase(&self) -> Phase {
        *self.phase.lock()
    }

    /// Returns whether the whole launch is in the stream, so that its last event is meaningful.
    pub fn is_submitted(&self) -> bool {
        self.submitted.load(Ordering::Acquire)
    }

    pub fn failure(&self) -> Option<String> {
        self.failure.get().cloned()
    }

    /// Marks a launch that CUDA rejected. Nothing runs, and the program gets the error.
    pub fn refuse(&self, reason: String) {
        self.refused.store(true, Ordering::Release);
        self.fail(reason);
    }

    pub fn was_refused(&self) -> bool {
        self.refused.load(Ordering::Acquire)
    }

    /// Records why the launch failed, unless a reason has already been recorded.
    pub fn fail(&self, reason: String) {
        let _ = self.failure.set(reason);
    }
}

#[derive(Default)]
struct State {
    launches: VecDeque<Arc<Ticket>>,
    next_serial: u64,
    sleepers: usize,
    closing: bool,
}

#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    progress: AtomicU64,
    ended: Option<Ended>,
}

impl Queue {
    /// Creates a queue for launches whose completion the device counts.
    pub fn counted(ended: Ended) -> Self {
        Queue {
            ended: Some(ended),
            ..Queue::default()
        }
    }

    /// Adds a launch before any part of it is in the stream.
    pub fn push(
        &self,
        active: ActiveLaunch,
        events: [Option<Event>; 2],
        fault_event: Option<Event>,
    ) -> Arc<Ticket> {
        let mut state = self.state.lock();
        let ticket = Arc::new(Ticket {
            active,
            events,
            fault_event,
            serial: state.next_serial,
            phase: Mutex::new(Phase::Queued),
            submitted: AtomicBool::new(false),
            failure: OnceLock::new(),
            refused: AtomicBool::new(false),
        });
        state.next_serial += 1;
        state.launches.push_back(ticket.clone());
        OPEN_LAUNCHES.fetch_add(1, Ordering::AcqRel);
        let wake = state.sleepers > 0;
        drop(state);
        if wake {
            self.changed.notify_all();
        }
        ticket
    }

    /// Returns at most `limit` launches, starting with launch `serial`.
    pub fn from(&self, serial: u64, limit: usize) -> Vec<Arc<Ticket>> {
        let state = self.state.lock();
        let first = state.launches.front().map_or(serial, |first| first.serial);
        let skipped = serial.saturating_sub(first) as usize;
        let launches = state.launches.iter().skip(skipped).take(limit);
        launches.cloned().collect()
    }

    /// Sleeps until launch `serial` is pushed or the queue closes, but for at most `patience`.
    pub fn sleep_until(&self, serial: u64, patience: Duration) {
        let mut state = self.state.lock();
        state.sleepers += 1;
        let waiting = |state: &mut State| !state.closing && state.next_serial <= serial;
        self.changed.wait_while_for(&mut state, waiting, patience);
        state.sleepers -= 1;
    }

    /// Returns whether a launch whose completion the device counts has completed or faulted.
    pub fn is_over(&self, ticket: &Ticket) -> bool {
        self.ended
            .is_some_and(|ended| ended.launches() > ticket.serial)
            || ticket.phase() == Phase::Faulted
    }

    fn advance(&self, ticket: &Ticket, phase: Phase) {
        let state = self.state.lock();
        // A faulted launch stays faulted, regardless of what the stream does afterwards.
        if ticket.phase() != Phase::Faulted {
            *ticket.phase.lock() = phase;
        }
        drop(state);
        self.changed.notify_all();
    }

    pub fn submitted(&self, ticket: &Ticket) {
        ticket.submitted.store(true, Ordering::Release);
    }

    /// Records that the stream has reached the kernel.
    pub fn started(&self, ticket: &Ticket) {
        self.advance(ticket, Phase::Running);
    }

    /// Records the kernel's end and waits until all of the kernel's records have been taken.
    pub fn finished(&self, ticket: &Ticket) {
        self.advance(ticket, Phase::Finished);
        let is_same = |other: &Arc<Ticket>| std::ptr::eq(other.as_ref(), ticket);
        let waiting = |state: &mut State| state.launches.iter().any(is_same);
        self.changed.wait_while(&mut self.state.lock(), waiting);
    }

    /// Removes a launch that has not entered the stream. Must not be used if the device counts completed launches.
    pub fn cancel(&self, ticket: &Ticket) {
        let mut state = self.state.lock();
        let old_count = state.launches.len();
        let is_other = |other: &Arc<Ticket>| !std::ptr::eq(other.as_ref(), ticket);
        state.launches.retain(is_other);
        self.done(old_count - state.launches.len());
        drop(state);
        self.changed.notify_all();
    }

    /// Marks all launches in the stream as faulted after a device error.
    pub fn fault(&self, reason: &str) {
        let state = self.state.lock();
        for (index, ticket) in state.launches.iter().enumerate() {
            let began = match self.ended.map(|ended| ended.launches()) {
                Some(ended) if ticket.serial < ended => continue,
                Some(ended) => ticket.serial == ended,
                None => index == 0 && ticket.phase() != Phase::Queued,
            };
            if began {
                ticket.fail(reason.to_owned());
            } else {
                ticket.fail(format!("did not run: {reason}"));
            }
            *ticket.phase.lock() = Phase::Faulted;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Returns the oldest launch. Waits up to `patience` while there is none or it has not begun.
    pub fn front(&self, patience: Duration) -> Option<Arc<Ticket>> {
        let waiting = |state: &mut State| {
            !state.closing
                && state
                    .launches
                    .front()
                    .is_none_or(|ticket| ticket.phase() == Phase::Queued)
        };
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, waiting, patience);
        state.launches.front().cloned()
    }

    /// Counts `number` launches as completely written or cancelled.
    pub fn done(&self, number: usize) {
        OPEN_LAUNCHES.fetch_sub(number as i64, Ordering::AcqRel);
    }

    pub fn peek(&self) -> Option<Arc<Ticket>> {
        self.state.lock().launches.front().cloned()
    }

    /// Waits for `pause`, or until `ticket` is no longer running.
    pub fn nap(&self, ticket: &Ticket, pause: Duration) {
        let waiting = |state: &mut State| !state.closing && ticket.phase() == Phase::Running;
        self.changed
            .wait_while_for(&mut self.state.lock(), waiting, pause);
    }

    /// Removes the `number` oldest launches, which have been completely written.
    pub fn pop(&self, number: usize) {
        if number > 0 {
            let mut state = self.state.lock();
            let number = number.min(state.launches.len());
            state.launches.drain(..number);
            drop(state);
            self.record_progress();
            self.changed.notify_all();
        }
    }

    /// Records that the stream has made progress.
    pub fn record_progress(&self) {
        self.progress.fetch_add(1, Ordering::Relaxed);
        PROGRESS.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns a number that changes whenever the stream makes progress.
    pub fn progress(&self) -> u64 {
        self.progress.load(Ordering::Relaxed)
    }

    /// Waits until no launch is left. Returns `false` after `stall` without progress.
    pub fn wait_until_empty(&self, stall: Duration) -> bool {
        wait_while(|| self.peek().is_some(), || self.progress(), stall)
    }

    pub fn close(&self) {
        self.state.lock().closing = true;
        self.changed.notify_all();
    }

    pub fn is_closing(&self) -> bool {
        self.state.lock().closing
    }
}
