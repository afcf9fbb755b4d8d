//! Settings of this protocol in the environment, beyond those of `superstep_runtime_core::Config`.

use super::layout::Shape;
use std::time::Duration;
use superstep_runtime_core::Config;

/// Pieces of a ring on the device.
const SLOTS: usize = 4;
/// Units of a piece: 64 KiB.
const PIECE_UNITS: usize = 4096;
/// Pieces of each ring that the host has room for.
const HOST_SLOTS: usize = 32;
/// The same, and threads, for kernels in CUDA graphs.
const GRAPH_HOST_SLOTS: usize = 8;
const GRAPH_WORKERS: usize = 4;
/// Most threads that empty a buffer, unless asked for.
const MOST_WORKERS: usize = 16;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SinkChoice {
    /// Compressed into the capture.
    #[default]
    Disk,
    /// The last records of each worker stay in memory as they came; older ones are overwritten.
    Memory,
    /// Only their number is kept.
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `SUPERSTEP_BINS` (rings), `SUPERSTEP_BIN_RECORDS` (units of a piece), `SUPERSTEP_RING_PIECES`, `SUPERSTEP_HOST_PIECES`.
    pub shape: Shape,
    /// `SUPERSTEP_WORKERS`: threads that empty a buffer.
    pub workers: usize,
    pub how: WorkerSettings,
}

/// How a worker handles pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerSettings {
    /// `SUPERSTEP_SINK`: disk, memory or count.
    pub sink: SinkChoice,
    /// `SUPERSTEP_CONSUMER_PAUSE_US`: longest random pause before each look at the rings; for tests of slow consumers.
    pub pause: Duration,
}

impl Settings {
    /// Reads them for a device of `sms` SMs. `lookup` reads the environment; unusable values are left at their default
    /// and reported in the second value.
    pub fn read(
        config: &Config,
        sms: usize,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let mut number = |name: &str, default: usize| match lookup(name).as_deref() {
            None | Some("") => default,
            Some(text) => text.parse().ok().filter(|&n| n > 0).unwrap_or_else(|| {
                problems.push(format!(
                    "failed to read {name}={text:?}: expected a number, at least 1"
                ));
                default
            }),
        };
        let cores = std::thread::available_parallelism().map_or(4, usize::from);
        let shape = Shape::rounded(
            config.bins.map_or(sms, |bins| bins as usize),
            config
                .bin_records
                .map_or(PIECE_UNITS, |units| units as usize),
            number("SUPERSTEP_RING_PIECES", SLOTS),
            number("SUPERSTEP_HOST_PIECES", HOST_SLOTS),
        );
        let most = cores.saturating_sub(2).clamp(1, MOST_WORKERS);
        let workers = number("SUPERSTEP_WORKERS", most).min(shape.rings);
        let pause = match lookup("SUPERSTEP_CONSUMER_PAUSE_US").as_deref() {
            None | Some("" | "0") => Duration::ZERO,
            Some(_) => Duration::from_micros(number("SUPERSTEP_CONSUMER_PAUSE_US", 1) as u64),
        };
        let sink = match lookup("SUPERSTEP_SINK").as_deref() {
            None | Some("" | "disk") => SinkChoice::Disk,
            Some("memory") => SinkChoice::Memory,
            Some("count") => SinkChoice::Count,
            Some(text) => {
                problems.push(format!(
                    "failed to read SUPERSTEP_SINK={text:?}: expected disk, memory or count"
                ));
                SinkChoice::Disk
            }
        };
        let settings = Settings {
            shape,
            workers,
            how: WorkerSettings { sink, pause },
        };
        (settings, problems)
    }

    /// The same with less memory and fewer threads: a CUDA graph may need many buffers.
    pub fn for_graph(mut self) -> Self {
        self.shape.host_slots = self.shape.host_slots.min(GRAPH_HOST_SLOTS);
        self.workers = self.workers.min(GRAPH_WORKERS);
        self
    }
}

#[cfg(test)]
mod tests;
