//! Access groups cut at page boundaries: the input to the shadow memory.

use super::phases::Phases;
use crate::communication::state::shadow::{PAGE_BYTES, page_of};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};
use superstep_trace::{AccessGroup, Op, SiteId, WARP_LANES};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Layout of a [`Record`]'s lanes in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Adjacent accesses: the *k*-th of [`Record::threads`], counting from 0, accesses `address + k * width`.
    Contiguous,
    /// All lanes at the same address.
    Same,
    /// Part of one lane's access, which crosses a page boundary; [`Record::origin`] is the number of the access.
    Piece,
}

const READS: u16 = 1 << 12;
const WRITES: u16 = 1 << 13;
const SAME: u16 = 1 << 14;
const PIECE: u16 = 1 << 15;
/// Flags of contiguous accesses that the lanes make in descending order.
const REVERSED: u16 = SAME | PIECE;
const WIDTH: u16 = READS - 1;
const WARP: u16 = (1 << WARP_BITS) - 1;
const WARP_BITS: u32 = 5;
/// Largest site number. The five bits above it contain the binary logarithm of [`Record::times`] or, if [`WALK`] is
/// set, a lane.
pub(crate) const MAX_SITE: u32 = (1 << SITE_BITS) - 1;
const SITE_BITS: u32 = 26;
/// Bit of [`Record::origin`] that marks contiguous accesses by a single thread. The mask only counts them.
const WALK: u32 = 1 << 31;
/// Maximum number of accesses in a record with [`WALK`].
pub(crate) const MAX_WALK: u64 = 32;
/// Last phase that a record can represent; later phases count as this one.
const LAST_PHASE: u16 = u16::MAX >> WARP_BITS;

/// Accesses of consecutive active lanes of one warp at one site, entirely in one page.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, IntoBytes, FromBytes, Immutable,
)]
#[repr(C)]
pub(crate) struct Record {
    pub(crate) address: u64,
    pub(crate) cta: u32,
    pub(crate) mask: u32,
    /// Site of the access and repetitions or lane; for a [`Pattern::Piece`], its number in [`WideAccesses`]; in a record
    /// from [`starts`], its width. Untagged to save memory, since there are billions of records.
    pub(crate) origin: u32,
    /// Warp in bits 0–4 (a CTA has at most 1024 threads), phase in the bits above.
    place: u16,
    /// Width minus one in bits 0–11, flags in the bits above.
    shape: u16,
}

impl Record {
    fn new(group: &AccessGroup, mask: u32, address: u64, width: u64, flags: u16) -> Self {
        debug_assert!((1..=PAGE_BYTES as u64).contains(&width) && mask != 0);
        debug_assert!(page_of(address) == page_of(address + width - 1));
        Self {
            address,
            cta: group.cta,
            mask,
            origin: group.site.0,
            place: group.warp as u16 & WARP,
            shape: (width as u16).wrapping_sub(1) & WIDTH | flags,
        }
    }

    /// Creates a record of 1 to [`MAX_WALK`] adjacent loads, from `address` on, by the only active lane of `group`.
    pub(crate) fn walk(group: &AccessGroup, address: u64, loads: u64) -> Self {
        let width = u64::from(group.width_bytes);
        if loads == 1 {
            return Self::new(group, group.mask, address, width, READS);
        }
        let mask = u32::MAX >> (MAX_WALK - loads);
        let mut record = Self::new(group, mask, address, width, READS);
        record.origin |= WALK | group.mask.trailing_zeros() << SITE_BITS;
        record
    }

    /// Returns the lane of the only thread, if the record is a walk.
    #[inline]
    fn only_lane(&self) -> Option<u32> {
        let is_walk = self.origin & WALK != 0 && self.pattern() != Pattern::Piece;
        is_walk.then_some(self.origin >> SITE_BITS & (WARP_LANES as u32 - 1))
    }

