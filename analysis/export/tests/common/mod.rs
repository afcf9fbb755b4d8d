//! A small capture with known communication.
#![allow(dead_code, reason = "each test file uses only some of these items")]

use std::path::Path;
use std::sync::Arc;

use superstep_testing::{self as testing, CaptureBuilder};
use superstep_trace::{AccessGroup, AllocationKind, Capture, Launch, Op, Site};

/// First byte of the only allocation.
pub const BASE: u64 = 0x7000_0000_0000;

/// Site of the load.
pub const LOAD: u16 = 0;
/// Site of the store.
pub const STORE: u16 = 1;
/// Site of the atomic.
pub const ADD: u16 = 2;

/// Returns an access group of consecutive lanes, one for each of the `words` of the allocation.
pub fn group(site: u16, cta: u32, sm: u32, words: &[u64]) -> AccessGroup {
    AccessGroup {
        sm,
        ..testing::group(site, cta, words.iter().map(|word| BASE + 4 * word))
    }
}

/// Writes a capture of launches in stream 0, each given by its kernel (`write` or `read`) and access groups.
pub fn capture(folder: &Path, launches: &[(&str, Vec<AccessGroup>)]) -> Arc<Capture> {
    let site = |local, op| Site {
        function: "_Z4stepPf".into(),
        file: "step.cu".into(),
        line: 7 + u32::from(local),
        column: 3,
        ..testing::site(local, op)
    };
    let sites = vec![
        site(LOAD, Op::Load),
        site(STORE, Op::Store),
        site(ADD, Op::AtomicAdd),
    ];
    let kernels = [("_Z5writePf", "write"), ("_Z4readPf", "read")];
    let module = testing::module("step.cu", sites, &kernels);
    let mut capture = CaptureBuilder::new(folder, &module).with_clock();
    let array = capture.allocate(BASE, 4096, AllocationKind::Device);
    for (kernel, groups) in launches {
        let launch = Launch {
            grid: [2, 2, 1],
            static_shared_bytes: 64,
            ..testing::launch(&format!("_Z{}{kernel}Pf", kernel.len()), 1, 32)
        };
        capture.launch(launch, &[groups]);
    }
    capture.free(array);
    let capture = capture.finish();
    assert!(capture.complete, "{:?}", capture.problems);
    Arc::new(capture)
}

/// Writes the example in `docs/metrics.md` and `docs/exports.md`: CTA 0 of `write` stores words 0 and 1, CTA 1 words 2
/// and 3; then two warps of CTA 0 of `read` load words 1 and 2, and CTA 1 words 2 and 4.
pub fn worked_example(folder: &Path) -> Arc<Capture> {
    capture(
        folder,
        &[
            (
                "write",
                vec![group(STORE, 0, 5, &[0, 1]), group(STORE, 1, 6, &[2, 3])],
            ),
            (
                "read",
                vec![
                    group(LOAD, 0, 5, &[1, 2]),
                    group(LOAD, 0, 5, &[1, 2]),
                    group(LOAD, 1, 5, &[2, 4]),
                ],
            ),
        ],
    )
}
