//! Checks that an analysis stays within its memory limit, by counting allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use superstep_analysis::communication::{MemoryLimit, Options};
use superstep_analysis::metrics::Settings;
use superstep_analysis::{analyse_within, tables};
use superstep_testing::synthetic::{self, Pattern};
use superstep_trace::Capture;

/// Allocator that counts live bytes.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn allocated(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: all calls are forwarded to the system allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: the caller upholds the contract of `alloc`, which is the same for `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: by the contract of `dealloc`, `pointer` came from `alloc`, hence from `System`, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Half of the accesses are in one page, where each of 2048 CTAs receives from hundreds of others.
#[test]
fn one_page_with_half_of_all_accesses_stays_within_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    synthetic::write(folder.path(), 2, 1 << 19, |_| Pattern::OnePage).unwrap();
    let capture = Capture::open(folder.path()).unwrap();
    let sites = capture.sites();
    let digest = |limit: &MemoryLimit| {
        let analysis = analyse_within(&capture, Options::everything(), limit).unwrap();
        let transfers = analysis.communication.transfers.len();
        let tables = tables::tables(&analysis, sites, &Settings::default()).unwrap();
        (transfers, tables::digest(&tables))
    };
    let limit = MemoryLimit {
        bytes: 224 << 20,
        ..MemoryLimit::none()
    };
    PEAK.store(0, Ordering::Relaxed);
    let within = digest(&limit);
    let peak = PEAK.load(Ordering::Relaxed) as u64;
    // Without the per-shard limit, each transfer would use several times 32 bytes.
    assert!(32 * within.0 > limit.bytes / 4, "{} transfers", within.0);
    assert!(
        peak < limit.bytes,
        "{peak} bytes with a limit of {}",
        limit.bytes
    );
    assert_eq!(within, digest(&MemoryLimit::none()));
}
