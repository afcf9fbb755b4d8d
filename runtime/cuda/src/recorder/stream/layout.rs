//! Structures that the host and the device share. Mirrors `device/stream.h`.

pub const VERSION: u64 = 0x1_0000_0002;
pub const UNIT_BYTES: usize = 16;
/// Minimum number of units per piece, so that a record spans at most two pieces.
pub const MIN_PIECE_UNITS: usize = 32;
pub const MAX_SLOTS: usize = 16;
/// Distance, in words, between the host's words that the device polls.
pub const TAKEN_STRIDE_WORDS: usize = 16;

/// Shift of the number of rings minus one in the second trailing parameter.
pub const RINGS_SHIFT: u32 = 32;
pub const MAX_RINGS: usize = 0xfff + 1;
/// Shift of the logarithm of the units per piece.
pub const PIECE_SHIFT: u32 = 44;
/// Shift of the logarithm of the pieces per ring.
pub const SLOTS_SHIFT: u32 = 52;

/// Size of the indices of a ring, which the host only initialises to zero.
pub const RING_BYTES: usize = 384;

/// The header of a buffer, with addresses of host memory for the device.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Header {
    pub version: u64,
    /// Number of pieces per ring that the host has room for.
    pub host_slots: u64,
    pub data: u64,
    /// Address of an array of two words per piece.
    pub ready: u64,
    /// Address of an array of one word per ring.
    pub taken: u64,
    pub ended: u64,
    /// Number of launches that have ended, as counted by the device.
    pub serial: u64,
    /// Number of CTAs of the flush kernel that have ended.
    pub arrived: u64,
    pub pad: [u64; 7],
    /// Address of the selection of CTAs, or 0.
    pub selection: u64,
}

/// Sizes of a buffer. All but `rings` are powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of rings; one per SM by default.
    pub rings: usize,
    pub piece_units: usize,
    pub slots: usize,
    /// Number of pieces per ring that the host has room for.
    pub host_slots: usize,
}

impl Shape {
    /// Returns the nearest shape that the device supports.
    pub fn rounded(rings: usize, piece_units: usize, slots: usize, host_slots: usize) -> Self {
        let power = |number: usize, min, max| number.clamp(min, max).next_power_of_two();
        Shape {
            rings: rings.clamp(1, MAX_RINGS),
            piece_units: power(piece_units, MIN_PIECE_UNITS, 1 << 20),
            slots: power(slots, 2, MAX_SLOTS),
            host_slots: power(host_slots, 1, 1 << 16),
        }
    }

    /// Returns a shape that needs less memory on the device, if there is one.
    pub fn smaller_on_device(mut self) -> Option<Self> {
        if self.slots > 2 {
            self.slots = 2;
        } else if self.piece_units > MIN_PIECE_UNITS {
            self.piece_units /= 2;
        } else {
            return None;
        }
        Some(self)
    }

    pub fn piece_bytes(&self) -> usize {
        self.piece_units * UNIT_BYTES
    }

    pub fn device_control_bytes(&self) -> usize {
        size_of::<Header>() + self.rings * RING_BYTES
    }

    pub fn device_bytes(&self) -> usize {
        self.device_control_bytes() + self.rings * self.slots * self.piece_bytes()
    }

    /// Returns the index of the first word of `taken` on the host, after the words of `ready`.
    pub fn taken_word(&self) -> usize {
        2 * self.rings * self.host_slots
    }

    pub fn ended_word(&self) -> usize {
        self.taken_word() + self.rings * TAKEN_STRIDE_WORDS
    }

    /// Returns the size of the control words on the host: two words per piece, a line per ring, and another line.
    pub fn host_control_bytes(&self) -> usize {
        let words = self.ended_word() + TAKEN_STRIDE_WORDS;
        (words * 8).next_multiple_of(4096)
    }

    pub fn host_bytes(&self) -> usize {
        self.host_control_bytes() + self.rings * self.host_slots * self.piece_bytes()
    }

    /// Returns the upper half of a kernel's second trailing parameter.
    pub fn parameter(&self) -> u64 {
        (self.rings as u64 - 1) << RINGS_SHIFT
            | u64::from(self.piece_units.trailing_zeros()) << PIECE_SHIFT
            | u64::from(self.slots.trailing_zeros()) << SLOTS_SHIFT
    }
}

#[cfg(test)]
mod tests;
