//! Contents of shadow memory, and how it gives way: the program must find all the device memory that it would have without it.

use super::layout::{BLOCK_SHIFT, Context, UNKNOWN};
use super::shadow::Piece;
use super::{InSitu, OnDevice};
use crate::cuda::device::current_device;
use crate::cuda::memory::{self, device_words, free_and_total, free_device_memory, words_of};
use crate::cuda::{CudaError, Status, driver};
use crate::recorder::RecordError;
use crate::recorder::runtime::{runtime, session};

impl InSitu {
    /// Frees shadow memory for the program, which found no `bytes` of device memory; returns whether there was any.
    pub fn make_room(&self, bytes: usize) -> bool {
        // A capture forbids waiting.
        if !self.is_used() || runtime().graphs.is_capturing() {
            return false;
        }
        let Some(device) = self.devices.lock().get(&current_device()).cloned() else {
            return false;
        };
        let given = device.give_back_idle().and_then(|is_done| {
            if is_done {
                return Ok(true);
            }
            device.give_up_a_piece(bytes)
        });
        given.unwrap_or_else(|error| {
            session().warning(format!("failed to give shadow memory back: {error}"));
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
        self.shared.lock().shadow.allocated(address, bytes);
        let covered = match self.cover(address, bytes) {
            Err(_) if matches!(self.give_back_idle(), Ok(true)) => self.cover(address, bytes),
            covered => covered,
        };
        // As far as it is covered. Until then no other thread may free the pieces.
        let shared = self.shared.lock();
        // The rest of an allocation's last word belongs to no other.
        fill_alone(&shared.shadow.fills(address, bytes, pattern, pattern))?;
        covered
    }

    fn cover(&self, address: u64, bytes: u64) -> Result<(), RecordError> {
        let shared = &mut *self.shared.lock();
        let mut new = Vec::new();
        let covered = shared.shadow.cover(address, bytes, &mut new);
        if !new.is_empty() {
            let fills: Vec<_> = new.into_iter().map(|piece| (piece, UNKNOWN)).collect();
            fill_alone(&fills)?;
            self.publish(shared)?;
        }
        covered
    }

    fn publish(&self, shared: &mut super::Shared) -> Result<(), RecordError> {
        let table = shared.shadow.table()?;
        let words: Vec<u64> = (table.iter())
            .flat_map(|place| [place.number, place.lines, place.shadow, place.unused])
            .collect();
        // Kernels that run now may still read the old table, which stays.
        shared.context.blocks = device_words(&words)?;
        shared.context.block_mask = table.len() as u64 - 1;
        Ok(self.write_context(&shared.context)?)
    }

    pub(super) fn write_context(&self, context: &Context) -> Result<(), CudaError> {
        // SAFETY: the structure is plain data of whole words.
        driver::write(self.context, unsafe { words_of(context) })
    }

    /// Frees the shadow of memory that the program has freed; returns whether there was any.
    fn give_back_idle(&self) -> Result<bool, RecordError> {
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

    /// Gives up all shadow memory; returns whether there was any. Where launches have not ended, it stays allocated: they might wait for
    /// the host.
    pub(super) fn give_up_all(&self, have_ended: bool) -> Result<bool, RecordError> {
        let shared = &mut *self.shared.lock();
        let pieces = shared.shadow.take_all();
        if !pieces.is_empty() {
            self.publish(shared)?;
            if have_ended {
                free(&pieces)?;
            }
        }
        Ok(!pieces.is_empty())
    }

    /// Gives up the largest piece if the program can then have `bytes`; returns whether it did.
    fn give_up_a_piece(&self, bytes: usize) -> Result<bool, RecordError> {
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
            "the program needs {bytes} bytes of device memory, so {} bytes of shadow memory were given back; what kernels load from {from:#x} to {to:#x} counts as unknown",
            piece.bytes()
        ));
        Ok(true)
    }
}

/// Fills pieces of memory, each with a pattern, in a stream of their own, and waits for it.
pub fn fill_alone(fills: &[((u64, u64), u8)]) -> Result<(), CudaError> {
    driver::alone("fill shadow memory", |stream| {
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
        // SAFETY: no kernel of the recorder's runs, and the table no longer leads there.
        let freed = unsafe { free_device_memory(piece.memory) };
        freed.check("give shadow memory back")?;
    }
    Ok(())
}
