//! Tests for `additions`, with threads in place of the device.

use super::*;
use crate::recorder::in_situ::layout::{CTA_SHIFT, LAUNCH_SHIFT};
use std::thread::scope;

const PLACES: usize = 64;
const DEVICE_THREADS: u64 = 4;
const ADDITIONS: u64 = 20_000;
const CTAS: u64 = 7;

fn packed(launch: u64, cta: u64) -> u64 {
    launch << LAUNCH_SHIFT | cta << CTA_SHIFT
}

fn words(count: usize) -> Box<[AtomicU64]> {
    (0..count).map(|_| AtomicU64::new(0)).collect()
}

fn pinned(words: &[AtomicU64]) -> Pinned {
    Pinned {
        host: words.as_ptr() as usize,
        device: 0,
    }
}

#[test]
fn a_small_ring_passes_on_every_addition_once() {
    let (ring, taken) = (words(2 * PLACES), words(1));
    let additions = Additions::from_memory(pinned(&ring), PLACES, pinned(&taken));
    let added = AtomicU64::new(0);
    // Like `add_on_host` in `in_situ_words.cuh`.
    let device = |thread: u64| {
        for number in 0..ADDITIONS {
            let index = added.fetch_add(1, Ordering::Relaxed);
            while index >= taken[0].load(Ordering::Relaxed) + PLACES as u64 {
                std::thread::yield_now();
            }
            let place = index as usize % PLACES;
            let receiver = packed(2, thread) | 2 << ADDED_COUNT_SHIFT | 3;
            ring[2 * place + 1].store(receiver, Ordering::Relaxed);
            ring[2 * place].store(packed(1, number % CTAS) | 4, Ordering::Relaxed);
        }
    };
    scope(|scope| {
        let device = &device;
        for thread in 0..DEVICE_THREADS {
            scope.spawn(move || device(thread));
        }
        while taken[0].load(Ordering::Relaxed) < DEVICE_THREADS * ADDITIONS {
            additions.take();
        }
    });
    let parts = additions.rest();
    assert_eq!(parts.received.len() as u64, DEVICE_THREADS * CTAS);
    let sum =
        |of: fn(&superstep_trace::Received) -> u64| parts.received.iter().map(of).sum::<u64>();
    let expected = DEVICE_THREADS * ADDITIONS;
    assert_eq!(
        (sum(|row| row.bytes), sum(|row| row.count)),
        (4 * expected, 2 * expected)
    );
    let stored = parts.first_read.iter().map(|row| row.stored_bytes);
    assert_eq!(stored.sum::<u64>(), 3 * expected);
    assert!(additions.rest().is_empty());
}

#[test]
fn an_ended_ring_is_not_read() {
    let (ring, taken) = (words(2 * PLACES), words(1));
    let additions = Additions::from_memory(pinned(&ring), PLACES, pinned(&taken));
    ring[0].store(packed(1, 0) | 4, Ordering::Relaxed);
    assert!(!additions.take(), "the receiver is missing");
    ring[1].store(packed(2, 1), Ordering::Relaxed);
    additions.end();
    assert!(!additions.take() && additions.rest().is_empty());
}
