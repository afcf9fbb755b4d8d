//! Accesses aggregated where they happen, by the rules of `docs/capture/in-situ.md`: memory that knows who wrote each byte last. It lies in
//! the host's memory, and the host looks each access up; a GPU does the same by itself.

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

/// Something has more parts than an entry has numbers for.
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

/// A launch whose accesses are being aggregated.
pub struct Running {
    /// Number among all of the program's launches, from 1.
    launch: u32,
    /// Number of its kernel.
    kernel: u32,
    /// What transfers are between.
    blocks: CtaBlocks,
    sums: Mutex<LaunchSums>,
    received: Mutex<Vec<Received>>,
    /// By launch that was read from, in the numbers of entries.
    first_read: Mutex<BTreeMap<u32, FirstRead>>,
}

impl Running {
    /// `number`: its position among all launches, from 0; `kernel`: the number of its kernel.
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

    /// What all that have finished found; to be asked once.
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
