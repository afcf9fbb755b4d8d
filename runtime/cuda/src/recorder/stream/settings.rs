//! Buffer sizes and thread counts, either configured or derived from the device.

use super::layout::Shape;
use std::time::Duration;
use superstep_abi::{Config, RecordSink};

/// Pieces per ring on the device.
const SLOTS: usize = 4;
/// Units per piece: 64 KiB.
const PIECE_UNITS: usize = 4096;
/// Pieces per ring that the host has room for.
const HOST_SLOTS: usize = 32;
/// Maximum number of host pieces per ring, and of threads, for kernels in CUDA graphs.
const GRAPH_HOST_SLOTS: usize = 8;
const GRAPH_WORKERS: usize = 4;
/// Default maximum number of threads that empty a buffer.
const MAX_WORKERS: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub shape: Shape,
    pub workers: usize,
    pub sink: RecordSink,
    /// Longest random pause before each check of the rings, for tests of slow consumers.
    pub pause: Duration,
}

impl Settings {
    pub fn new(config: &Config, sms: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(4, usize::from);
        let shape = Shape::rounded(
            config.bins.map_or(sms, |bins| bins as usize),
            (config.bin_records).map_or(PIECE_UNITS, |units| units.get() as usize),
            config.ring_pieces.map_or(SLOTS, usize::from),
            config.host_pieces.map_or(HOST_SLOTS, usize::from),
        );
        let default = cores.saturating_sub(2).clamp(1, MAX_WORKERS);
        let workers = config.workers.map_or(default, usize::from);
        Settings {
            shape,
            workers: workers.min(shape.rings),
            sink: config.sink,
            pause: config.consumer_pause,
        }
    }

    /// Returns settings with less memory and fewer threads, since a CUDA graph may need many buffers.
    pub fn for_graph(mut self) -> Self {
        self.shape.host_slots = self.shape.host_slots.min(GRAPH_HOST_SLOTS);
        self.workers = self.workers.min(GRAPH_WORKERS);
        self
    }
}

#[cfg(test)]
mod tests;