    /// Returns the thread, if there is only one and the record is not a piece.
    #[inline]
    pub(crate) fn only_thread(&self) -> Option<u32> {
        let is_single = self.mask.is_power_of_two() && self.pattern() != Pattern::Piece;
        let lane = match self.only_lane() {
            None if is_single => Some(self.mask.trailing_zeros()),
            lane => lane,
        };
        lane.map(|lane| self.warp() * 32 + lane)
    }

    /// Returns the lowest lane.
    #[inline]
    pub(crate) fn first_lane(&self) -> u32 {
        (self.only_lane()).unwrap_or_else(|| self.mask.trailing_zeros())
    }

    #[inline]
    pub(crate) fn warp(&self) -> u32 {
        u32::from(self.place & WARP)
    }

    /// Returns the number of grid barriers that the threads have passed, at most [`LAST_PHASE`].
    #[inline]
    pub(crate) fn phase(&self) -> u16 {
        self.place >> WARP_BITS
    }

    pub(crate) fn add_phase(&mut self, more: u16) {
        let phase = self.phase().saturating_add(more).min(LAST_PHASE);
        self.place = self.place & WARP | phase << WARP_BITS;
    }

    #[inline]
    pub(crate) fn page(&self) -> u64 {
        page_of(self.address)
    }

    #[inline]
    pub(crate) fn offset(&self) -> usize {
        (self.address % PAGE_BYTES as u64) as usize
    }

    /// Returns the size in bytes of one lane's access, or of its part in this page.
    #[inline]
    pub(crate) fn width(&self) -> usize {
        usize::from(self.shape & WIDTH) + 1
    }

    #[inline]
    pub(crate) fn lanes(&self) -> usize {
        self.mask.count_ones() as usize
    }

    #[inline]
    pub(crate) fn volume(&self) -> u64 {
        (self.width() * self.lanes()) as u64 * self.times()
    }

    /// Returns the site of the access, unless the record is a piece.
    #[inline]
    pub(crate) fn site(&self) -> SiteId {
        SiteId(self.origin & MAX_SITE)
    }

    /// Returns the number of times that the lanes make the same accesses.
    #[inline]
    pub(crate) fn times(&self) -> u64 {
        match self.pattern() {
            Pattern::Piece => 1,
            _ if self.origin & WALK != 0 => 1,
            _ => 1 << (self.origin >> SITE_BITS),
        }
    }

    /// Returns the number of accesses to each address.
    #[inline]
    pub(crate) fn accesses(&self) -> u64 {
        match self.pattern() {
            Pattern::Contiguous | Pattern::Piece => self.times(),
            Pattern::Same => self.lanes() as u64 * self.times(),
        }
    }

    /// Returns the record for accesses that were performed `1 << power` times.
    pub(crate) fn repeated(mut self, power: u32) -> Self {
        self.origin |= power << SITE_BITS;
        self
    }

    /// Splits off the `lanes` lanes of a contiguous record with the lowest addresses.
    pub(crate) fn split(&self, lanes: usize) -> (Self, Self) {
        let mut rest = self.mask;
        let first = match self.is_reversed() {
            true => {
                let high = take_lanes(&mut rest, self.lanes() - lanes);
                std::mem::replace(&mut rest, high)
            }
            false => take_lanes(&mut rest, lanes),
        };
        let address = self.address + (lanes * self.width()) as u64;
        let (mut a, mut b) = (*self, *self);
        (a.mask, b.mask, b.address) = (first, rest, address);
        (a, b)
    }

    /// Splits off the accesses that begin less than `bytes` after the first one.
    pub(crate) fn split_before(&self, bytes: u64) -> (Self, Option<Self>) {
        let lanes = bytes.div_ceil(self.width() as u64);
        if self.pattern() != Pattern::Contiguous || lanes >= self.lanes() as u64 {
            return (*self, None);
        }
        let (first, rest) = self.split(lanes as usize);
        (first, Some(rest))
    }

