//! What lies in shadow memory, and how it gives way: the program must find all the device memory that it would find without it.

use super::layout::{BLOCK_SHIFT, Context, NOBODY_KNOWS};
use super::shadow::Piece;
use super::{InSitu, OnDevice};
use crate::cuda::device::{current_device, device_words, words_of};
use crate::cuda::driver::driver;
use crate::cuda::ffi;
use crate::cuda::real;
use crate::recorder::runtime::Runtime;
use std::ffi::{c_int, c_void};

impl InSitu {
    /// The program asks for `bytes` of device memory, and there are none. Answers whether shadow memory has made room for more.
    pub fn make_room(&self, runtime: &Runtime, bytes: usize) -> bool {
        // Nothing may be waited for while a stream is captured.
        if !self.is_wanted(runtime) || runtime.graphs.is_capturing() {
            return false;
        }
        let Some(device) = self.devices.lock().get(&current_device()).cloned() else {
            return false;
        };
        let given = device.give_back_idle().and_then(|is_done| match is_done {
            true => Ok(true),
            false => device.give_up_a_piece(runtime, bytes),
        });
        given.unwrap_or_else(|error| {
            (runtime.session).warning(format!("failed to give shadow memory back: {error}"));
            false
        })
    }
}

impl OnDevice {
    /// The program has new memory.
    pub(super) fn allocated(&self, address: u64, bytes: u64, pattern: u8) -> Result<(), String> {
        self.shared.lock().shadow.allocated(address, bytes);
        let covered = match self.cover(address, bytes) {
            Err(_) if self.give_back_idle() == Ok(true) => self.cover(address, bytes),
            covered => covered,
        };
        // As far as it came. Meanwhile no other thread may give the pieces back.
        let shared = self.shared.lock();
        // What lies behind an allocation in the same word is nobody's.
        fill_alone(&shared.shadow.fills(address, bytes, pattern, pattern))?;
        covered
    }

    fn cover(&self, address: u64, bytes: u64) -> Result<(), String> {
        let shared = &mut *self.shared.lock();
        let mut new = Vec::new();
        let covered = shared.shadow.cover(address, bytes, &mut new);
        if !new.is_empty() {
            let fills: Vec<_> = new.into_iter().map(|piece| (piece, NOBODY_KNOWS)).collect();
            fill_alone(&fills)?;
            self.publish(shared)?;
        }
        covered
    }

    /// Tells kernels where shadow memory lies from now on.
    fn publish(&self, shared: &mut super::Shared) -> Result<(), String> {
        let table = shared.shadow.table()?;
        let words: Vec<u64> = (table.places.iter())
            .flat_map(|place| [place.number, place.lines, place.shadow, place.unused])
            .collect();
        // Kernels that run now may still read the old table, which stays.
        shared.context.blocks = device_words(&words)?;
        shared.context.block_mask = table.places.len() as u64 - 1;
        self.write_context(&shared.context)
    }

    pub(super) fn write_context(&self, context: &Context) -> Result<(), String> {
        // SAFETY: the structure is plain data of whole words.
        driver()?.write(self.context, unsafe { words_of(context) })
    }

    /// Gives back what lies beside no memory of the program's any more; answers whether there was any.
    fn give_back_idle(&self) -> Result<bool, String> {
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

    /// Gives all shadow memory up; answers whether there was any. Where launches have not ended, it stays allocated: they might wait for
    /// the host.
    pub(super) fn give_up_all(&self, have_ended: bool) -> Result<bool, String> {
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

    /// Gives up the largest piece, where the program can then have `bytes`; answers whether there was one.
    fn give_up_a_piece(&self, runtime: &Runtime, bytes: usize) -> Result<bool, String> {
        let order = self.order.lock();
        let shared = &mut *self.shared.lock();
        let (free_bytes, _) = real::free_and_total()?;
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
        runtime.session.warning(format!(
            "the program needs {bytes} bytes of device memory, so {} bytes of shadow memory were given back; what kernels load from {from:#x} to {to:#x} counts as unknown",
            piece.bytes()
        ));
        Ok(true)
    }
}

/// Fills pieces of memory, each with a pattern, in a stream of their own, and waits for it.
pub fn fill_alone(fills: &[((u64, u64), u8)]) -> Result<(), String> {
    driver()?.alone("fill shadow memory", |stream| {
        fills
            .iter()
            .map(|&((address, bytes), pattern)| {
                let (to, value) = (address as *mut c_void, c_int::from(pattern));
                // SAFETY: the memory is ours, and so long.
                unsafe { real::memset_async(to, value, bytes as usize, stream) }
            })
            .max()
            .unwrap_or(ffi::SUCCESS)
    })
}

fn free(pieces: &[Piece]) -> Result<(), String> {
    for piece in pieces {
        // SAFETY: the memory is ours; no kernel runs, and the table no longer leads there.
        let error = unsafe { real::free(piece.memory as *mut c_void) };
        real::check(error, "give shadow memory back")?;
    }
    Ok(())
}
