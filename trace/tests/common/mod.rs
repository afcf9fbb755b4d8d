//! Captures made up for tests.
#![allow(dead_code)]

use proptest::prelude::*;
use std::path::Path;
use superstep_trace::*;

/// The sites that [`any_group`] uses: local numbers 0 to 14 of module 1, one of each operation and one of varying width.
pub fn module() -> ModuleTable {
    let site = |(local, op): (usize, Op)| Site {
        id: SiteId::new(1, local as u16),
        function: "_Z6kernelPf".into(),
        file: "kernel.cu".into(),
        line: 10 + local as u32,
        column: 3,
        op,
        width_bytes: 4,
        proof: Proof::Proven,
    };
    ModuleTable {
        opaque_assembly: 0,
        defined: None,
        schema_version: TABLE_SCHEMA_VERSION,
        module: 1,
        name: "kernel.cu".into(),
        backend: Backend::Cpu,
        probe: Probe::Trace,
        sites: Op::ALL
            .into_iter()
            .chain([Op::Load])
            .enumerate()
            .map(site)
            .collect(),
        kernels: vec![KernelInfo {
            name: "_Z6kernelPf".into(),
            display_name: "kernel".into(),
            parameters: 1,
        }],
    }
}

pub fn launch(sequence: u64, stream: u32, launch: u32) -> Launch {
    Launch {
        sequence,
        stream: StreamId(stream),
        launch: LaunchId(launch),
        kernel: "_Z6kernelPf".into(),
        grid: [7, 3, 2],
        block: [16, 8, 1],
        dynamic_shared_bytes: 0,
        static_shared_bytes: 128,
    }
}

/// Two allocations and a symbol, 64 KiB each, at `base`, `base + 1 MiB` and `base + 2 MiB`.
pub fn allocations(base: u64) -> Vec<Event> {
    let kinds = [
        AllocationKind::Device,
        AllocationKind::Managed,
        AllocationKind::Symbol {
            name: "table".into(),
        },
    ];
    let allocate = |(index, kind): (usize, AllocationKind)| Event::Allocate {
        sequence: index as u64,
        id: AllocationId(index as u32),
        address: base + ((index as u64) << 20),
        bytes: 64 << 10,
        kind,
        place: None,
    };
    kinds.into_iter().enumerate().map(allocate).collect()
}

/// An address in one of the allocations, 16-byte aligned.
fn any_address(base: u64) -> impl Strategy<Value = u64> {
    (0u64..3, 0u64..4080)
        .prop_map(move |(allocation, index)| base + (allocation << 20) + index * 16)
}

/// A group in the grid of [`launch`], at the sites of [`module`], in the memory of [`allocations`].
pub fn any_group(base: u64) -> impl Strategy<Value = AccessGroup> {
    let addresses = prop_oneof![
        proptest::array::uniform32(any_address(base)),
        (any_address(base), 0u64..3)
            .prop_map(|(base, log)| std::array::from_fn(|lane| base + ((lane as u64) << log))),
    ];
    let width = prop_oneof![Just(4u32), 0u32..1000];
    (
        0u16..15,
        0u32..42,
        0u32..4,
        0u32..8,
        any::<u32>(),
        width,
        addresses,
    )
        .prop_map(
            |(site, cta, warp, sm, mask, width_bytes, addresses)| AccessGroup {
                site: SiteId::new(1, site),
                cta,
                warp,
                sm,
                mask: mask | 1,
                width_bytes,
                addresses,
            },
        )
}

/// Writes a finished capture: each entry of `launches` is a launch of stream 0, each of its chunks is one in the file.
pub fn write(folder: &Path, base: u64, launches: &[Vec<Vec<AccessGroup>>]) {
    let capture = CaptureWriter::create(folder, &Header::new(Backend::Cpu)).unwrap();
    capture.module(&module()).unwrap();
    for event in allocations(base) {
        capture.event(&event).unwrap();
    }
    let stream = capture.stream(StreamId(0)).unwrap();
    for (number, chunks) in launches.iter().enumerate() {
        let launch = launch(10 + number as u64, 0, number as u32);
        capture.event(&Event::Launch(launch.clone())).unwrap();
        let mut thread_accesses = 0;
        for groups in chunks {
            let mut builder = ChunkBuilder::new(launch.launch);
            groups.iter().for_each(|group| builder.push(group));
            thread_accesses += builder.thread_accesses();
            stream.write(builder).unwrap();
        }
        let (launch, outcome) = (launch.launch, LaunchOutcome::Completed);
        let end = Event::LaunchEnd {
            stream: StreamId(0),
            launch,
            thread_accesses,
            elapsed_ns: 5,
            outcome,
        };
        capture.event(&end).unwrap();
    }
    capture.finish(&Outcome::Finished).unwrap();
}

/// Groups of a stream up to the first error, with their launch numbers, and that error.
pub fn groups(capture: &Capture, stream: u32) -> (Vec<(u32, AccessGroup)>, Option<TraceError>) {
    let mut all = Vec::new();
    let result = capture.groups(StreamId(stream), |launch, group| {
        all.push((launch.launch.0, *group))
    });
    (all, result.err())
}
