//! Collects the access groups of one chunk; encoding and compression happen on the caller's thread.

use crate::codec::{Encoder, Offsets};
use crate::container::{Kind, SealedChunk};
use crate::{AccessGroup, LaunchId, WARP_LANES};

/// Encoded bytes at which a chunk should be sealed: enough to compress well, but few enough that little is lost if the
/// program is killed.
const TARGET_CHUNK_BYTES: usize = 256 << 10;

/// Number of groups at which a chunk should be sealed even if it is small: repeated groups take up almost no bytes.
const TARGET_CHUNK_GROUPS: usize = 128 << 10;

/// Collects access groups of one launch. Each producer thread has its own builder; the groups of one traced thread must
/// arrive in program order.
pub struct ChunkBuilder {
    launch: LaunchId,
    encoder: Encoder,
    head: Vec<u8>,
    tail: Vec<u8>,
    thread_accesses: u64,
}

impl ChunkBuilder {
    pub fn new(launch: LaunchId) -> Self {
        ChunkBuilder {
            launch,
            encoder: Encoder::new(),
            head: Vec::new(),
            tail: Vec::new(),
            thread_accesses: 0,
        }
    }

    pub fn launch(&self) -> LaunchId {
        self.launch
    }

    /// Adds a group, unless it has no active lanes.
    pub fn push(&mut self, group: &AccessGroup) {
        if group.mask != 0 {
            self.thread_accesses += group.accesses() as u64;
            self.encoder.encode(group);
        }
    }

    /// Adds `group` with all 32 lanes, lane *l* at `base + stride * l`; its `addresses` are ignored.
    #[inline(always)]
    pub fn push_run(&mut self, group: &AccessGroup, base: u64, stride: u64) {
        if !group.is_grid_barrier() {
            self.thread_accesses += WARP_LANES as u64;
        }
        self.encoder.encode_run(group, base, stride);
    }

    /// Adds `group` with the active lanes at `base` plus their offsets; its `addresses` are ignored.
    #[inline]
    pub fn push_near<const N: usize>(
        &mut self,
        group: &AccessGroup,
        base: u64,
        offsets: Offsets<'_, N>,
    ) {
        if group.mask != 0 {
            self.thread_accesses += group.accesses() as u64;
            self.encoder.encode_near(group, base, offsets);
        }
    }

    pub fn thread_accesses(&self) -> u64 {
        self.thread_accesses
    }

    pub fn is_empty(&self) -> bool {
        self.encoder.groups == 0
    }

    #[inline]
    pub fn is_full(&self) -> bool {
        self.encoder.groups >= TARGET_CHUNK_GROUPS || self.encoder.bytes() >= TARGET_CHUNK_BYTES
    }

    /// Compresses and checksums the groups. Afterwards, the builder is empty, but keeps its memory.
    pub fn seal(&mut self) -> SealedChunk {
        self.head.clear();
        self.tail.clear();
        self.encoder.head(&mut self.head);
        self.encoder.tail(&mut self.tail);
        let (tag, items) = (self.launch.0, self.thread_accesses);
        let sealed = SealedChunk::from_parts(Kind::ACCESSES, tag, items, &self.head, &self.tail);
        self.restart(self.launch);
        sealed
    }

    pub fn restart(&mut self, launch: LaunchId) {
        self.launch = launch;
        self.encoder.clear();
        self.thread_accesses = 0;
    }
}