    pub(crate) fn threads(&self) -> impl Iterator<Item = u32> + use<> {
        let (mut rest, first) = (self.mask, self.warp() * 32);
        let (is_reversed, only_lane) = (self.is_reversed(), self.only_lane());
        std::iter::from_fn(move || {
            let lane = match is_reversed {
                _ if rest == 0 => return None,
                true => rest.ilog2(),
                false => rest.trailing_zeros(),
            };
            rest ^= 1 << lane;
            Some(first + only_lane.unwrap_or(lane))
        })
    }

    #[inline]
    pub(crate) fn reads(&self) -> bool {
        self.shape & READS != 0
    }

    #[inline]
    pub(crate) fn writes(&self) -> bool {
        self.shape & WRITES != 0
    }

    #[inline]
    fn is_reversed(&self) -> bool {
        self.shape & REVERSED == REVERSED
    }

    #[inline]
    pub(crate) fn pattern(&self) -> Pattern {
        match self.shape & (SAME | PIECE) {
            0 | REVERSED => Pattern::Contiguous,
            SAME => Pattern::Same,
            _ => Pattern::Piece,
        }
    }

    /// Returns the bits of the address and of the width if the record writes, otherwise 0.
    #[inline]
    pub(crate) fn written_bits(&self) -> usize {
        (self.address as usize | self.width()) * usize::from(self.writes())
    }

