//! Aggregates accesses while kernels run, by the rules of `docs/capture/in-situ.md`, from the last writer of each byte.
//! This is the host's implementation; that for a GPU is in `runtime/cuda`.

mod accumulator;
pub mod entry;
mod kernels;
mod page;
mod received;
mod shadow;
mod untraced;

pub use accumulator::Accumulator;
pub use shadow::Shadow;

use parking_lot::Mutex;
use std::collections::BTreeMap;
use superstep_trace::{CtaBlocks, FirstRead, Launch, LaunchSums, Parts, Received};

/// The launch, its CTAs or its threads exceed the numbers that an entry can hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "failed to add up launch {number} of the program, with {ctas} CTAs of {threads} threads: in situ, a program has at most {most_launches} launches of 2^27 CTAs of 1024 threads; record a trace of it",
    most_launches = MOST_LAUNCHES
)]
pub struct TooMany {
    /// From 1.
    pub number: u64,
    pub ctas: u64,
    pub threads: u64,
}

const MOST_LAUNCHES: u32 = (1 << (entry::LAUNCH_BITS - 1)) - 1;

pub struct Running {
    launch: u32,
    kernel: u32,
    /// Granularity of transfers.
    blocks: CtaBlocks,
    sums: Mutex<LaunchSums>,
    received: Mutex<Vec<Received>>,
    /// By source launch, numbered as in entries.
    first_read: Mutex<BTreeMap<u32, FirstRead>>,
}

impl Running {
    /// Begins launch `number`, counted from 0 over all streams.
    fn new(number: u32, kernel: u32, launch: &Launch, blocks: CtaBlocks) -> Result<Self, TooMany> {
        let (ctas, threads) = (launch.ctas(), launch.threads_per_cta());
        let fits = number < MOST_LAUNCHES
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

    /// Takes the aggregates of all accumulators. To be called once.
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
