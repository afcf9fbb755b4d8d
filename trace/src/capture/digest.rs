//! Digest of a launch: 128 bits over the multiset of its thread accesses, independent of their order and grouping.
//!
//! Each thread access (stream, launch, CTA, thread, site, operation, allocation key, offset, width) is hashed to two
//! 64-bit words; the digest consists of the sums of the first words and of the second words, modulo 2^64. Addresses are
//! hashed as allocation and offset, so two runs or backends have equal digests if the program behaves the same. An
//! address outside any allocation is hashed as is. Sites at which threads wait are left out
//! ([`Site::is_steady`](crate::Site::is_steady)). `docs/trace-format.md` gives the formula.

mod known;

use crate::program::allocations::DEVICE_HEAP;
use crate::{AccessGroup, AllocationKey, Launch, LaunchRecord, Resolver, SiteTable, WARP_LANES};
pub use known::Known;
use std::ops::AddAssign;
use xxhash_rust::xxh3::xxh3_64;

const PHI: u64 = 0x9e37_79b9_7f4a_7c15;
const THREAD_STEP: [u64; 2] = [0xd6e8_feb8_6659_fd93, 0xa076_1d64_78bd_642f];

/// Both words of the hashes of a group's accesses; entry *i* belongs to the *i*-th active lane.
type Hashes = [[u64; WARP_LANES]; 2];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LaunchDigest {
    pub words: [u64; 2],
    /// Number of thread accesses, including those left out of `words`.
    pub thread_accesses: u64,
}

impl AddAssign for LaunchDigest {
    /// Computes the digest of the union of both multisets.
    fn add_assign(&mut self, other: Self) {
        for (word, other) in self.words.iter_mut().zip(other.words) {
            *word = word.wrapping_add(other);
        }
        self.thread_accesses += other.thread_accesses;
    }
}

impl std::fmt::Display for LaunchDigest {
    /// Writes 32 hexadecimal digits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}{:016x}", self.words[0], self.words[1])
    }
}

/// Computes the digest of one launch's accesses.
pub struct Hasher<'a> {
    digest: LaunchDigest,
    launch_seed: u64,
    sites: &'a SiteTable,
    places: Places<'a>,
    known: &'a mut Known,
}

impl<'a> Hasher<'a> {
    /// `known` is memory for finding repeated accesses.
    pub fn new(record: &'a LaunchRecord<'a>, sites: &'a SiteTable, known: &'a mut Known) -> Self {
        known.begin();
        let Launch { stream, launch, .. } = record.launch;
        let launch_seed = mix(mix(PHI ^ u64::from(stream.0)).wrapping_add(u64::from(launch.0)));
        Hasher {
            digest: LaunchDigest::default(),
            launch_seed,
            sites,
            places: Places {
                resolver: record.allocations.resolver(),
                last_key: None,
            },
            known,
        }
    }

    /// Adds a group's accesses. Returns whether the same threads have made the same accesses before.
    pub fn add(&mut self, group: &AccessGroup) -> bool {
        self.digest.thread_accesses += group.lanes() as u64;
        let site = self.sites.get(group.site);
        if site.is_some_and(|site| !site.is_steady()) {
            return false;
        }
        let op = site.map_or(0, |site| site.op.code());
        let (seed, places) = (self.launch_seed, &mut self.places);
        let seeds = || group_seeds(seed, group, op);
        let repeated = (self.known).find(group, || {
            places.of(group, |lanes, place, threads| {
                hash(lanes, place, threads, seeds())
            })
        });
        let words = repeated.unwrap_or_else(|| {
            places.of(group, |lanes, place, threads| {
                sum_of_hashes(lanes, place, threads, seeds())
            })
        });
        for (sum, word) in self.digest.words.iter_mut().zip(words) {
            *sum = sum.wrapping_add(word);
        }
        repeated.is_some()
    }

    /// Makes the next group of this warp at this site count as new.
    pub fn forget(&mut self, group: &AccessGroup) {
        self.known.forget(group);
    }

    pub fn finish(self) -> LaunchDigest {
        self.digest
    }
}

/// Finds the allocations that a launch accesses.
struct Places<'a> {
    resolver: Resolver<'a>,
    /// The most recently used allocation key, with its hash and offset mask.
    last_key: Option<(&'a AllocationKey, (u64, u64))>,
}

impl<'a> Places<'a> {
    /// Computes `hash` of a group's addresses, with the allocations in which they are.
    #[inline]
    fn of<R>(
        &mut self,
        group: &AccessGroup,
        hash: impl FnOnce(&[u64], Place, (u64, &[u64])) -> R,
    ) -> R {
        let addresses = group.active_addresses();
        let (low, high) = address_range(addresses).unwrap_or_default();
        let mut some_lanes;
        let lanes = match group.mask {
            u32::MAX => &LANES,
            _ => {
                some_lanes = [0; WARP_LANES];
                for (entry, (lane, _)) in some_lanes.iter_mut().zip(group.by_lane()) {
                    *entry = lane as u64;
                }
                &some_lanes
            }
        };
        let first_thread = u64::from(group.warp.wrapping_mul(WARP_LANES as u32));
        let threads = (first_thread, &lanes[..addresses.len()]);
        match self.resolver.find(low) {
            Some(allocation) if allocation.offset_of(high).is_some() => {
                let (key, mask) = self.key_hash(&allocation.key);
                hash(addresses, (allocation.address, mask, key), threads)
            }
            _ => {
                let mut offsets = [0; WARP_LANES];
                for (offset, &address) in offsets.iter_mut().zip(addresses) {
                    *offset = match self.resolver.find(address) {
                        Some(allocation) => {
                            let (key, mask) = self.key_hash(&allocation.key);
                            key.wrapping_add((address - allocation.address) & mask)
                        }
                        None => address,
                    };
                }
                hash(&offsets[..addresses.len()], (0, !0, 0), threads)
            }
        }
    }

