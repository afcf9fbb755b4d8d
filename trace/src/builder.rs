//! Collects the access groups of one chunk; encoding and compression happen on the caller's thread.

use crate::codec::{Encoder, Offsets};
use crate::container::{Kind, SealedChunk};
use crate::{AccessGroup, LaunchId, WARP_LANES};

/// A chunk should be sealed once its encoded groups take this much: large enough to compress well, small enough to
/// lose little when the program is killed and to be analysed in parallel.
pub const TARGET_CHUNK_BYTES: usize = 256 << 10;

/// Limit of its groups, which may take next to nothing.
const TARGET_CHUNK_GROUPS: usize = 128 << 10;

/// Access groups of one launch on their way into the capture.
///
/// Each producer thread has its own builder, so that several encode in parallel. The groups of one thread of the
/// traced program must pass through builders in program order.
pub struct ChunkBuilder {
    launch: LaunchId,
    encoder: Encoder,
    /// Memory for [`seal`](Self::seal).
    head: Vec<u8>,
    tail: Vec<u8>,
    thread_accesses: u64,
}

impl ChunkBuilder {
    pub fn new(launch: LaunchId) -> Self {
        ChunkBuilder {
            launch,
            encoder: Encoder::default(),
            head: Vec::new(),
            tail: Vec::new(),
            thread_accesses: 0,
        }
    }

    pub fn launch(&self) -> LaunchId {
        self.launch
    }

    /// Adds a group. Groups without active lanes are left out.
    pub fn push(&mut self, group: &AccessGroup) {
        if group.mask != 0 {
            self.thread_accesses += group.lanes() as u64;
            self.encoder.encode(group);
        }
    }

    /// Adds `group` with all 32 lanes, whatever its addresses are: lane *l* is at `base + stride * l`.
    #[inline(always)]
    pub fn push_run(&mut self, group: &AccessGroup, base: u64, stride: u64) {
        self.thread_accesses += WARP_LANES as u64;
        self.encoder.encode_run(group, base, stride);
    }

    /// Adds `group`, whatever its addresses are: the active lanes are so far from `base`. A group without active lanes is left out.
    #[inline]
    pub fn push_near<const N: usize>(
        &mut self,
        group: &AccessGroup,
        base: u64,
        offsets: Offsets<'_, N>,
    ) {
        if group.mask != 0 {
            self.thread_accesses += group.lanes() as u64;
            self.encoder.encode_near(group, base, offsets);
        }
    }

    /// The encoded groups, before compression: the part that is worth compressing, and the one that mostly is not.
    pub fn encoded(&mut self) -> (&[u8], &[u8]) {
        self.head.clear();
        self.tail.clear();
        self.encoder.head(&mut self.head);
        self.encoder.tail(&mut self.tail);
        (&self.head, &self.tail)
    }

    /// Accesses in the chunk, each lane counted.
    pub fn thread_accesses(&self) -> u64 {
        self.thread_accesses
    }

    pub fn is_empty(&self) -> bool {
        self.encoder.groups() == 0
    }

    /// Whether the chunk has reached [`TARGET_CHUNK_BYTES`], or has as many groups as that is to hold, and should be sealed.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.encoder.groups() >= TARGET_CHUNK_GROUPS || self.encoder.bytes() >= TARGET_CHUNK_BYTES
    }

    /// Compresses and checksums the groups; the builder is empty afterwards and keeps its memory.
    pub fn seal(&mut self) -> SealedChunk {
        let (tag, items) = (self.launch.0, self.thread_accesses);
        let (head, tail) = self.encoded();
        let sealed = SealedChunk::of_two(Kind::ACCESSES, tag, items, head, tail);
        self.restart(self.launch);
        sealed
    }

    /// Drops what was collected and starts a chunk of `launch`.
    pub fn restart(&mut self, launch: LaunchId) {
        self.launch = launch;
        self.encoder.clear();
        self.thread_accesses = 0;
    }
}
