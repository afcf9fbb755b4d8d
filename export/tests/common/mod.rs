//! A small capture whose communication is known.
#![allow(dead_code, reason = "each test file uses its own part of this")]

use std::path::Path;
use std::time::Instant;

use superstep_trace::{
    AccessGroup, AllocationId, AllocationKind, Backend, Capture, CaptureWriter, ChunkBuilder,
    Event, Header, KernelInfo, Launch, LaunchId, LaunchOutcome, ModuleTable, Op, Outcome, Probe,
    Proof, Site, SiteId, StreamId, TABLE_SCHEMA_VERSION,
};

/// First byte of the only allocation.
pub const BASE: u64 = 0x7000_0000_0000;

/// Number of the load's site.
pub const LOAD: SiteId = SiteId::new(0, 0);
/// Number of the store's site.
pub const STORE: SiteId = SiteId::new(0, 1);
/// Number of the atomic's site.
pub const ADD: SiteId = SiteId::new(0, 2);

fn site(id: SiteId, op: Op) -> Site {
    Site {
        id,
        function: "_Z4stepPf".into(),
        file: "step.cu".into(),
        line: 7 + id.local(),
        column: 3,
        op,
        width_bytes: 4,
        proof: Proof::Proven,
    }
}

fn table() -> ModuleTable {
    let kernel = |name: &str, display_name: &str| KernelInfo {
        name: name.into(),
        display_name: display_name.into(),
        parameters: 1,
    };
    ModuleTable {
        opaque_assembly: 0,
        defined: None,
        schema_version: TABLE_SCHEMA_VERSION,
        module: 0,
        name: "step.cu".into(),
        backend: Backend::Cpu,
        probe: Probe::Trace,
        sites: vec![
            site(LOAD, Op::Load),
            site(STORE, Op::Store),
            site(ADD, Op::AtomicAdd),
        ],
        kernels: vec![kernel("_Z5writePf", "write"), kernel("_Z4readPf", "read")],
    }
}

/// An access group of the lanes from 0 on, one for each word of the allocation.
pub fn group(site: SiteId, cta: u32, sm: u32, words: &[u64]) -> AccessGroup {
    let mut group = AccessGroup {
        site,
        cta,
        sm,
        width_bytes: 4,
        mask: ((1u64 << words.len()) - 1) as u32,
        ..AccessGroup::EMPTY
    };
    for (address, word) in group.addresses.iter_mut().zip(words) {
        *address = BASE + 4 * word;
    }
    group
}

/// Writes a capture of launches, each a kernel (`write` or `read`) and its groups, all in stream 0.
pub fn capture(folder: &Path, launches: &[(&str, Vec<AccessGroup>)]) -> Capture {
    let writer = CaptureWriter::create(folder, &Header::new(Backend::Cpu))
        .unwrap()
        .with_clock(Instant::now());
    writer.module(&table()).unwrap();
    let allocate = Event::Allocate {
        sequence: 0,
        id: AllocationId(0),
        address: BASE,
        bytes: 4096,
        kind: AllocationKind::Device,
        place: None,
    };
    writer.event(&allocate).unwrap();
    for (number, (kernel, groups)) in (0u32..).zip(launches) {
        let launch = Launch {
            sequence: 1 + u64::from(number),
            stream: StreamId(0),
            launch: LaunchId(number),
            kernel: format!("_Z{}{kernel}Pf", kernel.len()),
            grid: [2, 2, 1],
            block: [32, 1, 1],
            dynamic_shared_bytes: 0,
            static_shared_bytes: 64,
        };
        writer.event(&Event::Launch(launch)).unwrap();
        let mut chunk = ChunkBuilder::new(LaunchId(number));
        groups.iter().for_each(|group| chunk.push(group));
        let end = Event::LaunchEnd {
            stream: StreamId(0),
            launch: LaunchId(number),
            thread_accesses: chunk.thread_accesses(),
            elapsed_ns: 1500,
            outcome: LaunchOutcome::Completed,
        };
        writer.stream(StreamId(0)).unwrap().write(chunk).unwrap();
        writer.event(&end).unwrap();
    }
    let free = Event::Free {
        sequence: 1 + launches.len() as u64,
        id: AllocationId(0),
    };
    writer.event(&free).unwrap();
    writer.finish(&Outcome::Finished).unwrap();
    let capture = Capture::open(folder).unwrap();
    assert!(capture.complete, "{:?}", capture.problems);
    capture
}

/// The worked example of `docs/metrics.md` and `docs/exports.md`: CTA 0 of `write` stores words 0 and 1, CTA 1 words 2 and 3; then two
/// warps of CTA 0 of `read` load words 1 and 2, and CTA 1 words 2 and 4.
pub fn worked_example(folder: &Path) -> Capture {
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
