//! Reads the records of a ring; `device/stream.h` describes them.

use super::by_warp::ByWarp;
use super::layout::UNIT_BYTES;
use superstep_trace::{AccessGroup, Offsets, SiteId, WARP_LANES};

/// Equally spaced addresses.
pub const FORM_RUN: u32 = 1;
/// 16-bit offsets from the base.
pub const FORM_OFFSETS_16: u32 = 2;
pub const FORM_OFFSETS_32: u32 = 3;
pub const FORM_OFFSETS_64: u32 = 4;
/// Mask of the form in the tag.
pub const FORM_MASK: u32 = 7;
/// Bit that is set for a two-unit header.
pub const TAG_LONG: u32 = 8;
/// Shift of the low bits of the number of the record's first piece.
pub const TAG_PIECE_SHIFT: u32 = 4;

/// Size of the longest record: two units and 32 addresses.
pub const MAX_RECORD_BYTES: usize = 2 * UNIT_BYTES + WARP_LANES * 8;

/// Receiver of the groups from a ring.
pub trait Emit {
    /// Whether [`group`](Self::group) needs addresses. Otherwise, only [`lanes`](Self::lanes) is called.
    const ADDRESSES: bool;
    fn lanes(&mut self, lanes: u32);
    /// Counts `groups` groups in which all 32 lanes are active.
    fn full_groups(&mut self, groups: u64) {
        for _ in 0..groups {
            self.lanes(WARP_LANES as u32);
        }
    }
    /// Receives a whole group, after `lanes`.
    fn group(&mut self, group: &AccessGroup);
    /// Receives a group with lane addresses `base + offsets[i]`; ignores `group.addresses`.
    fn near<const N: usize>(&mut self, group: &AccessGroup, base: u64, offsets: Offsets<'_, N>) {
        self.group(&AccessGroup {
            addresses: offsets.addresses(base, group.lanes()),
            ..*group
        });
    }
    /// Receives a group with lane addresses `base + lane * stride`; ignores `group.addresses`.
    fn run(&mut self, group: &AccessGroup, base: u64, stride: u64) {
        let at = |lane| base.wrapping_add(stride.wrapping_mul(lane as u64));
        self.group(&AccessGroup {
            addresses: std::array::from_fn(at),
            ..*group
        });
    }
}

struct Head {
    tag: u32,
    mask: u32,
    is_long: bool,
    units: usize,
}

impl Head {
    /// Returns the number of thread accesses of the record in `bytes`.
    fn accesses(&self, bytes: &[u8]) -> u32 {
        let is_mark = self.is_long && word(bytes, 2) as u32 == SiteId::GRID_BARRIER.0;
        if is_mark { 0 } else { self.mask.count_ones() }
    }
}

fn word(bytes: &[u8], index: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[index * 8..index * 8 + 8]);
    u64::from_le_bytes(word)
}

enum Next {
    Record(Head),
    /// The rest of the record is in the next piece.
    Unfinished,
    /// Not a record of this piece.
    Broken,
}

/// Inspects the record at the start of `bytes`, which are whole units of piece `piece`.
#[inline]
fn inspect(bytes: &[u8], piece: u32) -> Next {
    let tag = word(bytes, 1) as u32 & 0xff;
    let form = tag & FORM_MASK;
    if !(FORM_RUN..=FORM_OFFSETS_64).contains(&form) || tag >> TAG_PIECE_SHIFT != piece & 0xf {
        return Next::Broken;
    }
    let is_long = tag & TAG_LONG != 0;
    if is_long && bytes.len() < 2 * UNIT_BYTES {
        return Next::Unfinished;
    }
    let mask = if is_long {
        (word(bytes, 2) >> 32) as u32
    } else {
        u32::MAX
    };
    if mask == 0 {
        return Next::Broken;
    }
    let offsets_bytes = match form {
        FORM_RUN => 0,
        _ => (mask.count_ones() as usize) << (form - FORM_RUN),
    };
    let units = 1 + usize::from(is_long) + offsets_bytes.div_ceil(UNIT_BYTES);
    if bytes.len() < units * UNIT_BYTES {
        return Next::Unfinished;
    }
    Next::Record(Head {
        tag,
        mask,
        is_long,
        units,
    })
}

