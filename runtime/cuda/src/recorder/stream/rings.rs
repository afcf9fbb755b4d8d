//! The host's view of a buffer: rings of pieces from the device.

use super::layout::{Shape, TAKEN_STRIDE_WORDS};
use std::sync::atomic::{AtomicU64, Ordering};

/// The device's count of completed launches, in the buffer's host part. All their pieces have been announced.
#[derive(Clone, Copy)]
pub struct Ended(*const AtomicU64);

// SAFETY: the word lives as long as the value (a condition of `HostRing::all`), and is only read atomically.
unsafe impl Send for Ended {}
// SAFETY: the word is only read atomically.
unsafe impl Sync for Ended {}

impl Ended {
    pub fn launches(&self) -> u64 {
        // SAFETY: the pointer points to a valid word. Acquire: the pieces were announced before the count.
        unsafe { &*self.0 }.load(Ordering::Acquire)
    }
}

/// A ring's words on the host, from which any thread can tell whether the ring has a piece.
#[derive(Clone, Copy)]
pub struct Peek {
    ready: *const AtomicU64,
    taken: *const AtomicU64,
    mask: u32,
}

// SAFETY: the words live as long as the value (a condition of `HostRing::all`), and are only read atomically.
unsafe impl Send for Peek {}
// SAFETY: the words are only read atomically.
unsafe impl Sync for Peek {}

impl Peek {
    pub fn has_piece(&self) -> bool {
        // SAFETY: the pointer points to the ring's own word.
        let next = unsafe { &*self.taken }.load(Ordering::Relaxed) as u32;
        let slot = (next & self.mask) as usize;
        // SAFETY: the slot is below `host_slots`, and `HostRing::all` requires that many pairs of words.
        let ready = unsafe { &*self.ready.add(2 * slot) };
        ready.load(Ordering::Relaxed) as u32 == next.wrapping_add(1)
    }
}

/// The host's side of a ring, for use by one thread at a time.
pub struct HostRing {
    pub number: usize,
    pub peek: Peek,
    shape: Shape,
    next: u32,
    data: *const u8,
}

// SAFETY: the pointers point to memory that lives as long as the value (a condition of `HostRing::all`); the value's
// owner is its only user.
unsafe impl Send for HostRing {}

impl HostRing {
    /// Returns all rings of the buffer whose host part begins at `host`, and the buffer's count of launches.
    ///
    /// # Safety
    ///
    /// `host` must point to `shape.host_bytes()` bytes, aligned to a page, with zeroed control words. They must remain
    /// valid for as long as the values live, and only the protocol's producers may change them.
    pub unsafe fn all(shape: Shape, host: *const u8) -> (Vec<HostRing>, Ended) {
        let ring = |number: usize| {
            let words = host.cast::<AtomicU64>();
            let data_offset =
                shape.host_control_bytes() + number * shape.host_slots * shape.piece_bytes();
            let taken_offset = shape.taken_word() + number * TAKEN_STRIDE_WORDS;
            // SAFETY: all three addresses are inside the `shape.host_bytes()` bytes at `host`.
            let (peek, data) = unsafe {
                let peek = Peek {
                    ready: words.add(2 * number * shape.host_slots),
                    taken: words.add(taken_offset),
                    mask: shape.host_slots as u32 - 1,
                };
                (peek, host.add(data_offset))
            };
            HostRing {
                number,
                peek,
                shape,
                next: 0,
                data,
            }
        };
        let rings = (0..shape.rings).map(ring).collect();
        // SAFETY: the word is inside the `shape.host_bytes()` bytes at `host`.
        let ended = Ended(unsafe { host.cast::<AtomicU64>().add(shape.ended_word()) });
        (rings, ended)
    }

    /// If the next piece is from launch `serial`, passes it to `read` and frees its slot. Returns its size in bytes.
    pub fn take(&mut self, serial: u64, read: impl FnOnce(u32, &[u8])) -> Option<usize> {
        let Peek { ready, taken, mask } = self.peek;
        let slot = (self.next & mask) as usize;
        // SAFETY: the slot is below `host_slots`, and `HostRing::all` requires that many pairs of words.
        let (ready, launch) = unsafe { (&*ready.add(2 * slot), &*ready.add(2 * slot + 1)) };
        // Acquire: the piece and its launch were written before the word.
        let word = ready.load(Ordering::Acquire);
        if word as u32 != self.next.wrapping_add(1) || launch.load(Ordering::Relaxed) != serial {
            return None;
        }
        let units = ((word >> 32) as usize).min(self.shape.piece_units);
        let bytes = units * super::layout::UNIT_BYTES;
        // SAFETY: the slot's piece is in the ring's data; the device does not write to it before `taken` changes below.
        let piece = unsafe {
            std::slice::from_raw_parts(self.data.add(slot * self.shape.piece_bytes()), bytes)
        };
        read(self.next, piece);
        self.next = self.next.wrapping_add(1);
        // SAFETY: the pointer points to the ring's own word.
        let taken = unsafe { &*taken };
        // Release: the piece has been read before the device can write there again.
        taken.store(u64::from(self.next), Ordering::Release);
        Some(bytes)
    }
}

#[cfg(test)]
mod tests;
