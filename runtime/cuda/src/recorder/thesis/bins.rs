//! The host's side of the protocol, which takes complete records out of the bins.
//!
//! docs/protocol-thesis.md describes the protocol and proves it correct. This module does not depend on CUDA, so tests
//! can use host threads as producers.

use crate::recorder::thesis::layout::Bin;
use crate::recorder::thesis::record::Record;
use std::sync::atomic::Ordering;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of bins, a power of two.
    pub bins: usize,
    /// Records per bin, a power of two.
    pub bin_records: usize,
}

impl Shape {
    /// Rounds both numbers up to powers of two (at least 1 bin and 1 record).
    pub fn rounded(bins: usize, bin_records: usize) -> Self {
        Shape {
            bins: bins.max(1).next_power_of_two(),
            bin_records: bin_records.max(1).next_power_of_two(),
        }
    }

    pub fn index_bytes(&self) -> usize {
        self.bins * size_of::<Bin>()
    }

    pub fn record_bytes(&self) -> usize {
        self.bins * self.bin_records * size_of::<Record>()
    }
}

/// Result of taking records from a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    pub records: u64,
    /// Number of records that were reserved but not written (0 unless a kernel faulted).
    pub missing: u64,
}

/// The bins of a stream as the host sees them, for use by one thread at a time.
pub struct Bins {
    pub shape: Shape,
    indices: *const Bin,
    records: *const Record,
    released: Vec<u64>,
    copy: Vec<Record>,
}

// SAFETY: the pointers point to memory that lives as long as the value (a condition of `Bins::new`); a thread that owns
// the value may use them like the thread that created it.
unsafe impl Send for Bins {}

impl Bins {
    /// # Safety
    ///
    /// `indices` and `records` must point to `shape.bins` and `shape.bins * shape.bin_records` aligned and zeroed
    /// values, which must outlive the result. Only the protocol's producers may change them.
    pub unsafe fn new(shape: Shape, indices: *const Bin, records: *const Record) -> Self {
        Bins {
            shape,
            indices,
            records,
            released: vec![0; shape.bins],
            copy: Vec::new(),
        }
    }

    fn indices(&self, bin: usize) -> &Bin {
        assert!(bin < self.shape.bins);
        // SAFETY: the number is in range, by the contract of `Bins::new`.
        unsafe { &*self.indices.add(bin) }
    }

    /// Takes the whole window of `bin` if all its records are written.
    pub fn take_full(&mut self, bin: usize, take: &mut dyn FnMut(&[Record])) -> Taken {
        let end = self.released[bin] + self.shape.bin_records as u64;
        // Acquire: the records were written before they were acknowledged.
        if self.indices(bin).acknowledged.load(Ordering::Acquire) < end {
            return Taken::default();
        }
        self.take_until(bin, end, take)
    }

    /// Takes the content of `bin` if all reserved records are written.
    pub fn take_quiet(&mut self, bin: usize, take: &mut dyn FnMut(&[Record])) -> Taken {
        let indices = self.indices(bin);
        // `reserved` is never below `acknowledged`, and both only grow. So if the later value of `reserved` equals the
        // earlier value of `acknowledged`, the two were equal at the earlier time, too.
        let acknowledged = indices.acknowledged.load(Ordering::Acquire);
        if indices.reserved.load(Ordering::Acquire) != acknowledged {
            return Taken::default();
        }
        self.take_until(bin, acknowledged, take)
    }

    /// Takes all written records of `bin`, after a fault that stopped the device.
    pub fn salvage(&mut self, bin: usize, take: &mut dyn FnMut(&[Record])) -> Taken {
        let indices = self.indices(bin);
        let reserved = indices.reserved.load(Ordering::Acquire);
        let window_end = self.released[bin] + self.shape.bin_records as u64;
        let taken = self.take_until(bin, reserved.min(window_end), take);
        // Positions beyond the window were reserved but never written. Nothing follows them, so they are counted once.
        let never_written = reserved.saturating_sub(window_end);
        self.released[bin] = self.released[bin].max(reserved);
        Taken {
            missing: taken.missing + never_written,
            ..taken
        }
    }

    /// Copies the records up to position `end` out of the bin, frees their slots, and passes them on.
    fn take_until(&mut self, bin: usize, end: u64, take: &mut dyn FnMut(&[Record])) -> Taken {
        let (start, capacity) = (self.released[bin], self.shape.bin_records);
        if end <= start {
            return Taken::default();
        }
        let count = (end - start) as usize;
        let first_slot = start as usize & (capacity - 1);
        let first_part = count.min(capacity - first_slot);
        self.copy.clear();
        self.copy.reserve(count);
        // SAFETY: `bin`'s slots are the `capacity` records starting at `bin * capacity`, and contain both parts (count
        // <= capacity, because positions beyond the window's end are never taken). No producer writes to these slots
        // before `released` changes below. `copy` has room for `count` records.
        unsafe {
            let slots = self.records.add(bin * capacity);
            let copy = self.copy.as_mut_ptr();
            std::ptr::copy_nonoverlapping(slots.add(first_slot), copy, first_part);
            std::ptr::copy_nonoverlapping(slots, copy.add(first_part), count - first_part);
            self.copy.set_len(count);
        }
        self.released[bin] = end;
        // Release: the copy is complete before the device can write to the slots again.
        self.indices(bin).released.store(end, Ordering::Release);

        // Lap 0 writes 1, to distinguish records from untouched (zero) memory.
        let lap = |offset: usize| (start + offset as u64) / capacity as u64;
        let is_written =
            |offset: usize| self.copy[offset].odd_lap() == lap(offset).is_multiple_of(2);
        let mut taken = Taken::default();
        let mut from = 0;
        while from < count {
            let to = (from..count)
                .find(|&offset| !is_written(offset))
                .unwrap_or(count);
            if to > from {
                take(&self.copy[from..to]);
                taken.records += (to - from) as u64;
            }
            let next = (to..count)
                .find(|&offset| is_written(offset))
                .unwrap_or(count);
            taken.missing += (next - to) as u64;
            from = next;
        }
        taken
    }
}