    /// Returns the hash of an allocation's key, and the mask of the offset bits to be hashed.
    #[inline]
    fn key_hash(&mut self, key: &'a AllocationKey) -> (u64, u64) {
        match self.last_key {
            Some((last, hash)) if std::ptr::eq(last, key) => hash,
            _ => {
                let is_heap = matches!(key, AllocationKey::Symbol(name) if name == DEVICE_HEAP);
                let hash = (key_hash(key), if is_heap { 0 } else { !0 });
                self.last_key = Some((key, hash));
                hash
            }
        }
    }
}

/// Returns the seeds of the two sums, computed from everything that the lanes of a group share.
#[inline]
fn group_seeds(launch_seed: u64, group: &AccessGroup, op: u8) -> [u64; 2] {
    let site_and_width = u64::from(group.site.0) << 32 | u64::from(group.width_bytes);
    let cta_and_op = u64::from(group.cta) << 8 | u64::from(op);
    let seed = mix(mix(launch_seed ^ site_and_width).wrapping_add(cta_and_op));
    [seed, mix(seed ^ PHI)]
}

/// Indices of all lanes.
const LANES: [u64; WARP_LANES] = {
    let mut lanes = [0; WARP_LANES];
    let mut lane = 0;
    while lane < WARP_LANES {
        lanes[lane] = lane as u64;
        lane += 1;
    }
    lanes
};

/// Defines a function with a plain loop, and versions compiled for AVX2 and AVX-512, used if the processor has them.
macro_rules! vectorised {
    ($(#[$doc:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),+) -> $result:ty $body:block) => {
        $(#[$doc])*
        #[inline]
        $visibility fn $name($($argument: $type),+) -> $result {
            #[inline(always)]
            fn plain($($argument: $type),+) -> $result $body
            use std::arch::is_x86_feature_detected as has;
            #[target_feature(enable = "avx512f,avx512dq")]
            fn avx512($($argument: $type),+) -> $result {
                plain($($argument),+)
            }
            #[target_feature(enable = "avx2")]
            fn avx2($($argument: $type),+) -> $result {
                plain($($argument),+)
            }
            if has!("avx512f") && has!("avx512dq") {
                // SAFETY: the processor has these features.
                return unsafe { avx512($($argument),+) };
            }
            if has!("avx2") {
                // SAFETY: the processor has this feature.
                return unsafe { avx2($($argument),+) };
            }
            plain($($argument),+)
        }
    };
}

vectorised! {
    /// Returns the lowest and the highest address.
    pub fn address_range(addresses: &[u64]) -> Option<(u64, u64)> {
        let (mut low, mut high) = (*addresses.first()?, 0);
        for &address in addresses {
            (low, high) = (low.min(address), high.max(address));
        }
        Some((low, high))
    }
}

/// Address at which an allocation starts, mask of the offset bits to be hashed, and hash of the allocation's key.
type Place = (u64, u64, u64);

/// Hashes one lane's access.
#[inline(always)]
fn lane_hash(address: u64, (start, mask, key): Place, thread: u64, seeds: [u64; 2]) -> [u64; 2] {
    let place = mix(key.wrapping_add(address.wrapping_sub(start) & mask));
    [
        mix(place
            .wrapping_add(thread.wrapping_mul(THREAD_STEP[0]))
            .wrapping_add(seeds[0])),
        mix(place
            .rotate_left(32)
            .wrapping_add(thread.wrapping_mul(THREAD_STEP[1]))
            ^ seeds[1]),
    ]
}

vectorised! {
    /// Hashes the accesses of a group's lanes. `threads` consists of the warp's first thread and the lanes.
    fn hash(addresses: &[u64], place: Place, threads: (u64, &[u64]), seeds: [u64; 2]) -> Hashes {
        let [mut first, mut second] = [[0u64; WARP_LANES]; 2];
        let lanes = addresses.iter().zip(threads.1);
        for (((&address, &lane), first), second) in lanes.zip(&mut first).zip(&mut second) {
            [*first, *second] = lane_hash(address, place, threads.0 + lane, seeds);
        }
        [first, second]
    }
}

vectorised! {
    /// Sums the hashes that [`hash`] returns.
    fn sum_of_hashes(addresses: &[u64], place: Place, threads: (u64, &[u64]), seeds: [u64; 2]) -> [u64; 2] {
        let mut sums = [0u64; 2];
        for (&address, &lane) in addresses.iter().zip(threads.1) {
            let words = lane_hash(address, place, threads.0 + lane, seeds);
            sums = [sums[0].wrapping_add(words[0]), sums[1].wrapping_add(words[1])];
        }
        sums
    }
}

/// Applies the finaliser of SplitMix64 (Steele, Lea and Flood 2014; Stafford's variant 13), a bijection in which a
/// changed input bit changes half of the output bits on average.
#[inline(always)]
pub const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn key_hash(key: &AllocationKey) -> u64 {
    match key {
        AllocationKey::Heap(ordinal) => mix(PHI.wrapping_add(u64::from(*ordinal))),
        AllocationKey::Symbol(name) => mix(xxh3_64(name.as_bytes()).wrapping_add(PHI << 1)),
    }
}