/// Counts the one-unit records of runs by full warps, the most common kind, at the start of `bytes`. Checks four at a
/// time.
#[inline]
fn full_rows(bytes: &[u8], piece: u32) -> usize {
    let expected = FORM_RUN as u8 | (piece as u8) << TAG_PIECE_SHIFT;
    let is_row = |unit: &[u8]| unit[8] == expected;
    let mut rows = 0;
    for four in bytes.chunks_exact(4 * UNIT_BYTES) {
        let all = (four[8] ^ expected)
            | (four[24] ^ expected)
            | (four[40] ^ expected)
            | (four[56] ^ expected);
        if all != 0 {
            break;
        }
        rows += 4;
    }
    let rest = bytes[rows * UNIT_BYTES..].chunks_exact(UNIT_BYTES);
    rows + rest.take_while(|unit| is_row(unit)).count()
}

/// Passes the group of the record at the start of `bytes`, or only its lanes, to `emit`; `group` is scratch memory.
#[inline(never)]
fn emit_record<E: Emit>(bytes: &[u8], head: &Head, group: &mut AccessGroup, emit: &mut E) {
    let lanes = head.mask.count_ones() as usize;
    emit.lanes(head.accesses(bytes));
    if !E::ADDRESSES {
        return;
    }
    let (mut base, mut stride) = read_brief(bytes, group);
    if head.is_long {
        let (third, fourth) = (word(bytes, 2), word(bytes, 3));
        group.site = SiteId(third as u32);
        group.mask = head.mask;
        group.width_bytes = (fourth >> 32) as u32;
        (base, stride) = (word(bytes, 0), i64::from(fourth as u32 as i32));
    }
    let offsets = &bytes[(1 + usize::from(head.is_long)) * UNIT_BYTES..];
    match head.tag & FORM_MASK {
        FORM_RUN if head.mask == u32::MAX => emit.run(group, base, stride as u64),
        FORM_RUN => {
            run_with_gaps(base, stride, group);
            emit.group(group);
        }
        FORM_OFFSETS_16 => emit.near::<2>(group, base, Offsets(&offsets.as_chunks().0[..lanes])),
        FORM_OFFSETS_32 => emit.near::<4>(group, base, Offsets(&offsets.as_chunks().0[..lanes])),
        _ => {
            for (index, address) in group.addresses[..lanes].iter_mut().enumerate() {
                *address = base.wrapping_add(word(offsets, index));
            }
            emit.group(group);
        }
    }
}

/// Fills in `group`, except its addresses, from a one-unit header. Returns the base and the stride.
#[inline(always)]
fn read_brief(bytes: &[u8], group: &mut AccessGroup) -> (u64, i64) {
    let (first, second) = (word(bytes, 0), word(bytes, 1));
    let low = second as u32;
    group.cta = (second >> 32) as u32;
    group.warp = low >> 8 & 31;
    group.mask = u32::MAX;
    group.site = SiteId(low >> 16 & 0xfff | low >> 28 << 16);
    group.width_bytes = 1 << (low >> 13 & 7);
    (first & 0xffff_ffff_ffff, i64::from((first >> 48) as i16))
}

/// Fills in equally spaced addresses for the lanes in the mask.
fn run_with_gaps(base: u64, stride: i64, group: &mut AccessGroup) {
    let pairs = group.mask & group.mask >> 1;
    let origin = if pairs != 0 { pairs } else { group.mask }.trailing_zeros();
    let mut rest = group.mask;
    for address in &mut group.addresses[..group.mask.count_ones() as usize] {
        let lane = i64::from(rest.trailing_zeros()) - i64::from(origin);
        *address = base.wrapping_add((stride * lane) as u64);
        rest &= rest - 1;
    }
}

