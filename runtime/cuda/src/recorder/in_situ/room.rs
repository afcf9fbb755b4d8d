//! Fills shadow memory, and frees it when the program runs out of device memory.

use super::layout::{BLOCK_SHIFT, Context, UNKNOWN};
use super::shadow::Piece;
use super::{InSitu, OnDevice};
use crate::cuda::device::current_device;
use crate::cuda::memory::{self, device_words, free_and_total, free_device_memory, words_of};
use crate::cuda::{CudaError, Status};
use crate::recorder::RecordError;
use crate::recorder::runtime::{runtime, session};
use std::slice::from_ref;

impl InSitu {
    /// Frees shadow memory for the program, which failed to allocate `bytes` of device memory; returns whether any was
    /// freed.
    pub fn make_room(&self, bytes: usize) -> bool {
        // Waiting would invalidate a capture.
        if !self.is_used() || runtime().graphs.is_capturing() {
            return false;
        }
        let Some(device) = self.devices.lock().get(&current_device()).cloned() else {
            return false;
        };
        let freed = match device.free_idle() {
            Ok(false) => device.free_largest(bytes),
            freed => freed,
        };
        freed.unwrap_or_else(|error| {
            session().warning(format!("failed to free shadow memory: {error}"));
            false
        })
    }
}

impl OnDevice {
    pub(super) fn allocated(
        &self,
        address: u64,
        bytes: u64,
        pattern: u8,
    ) -> Result<(), RecordError> {
        self.shared.lock().shadow.live.insert(address, bytes);
        let covered = match self.cover(address, bytes) {
            Err(_) if matches!(self.free_idle(), Ok(true)) => self.cover(address, bytes),
            covered => covered,
        };
        // Fills the covered part. The lock keeps other threads from freeing the pieces in the meantime.
        let shared = self.shared.lock();
        // The rest of an allocation's last word belongs to no other allocation.
        fill_and_wait(&shared.shadow.fills(address, bytes, pattern, pattern))?;
        covered
    }

    fn cover(&self, address: u64, bytes: u64) -> Result<(), RecordError> {
        let shared = &mut *self.shared.lock();
        let mut new = Vec::new();
        let covered = shared.shadow.cover(address, bytes, &mut new);
        if !new.is_empty() {
            let fills: Vec<_> = new.into_iter().map(|piece| (piece, UNKNOWN)).collect();
            fill_and_wait(&fills)?;
            self.publish(shared)?;
        }
        covered
    }

    fn publish(&self, shared: &mut super::Shared) -> Result<(), RecordError> {
        let table = shared.shadow.table()?;
        // The old table is not freed, since running kernels may still read it. SAFETY: the blocks are plain data
        // consisting of whole words.
        shared.context.blocks = device_words(unsafe { words_of(&table) })?;
        shared.context.block_mask = table.len() as u64 - 1;
        Ok(self.write_context(&shared.context)?)
    }

    pub(super) fn write_context(&self, context: &Context) -> Result<(), CudaError> {
        // SAFETY: the structure is plain data consisting of whole words.
        memory::write(self.context, unsafe { words_of(from_ref(context)) })
    }

    /// Frees the shadow of memory that the program has freed; returns whether there was any.
    fn free_idle(&self) -> Result<bool, RecordError> {
        let order = self.order.lock();
        let shared = &mut *self.shared.lock();
        let idle = shared.shadow.take_idle();
        if !idle.is_empty() {
            order.wait()?;
            self.publish(shared)?;
            free(&idle)?;
        }
        Ok(!idle.is_empty())
    }

    /// Discards all shadow memory; returns whether there was any. Frees it only if `all_ended`, since launches that are
    /// still running may be waiting for the host.
    pub(super) fn discard_all(&self, all_ended: bool) -> Result<bool, RecordError> {
        let shared = &mut *self.shared.lock();
        let pieces = shared.shadow.take_all();
        if !pieces.is_empty() {
            self.publish(shared)?;
            if all_ended {
                free(&pieces)?;
            }
        }
        Ok(!pieces.is_empty())
    }

    /// Discards the largest piece if freeing shadow memory can make room for `bytes`; returns whether it did.
    fn free_largest(&self, bytes: usize) -> Result<bool, RecordError> {
        let order = self.order.lock();
        let shared = &mut *self.shared.lock();
        let (free_bytes, _) = free_and_total()?;
        if free_bytes as u64 + shared.shadow.bytes() < bytes as u64 {
            return Ok(false);
        }
        let Some((first, piece)) = shared.shadow.take_largest() else {
            return Ok(false);
        };
        order.wait()?;
        self.publish(shared)?;
        free(&[piece])?;
        let (from, to) = (first << BLOCK_SHIFT, (first + piece.blocks) << BLOCK_SHIFT);
        session().warning(format!(
            "the program needs {bytes} bytes of device memory, so {} bytes of shadow memory were freed; loads from {from:#x} to {to:#x} count as unknown",
            piece.bytes()
        ));
        Ok(true)
    }
}

/// Fills pieces of memory, each with its pattern, in a separate stream, and waits for completion.
pub fn fill_and_wait(fills: &[((u64, u64), u8)]) -> Result<(), CudaError> {
    memory::alone("fill shadow memory", |stream| {
        fills
            .iter()
            .map(|&((address, bytes), pattern)| {
                // SAFETY: the piece is `bytes` bytes of the recorder's device memory.
                unsafe { memory::fill(address, pattern, bytes as usize, stream) }
            })
            .max()
            .unwrap_or(Status::SUCCESS)
    })
}

fn free(pieces: &[Piece]) -> Result<(), CudaError> {
    for piece in pieces {
        // SAFETY: no recorded kernel is running, and the table no longer contains the piece.
        let freed = unsafe { free_device_memory(piece.memory) };
        freed.check("free shadow memory")?;
    }
    Ok(())
}