    /// Returns the number of bytes touched in the page from [`Record::offset`] on.
    #[inline]
    pub(crate) fn extent(&self) -> usize {
        match self.pattern() {
            Pattern::Contiguous => self.width() * self.lanes(),
            Pattern::Same | Pattern::Piece => self.width(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Survey {
    pub(crate) one_page: bool,
    /// Whether the records are sorted by CTA.
    pub(crate) by_cta: bool,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    /// Whether any record follows a grid barrier of its launch.
    pub(crate) has_phases: bool,
    /// Binary logarithm of the size of the cells that all writes fill: 2 (words) or 0 (bytes).
    pub(crate) written_shift: u32,
    singles: bool,
    width: usize,
}

/// Returns the binary logarithm of the size of the cells that all writes fill; `written_bits` is the bitwise OR of all
/// [`Record::written_bits`].
pub(crate) fn shift_of(written_bits: usize) -> u32 {
    if written_bits.is_multiple_of(4) { 2 } else { 0 }
}

/// Memory for sorting a page's records by CTA.
#[derive(Default)]
pub(crate) struct CtaOrder {
    next: Vec<u32>,
    sorted: Vec<Record>,
}

impl CtaOrder {
    /// Sorts by CTA and, if `phases` is set, by phase. Keeps each thread's accesses in program order.
    pub(crate) fn sort(&mut self, records: &mut [Record], phases: bool) {
        let ctas = records.iter().map(|record| record.cta);
        let (low, high) = ctas.fold((u32::MAX, 0), |(low, high), cta| {
            (low.min(cta), high.max(cta))
        });
        let span = high.saturating_sub(low) as usize + 1;
        if phases || span > 2 * records.len() {
            records.sort_by_key(|record| (record.cta, record.phase()));
            return;
        }
        let at = |record: &Record| (record.cta - low) as usize;
        self.next.clear();
        self.next.resize(span, 0);
        for record in records.iter() {
            self.next[at(record)] += 1;
        }
        let mut sum = 0;
        for next in &mut self.next {
            sum += std::mem::replace(next, sum);
        }
        self.sorted.clear();
        self.sorted.resize(records.len(), Record::default());
        for record in records.iter() {
            let next = &mut self.next[at(record)];
            self.sorted[*next as usize] = *record;
            *next += 1;
        }
        records.copy_from_slice(&self.sorted);
    }
}

impl Survey {
    pub(crate) fn new(records: &[Record]) -> Self {
        let first = records.first().copied().unwrap_or_default();
        let (width, mut by_cta, mut last_cta) = (first.width(), true, 0);
        let (mut other_bits, mut all_addresses, mut other_lanes) = (0, 0, 0);
        let (mut all_shapes, mut common_shape, mut all_places) = (0, first.shape, 0);
        for record in records {
            other_bits |= record.address ^ first.address;
            all_addresses |= record.address as usize;
            by_cta &= record.cta >= last_cta;
            last_cta = record.cta;
            all_shapes |= record.shape;
            common_shape &= record.shape;
            all_places |= record.place;
            let is_same = record.shape & SAME != 0;
            let more = record.mask & record.mask.wrapping_sub(1);
            other_lanes |= if is_same { 0 } else { more };
        }
        let one_width = (all_shapes ^ common_shape) & WIDTH == 0 && width.is_power_of_two();
        let written_bits = match one_width && (all_addresses | width).is_multiple_of(4) {
            true => 0,
            false => (records.iter()).fold(0, |bits, record| bits | record.written_bits()),
        };
        let singles = other_lanes == 0 && one_width && all_addresses & (width - 1) == 0;
        Self {
            one_page: page_of(other_bits) == 0,
            by_cta,
            reads: all_shapes & READS != 0,
            writes: all_shapes & WRITES != 0,
            has_phases: all_places >> WARP_BITS != 0,
            written_shift: shift_of(written_bits),
            singles: singles && all_shapes & PIECE == 0 && width <= 16,
            width,
        }
    }

    /// Returns the common width of the records if each is a single access, by one or more threads, that is aligned to
    /// its width and fills cells of `1 << cell_shift` bytes.
    pub(crate) fn single_width(&self, cell_shift: u32) -> Option<usize> {
        (self.singles && self.width >> cell_shift != 0).then_some(self.width)
    }
}

/// Numbering of the accesses that cross a page boundary, so that their parts can be matched.
#[derive(Default)]
pub(crate) struct WideAccesses(Mutex<Wide>);

#[derive(Default)]
struct Wide {
    numbers: FxHashMap<(u64, u32, SiteId), u32>,
    firsts: FxHashMap<(u64, u32), u32>,
    accesses: Vec<WideAccess>,
}

#[derive(Clone, Copy)]
pub(crate) struct WideAccess {
    pub(crate) address: u64,
    pub(crate) width: u32,
    pub(crate) site: SiteId,
    /// Number of the first access with this address and width; accesses from multiple sites count once.
    pub(crate) first: u32,
}

impl WideAccesses {
    pub(crate) fn number(&self, address: u64, width: u32, site: SiteId) -> u32 {
        let wide = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = wide.accesses.len() as u32;
        let number = wide.numbers.entry((address, width, site));
        *number.or_insert_with(|| {
            let first = *wide.firsts.entry((address, width)).or_insert(next);
            wide.accesses.push(WideAccess {
                address,
                width,
                site,
                first,
            });
            next
        })
    }

    pub(crate) fn get(&self, number: u32) -> Option<WideAccess> {
        let wide = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wide.accesses.get(number as usize).copied()
    }

    pub(crate) fn into_accesses(self) -> Vec<WideAccess> {
        let wide = self.0.into_inner();
        wide.unwrap_or_else(PoisonError::into_inner).accesses
    }
}

fn flags_of(op: Op) -> u16 {
    let (reads, writes) = (u16::from(op.reads()), u16::from(op.writes()));
    (reads * READS) | (writes * WRITES)
}

/// Appends a record for the first byte of each lane's access. Its [`Record::origin`] is the access's width.
pub(crate) fn starts(group: &AccessGroup, op: Op, phases: &Phases, out: &mut Vec<Record>) {
    let flags = flags_of(op);
    let mut rest = group.mask;
    for &address in group.active_addresses() {
        let mut record = Record::new(group, take_lanes(&mut rest, 1), address, 1, flags);
        record.origin = group.width_bytes;
        if group.width_bytes > 0 {
            phases.advance(&mut record);
            out.push(record);
        }
    }
}

/// Appends the records of `group`.
pub(crate) fn cut(group: &AccessGroup, op: Op, wide: &WideAccesses, out: &mut Vec<Record>) {
    let width = u64::from(group.width_bytes);
    if width == 0 {
        return;
    }
    let flags = flags_of(op);
    let addresses = group.active_addresses();
    let mut rest = group.mask;
    let mut at = 0;
    while at < addresses.len() {
        let first = addresses[at];
        // The distance between the lanes of an arithmetic sequence: the width, its negative or zero.
        let step = addresses.get(at + 1).map(|&next| next.wrapping_sub(first));
        let descends = step == Some(width.wrapping_neg());
        let Some(step) = step.filter(|&step| step == width || descends || step == 0) else {
            let lane = take_lanes(&mut rest, 1);
            if first % PAGE_BYTES as u64 + width <= PAGE_BYTES as u64 {
                out.push(Record::new(group, lane, first, width, flags));
            } else {
                pieces(group, lane, first, flags, wide, out);
            }
            at += 1;
            continue;
        };
        let mut count = 2;
        if at == 0 && is_sequence(addresses, step) {
            count = addresses.len();
        }
        while addresses
            .get(at + count)
            .is_some_and(|&a| a == first.wrapping_add(step.wrapping_mul(count as u64)))
        {
            count += 1;
        }
        let mut address = first;
        let mut left = count;
        while left > 0 {
            let offset = address % PAGE_BYTES as u64;
            let fit = match PAGE_BYTES as u64 - offset {
                room if room < width => 0,
                _ if step == 0 => left,
                _ if descends => left.min((offset / width) as usize + 1),
                room => left.min((room / width) as usize),
            };
            let mask = take_lanes(&mut rest, fit.max(1));
            let next = address.wrapping_add(step.wrapping_mul(fit.max(1) as u64));
            match fit {
                0 => pieces(group, mask, address, flags, wide, out),
                _ if step == 0 => out.push(Record::new(group, mask, address, width, flags | SAME)),
                2.. if descends => {
                    let lowest = next.wrapping_add(width);
                    out.push(Record::new(group, mask, lowest, width, flags | REVERSED));
                }
                _ => out.push(Record::new(group, mask, address, width, flags)),
            }
            left -= fit.max(1);
            address = next;
        }
        at += count;
    }
}

#[inline]
fn is_sequence(addresses: &[u64], step: u64) -> bool {
    // Differences, since vector units multiply 64-bit numbers slowly.
    let differences =
        (addresses.windows(2)).fold(0, |all, pair| all | (pair[1].wrapping_sub(pair[0]) ^ step));
    differences == 0
}

/// Removes the lowest `count` set bits from `rest` and returns them.
#[inline]
fn take_lanes(rest: &mut u32, count: usize) -> u32 {
    let before = *rest;
    if count == 1 {
        *rest &= rest.wrapping_sub(1);
    } else if count as u32 == before.count_ones() {
        *rest = 0;
    } else {
        for _ in 0..count {
            *rest &= rest.wrapping_sub(1);
        }
    }
    before & !*rest
}

/// Cuts one lane's access that crosses a page boundary.
fn pieces(
    group: &AccessGroup,
    lane: u32,
    address: u64,
    flags: u16,
    wide: &WideAccesses,
    out: &mut Vec<Record>,
) {
    let width = u64::from(group.width_bytes);
    let number = wide.number(address, group.width_bytes, group.site);
    // An access past the end of the address space is a bug in the program; the bytes past the end are dropped.
    let end = address.saturating_add(width);
    let mut at = address;
    while at < end {
        let take = (PAGE_BYTES as u64 - at % PAGE_BYTES as u64).min(end - at);
        let mut record = Record::new(group, lane, at, take, flags | PIECE);
        record.origin = number;
        out.push(record);
        at = at.saturating_add(take);
    }
}

#[cfg(test)]
mod tests;