pub struct Reader {
    group: AccessGroup,
    by_warp: ByWarp,
    /// The beginning of a record that continues in the next piece, and the number of the piece in which it begins.
    leftover: Vec<u8>,
    leftover_piece: u32,
}

impl Reader {
    pub fn new(ring: usize) -> Self {
        Reader {
            group: AccessGroup {
                sm: ring as u32,
                ..AccessGroup::EMPTY
            },
            by_warp: ByWarp::default(),
            leftover: Vec::new(),
            leftover_piece: 0,
        }
    }

    /// Reads the next piece up to a broken record, in order within each warp; returns the number of broken records.
    pub fn piece<E: Emit>(&mut self, number: u32, mut bytes: &[u8], emit: &mut E) -> u64 {
        if !self.leftover.is_empty() {
            let old_len = self.leftover.len();
            let more = bytes.len().min(MAX_RECORD_BYTES - old_len);
            self.leftover.extend_from_slice(&bytes[..more]);
            match inspect(&self.leftover, self.leftover_piece) {
                Next::Record(head) if head.units * UNIT_BYTES > old_len => {
                    emit_record(&self.leftover, &head, &mut self.group, emit);
                    bytes = &bytes[head.units * UNIT_BYTES - old_len..];
                    self.leftover.clear();
                }
                Next::Unfinished if more == bytes.len() => return 0,
                _ => {
                    self.leftover.clear();
                    return 1;
                }
            }
        }
        if E::ADDRESSES {
            self.sorted(number, bytes, emit)
        } else {
            self.counted(number, bytes, emit)
        }
    }

    fn counted<E: Emit>(&mut self, number: u32, mut bytes: &[u8], emit: &mut E) -> u64 {
        loop {
            let rows = full_rows(bytes, number);
            emit.full_groups(rows as u64);
            bytes = &bytes[rows * UNIT_BYTES..];
            if bytes.is_empty() {
                return 0;
            }
            match inspect(bytes, number) {
                Next::Record(head) => {
                    emit.lanes(head.accesses(bytes));
                    bytes = &bytes[head.units * UNIT_BYTES..];
                }
                Next::Unfinished => return self.keep(number, bytes),
                Next::Broken => return 1,
            }
        }
    }

    fn sorted<E: Emit>(&mut self, number: u32, bytes: &[u8], emit: &mut E) -> u64 {
        let group = &mut self.group;
        let row_tag = FORM_RUN as u8 | (number as u8) << TAG_PIECE_SHIFT;
        let mut emit_at = |offset: u32| {
            let record = &bytes[offset as usize..];
            if record[8] == row_tag {
                emit.lanes(WARP_LANES as u32);
                let (base, stride) = read_brief(record, group);
                emit.run(group, base, stride as u64);
            } else if let Next::Record(head) = inspect(record, number) {
                emit_record(record, &head, group, emit);
            }
        };
        let mut at = 0;
        let rest = loop {
            if at == bytes.len() {
                break Next::Unfinished;
            }
            let record = &bytes[at..];
            let units = match record[8] == row_tag {
                true => 1,
                false => match inspect(record, number) {
                    Next::Record(head) => head.units,
                    other => break other,
                },
            };
            // The second word's CTA and warp.
            let key = word(record, 1) & 0xffff_ffff_0000_1f00;
            if !self.by_warp.add(key, at as u32) {
                self.by_warp.drain(&mut emit_at);
                self.by_warp.add(key, at as u32);
            }
            at += units * UNIT_BYTES;
        };
        self.by_warp.drain(&mut emit_at);
        match rest {
            Next::Broken => 1,
            _ => self.keep(number, &bytes[at..]),
        }
    }

    fn keep(&mut self, number: u32, bytes: &[u8]) -> u64 {
        self.leftover.extend_from_slice(bytes);
        self.leftover_piece = number;
        0
    }

    /// Ends a launch; a remainder counts as a broken record.
    pub fn end(&mut self) -> u64 {
        let broken = u64::from(!self.leftover.is_empty());
        self.leftover.clear();
        broken
    }
}
