//! Aggregates accesses while kernels run, based on the last writer of each byte. The rules are in
//! `docs/capture/in-situ.md`. This is the host implementation; the GPU implementation is in `runtime/cuda`.

mod accumulator;
pub mod entry;
mod page;
mod received;
mod shadow;
mod untraced;

pub use accumulator::Accumulator;
pub use shadow::Shadow;

use parking_lot::Mutex;
use std::collections::BTreeMap;
use superstep_trace::{CtaBlocks, FirstRead, Launch, LaunchSums, Parts, Received};

/// The launch number, the number of CTAs or the number of threads per CTA is too large for an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "failed to aggregate launch {number} ({ctas} CTAs with {threads} threads each): protocol `in-situ` supports at most {max_launches} launches, 2^27 CTAs and 1024 threads per CTA; record a trace instead",
    max_launches = MAX_LAUNCHES
)]
pub struct TooMany {
    /// Number of the launch, counted from 1.
    pub number: u64,
    pub ctas: u64,
    pub threads: u64,
}

const MAX_LAUNCHES: u32 = (1 << (entry::LAUNCH_BITS - 1)) - 1;

pub struct Running {
    launch: u32,
    kernel: u32,
    /// Granularity of transfers.
    blocks: CtaBlocks,
    sums: Mutex<LaunchSums>,
    received: Mutex<Vec<Received>>,
    /// Keyed by source launch, numbered as in entries.
    first_read: Mutex<BTreeMap<u32, FirstRead>>,
}

impl Running {
    /// Begins launch `number`, counted from 0 across all streams.
    fn new(number: u32, kernel: u32, launch: &Launch, blocks: CtaBlocks) -> Result<Self, TooMany> {
        let (ctas, threads) = (launch.ctas(), launch.threads_per_cta());
        let fits = number < MAX_LAUNCHES
            && ctas <= 1 << entry::CTA_BITS
            && threads <= 1 << entry::THREAD_BITS;
        if !fits {
            return Err(TooMany {
                number: u64::from(number) + 1,
                ctas,
                threads,
            });
        }
        Ok(Running {
            launch: number + 1,
            kernel,
            blocks,
            sums: Mutex::new(LaunchSums::new(launch.stream, launch.launch)),
            received: Mutex::default(),
            first_read: Mutex::default(),
        })
    }

    /// Removes and returns the aggregates of all accumulators. Must be called only once.
    pub fn found(&self) -> (LaunchSums, Parts) {
        let parts = Parts {
            received: std::mem::take(&mut self.received.lock()),
            first_read: std::mem::take(&mut *self.first_read.lock())
                .into_values()
                .collect(),
        };
        (self.sums.lock().clone(), parts)
    }
}
