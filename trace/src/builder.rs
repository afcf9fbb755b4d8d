//! Collects the access groups of one chunk; encoding and compression happen on the caller's thread.

use crate::codec::Encoder;
use crate::container::{Kind, SealedChunk};
use crate::{AccessGroup, LaunchId};

/// A chunk should be sealed once its encoded groups take this much: large enough to compress well, small enough to
/// lose little when the program is killed and to be analysed in parallel.
pub const TARGET_CHUNK_BYTES: usize = 256 << 10;

/// Access groups of one launch on their way into the capture.
///
/// Each producer thread has its own builder, so that several encode in parallel. The groups of one thread of the
/// traced program must pass through builders in program order.
pub struct ChunkBuilder {
    launch: LaunchId,
    encoder: Encoder,
    bytes: Vec<u8>,
    thread_accesses: u64,
}

impl ChunkBuilder {
    pub fn new(launch: LaunchId) -> Self {
        ChunkBuilder {
            launch,
            encoder: Encoder::default(),
            bytes: Vec::new(),
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
            self.encoder.encode(group, &mut self.bytes);
        }
    }

    /// The encoded groups, before compression.
    pub fn encoded(&self) -> &[u8] {
        &self.bytes
    }

    /// Accesses in the chunk, each lane counted.
    pub fn thread_accesses(&self) -> u64 {
        self.thread_accesses
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether the chunk has reached [`TARGET_CHUNK_BYTES`] and should be sealed.
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= TARGET_CHUNK_BYTES
    }

    /// Compresses and checksums the groups; the builder is empty afterwards and keeps its memory.
    pub fn seal(&mut self) -> SealedChunk {
        let (tag, items) = (self.launch.0, self.thread_accesses);
        let sealed = SealedChunk::new(Kind::ACCESSES, tag, items, &self.bytes);
        self.restart(self.launch);
        sealed
    }

    /// Drops what was collected and starts a chunk of `launch`.
    pub fn restart(&mut self, launch: LaunchId) {
        self.launch = launch;
        self.encoder.clear();
        self.bytes.clear();
        self.thread_accesses = 0;
    }
}
