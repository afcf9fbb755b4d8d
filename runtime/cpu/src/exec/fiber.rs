//! Fibers: CUDA threads with their own stacks, which can wait in the middle of a kernel.

use crate::mapping::{Mapping, PAGE_BYTES};
use corosensei::stack::{Stack, StackPointer};
use corosensei::{Coroutine, Yielder};
use std::io::Error;
use std::sync::Arc;

/// Size of the inaccessible memory below a stack, larger than most functions' frames.
pub const GUARD_BYTES: usize = 16 * PAGE_BYTES;
pub const DEFAULT_STACK_BYTES: usize = 256 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The thread waits for the event that its state in the CTA specifies.
    Waiting,
    /// The thread polls in a loop, so other warps run first.
    Yielded,
    /// The loop over a warp's threads has reached a barrier or the end of the kernel.
    WarpDone,
    LogFull,
    /// The CUDA thread has exited in the middle of a function.
    Exit,
    /// The kernel failed; the worker's `failure` describes the cause.
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Returned,
    /// A signal handler stopped the fiber.
    Fault,
}

pub type FiberYielder = Yielder<(), Pause>;
/// A CUDA thread, or the loop over the threads of a CTA.
pub type Fiber = Coroutine<(), Pause, End, FiberStack>;

/// A stack, with a guard below it unless there are too many stacks.
#[derive(Debug)]
pub struct FiberStack {
    /// Shared by the stacks of a slab.
    _mapping: Arc<Mapping>,
    /// Lowest address (including the guard), and one past the highest.
    ends: (usize, usize),
    /// Number of unused bytes at the top, so that the hot ends of many stacks do not share the same cache sets.
    colour_bytes: usize,
}

// SAFETY: the guard, if there is one, is inaccessible and belongs to the mapping; the usable part is at least 16 pages;
// base and limit are multiples of 64.
unsafe impl Stack for FiberStack {
    fn base(&self) -> StackPointer {
        StackPointer::new(self.ends.1 - self.colour_bytes).unwrap_or(StackPointer::MIN)
    }

    fn limit(&self) -> StackPointer {
        StackPointer::new(self.ends.0).unwrap_or(StackPointer::MIN)
    }
}

impl FiberStack {
    fn new(usable_bytes: usize, number: usize) -> Result<Self, Error> {
        let mapping = Mapping::reserve(usable_bytes + GUARD_BYTES)?;
        mapping.open(GUARD_BYTES, mapping.bytes() - GUARD_BYTES)?;
        let ends = (mapping.base() as usize, mapping.end() as usize);
        Ok(FiberStack::part(Arc::new(mapping), ends, number))
    }

    fn part(mapping: Arc<Mapping>, ends: (usize, usize), number: usize) -> Self {
        FiberStack {
            _mapping: mapping,
            ends,
            colour_bytes: number % 16 * 320,
        }
    }
}

#[derive(Debug)]
pub struct StackPool {
    free: Vec<FiberStack>,
    created: usize,
    stack_bytes: usize,
    /// Number of stacks allocated together. If this is more than one, they have no guards, since the number of mappings
    /// is limited.
    pub slab: usize,
}

impl StackPool {
    /// Rounds `stack_bytes` up to whole pages, and to at least 64 KiB.
    pub fn new(stack_bytes: usize) -> Self {
        StackPool {
            free: Vec::new(),
            created: 0,
            stack_bytes: stack_bytes.max(64 << 10).next_multiple_of(PAGE_BYTES),
            slab: 1,
        }
    }

    /// Raises the minimum stack size; no stack may be in use.
    pub fn set_min_bytes(&mut self, bytes: usize) {
        if bytes > self.stack_bytes {
            self.free.clear();
            self.stack_bytes = bytes.next_multiple_of(PAGE_BYTES);
        }
    }

    fn add_slab(&mut self) -> Result<(), Error> {
        let bytes = self.stack_bytes + GUARD_BYTES;
        let mapping = Arc::new(Mapping::new(bytes * self.slab)?.with_small_pages());
        let first = mapping.base() as usize;
        for number in 0..self.slab {
            let ends = (first + number * bytes, first + (number + 1) * bytes);
            let stack = FiberStack::part(mapping.clone(), ends, number);
            self.free.push(stack);
        }
        self.created += self.slab;
        Ok(())
    }

    pub fn take(&mut self) -> Result<FiberStack, Error> {
        if self.free.is_empty() && self.slab > 1 {
            self.add_slab()?;
        }
        if let Some(stack) = self.free.pop() {
            return Ok(stack);
        }
        self.created += 1;
        FiberStack::new(self.stack_bytes, self.created)
    }

    /// Reclaims the stack of a fiber, wherever it stopped.
    ///
    /// # Safety
    /// The fiber's stack must not contain anything that needs to be dropped.
    pub unsafe fn reclaim(&mut self, mut fiber: Fiber) {
        if !fiber.done() {
            // SAFETY: this function's contract requires that nothing on the stack needs to be dropped.
            unsafe { fiber.force_reset() };
        }
        self.free.push(fiber.into_stack());
    }
}

/// Returns whether each of `stacks` stacks can have its own mapping and guard.
pub fn can_have_guards(stacks: usize, max_mappings: usize) -> bool {
    stacks <= max_mappings / 8
}

/// Returns how many of `workers` may run CTAs of `threads_per_cta` fibers concurrently. Their stacks use at most a
/// quarter of the process's memory mappings; the rest is for the program and for stacks of earlier launches.
pub fn workers_for(workers: usize, threads_per_cta: usize, max_mappings: usize) -> usize {
    // A stack needs two mappings: one for itself and one for its guard.
    (max_mappings / 4 / (2 * threads_per_cta.max(1))).clamp(1, workers.max(1))
}

#[cfg(test)]
mod tests;
