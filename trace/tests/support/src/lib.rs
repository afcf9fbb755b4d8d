//! Captures for tests and benchmarks. Errors while writing them cause panics.

pub mod synthetic;

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;
use superstep_trace::digest::{Hasher, Known};
use superstep_trace::{
    AccessGroup, Allocation, AllocationId, AllocationKind, Backend, Capture, CaptureWriter,
    ChunkBuilder, CopyDirection, Event, GroupBuffer, Header, HostCopy, HostMemset, KernelInfo,
    KnownCall, Launch, LaunchDigest, LaunchEnd, LaunchId, LaunchOutcome, ModuleTable, Op,
    OpaqueEnd, OpaqueGeometry, OpaqueLaunch, Outcome, Parts, Probe, Proof, Site, SiteId,
    SourcePlace, StreamId, TraceError,
};

/// Returns site `local` of module 0, 4 bytes wide, at line 10 + `local` of `test.cu`.
pub fn site(local: u16, op: Op) -> Site {
    Site {
        id: SiteId::new(0, local),
        function: "kernel".into(),
        file: "test.cu".into(),
        line: 10 + u32::from(local),
        column: 1,
        op,
        width_bytes: 4,
        proof: Proof::Proven,
        waits: false,
    }
}

/// Returns a module with `sites` and kernels with one parameter, each given by its mangled and readable names.
pub fn module(name: &str, sites: Vec<Site>, kernels: &[(&str, &str)]) -> ModuleTable {
    let kernel = |(name, display_name): &(&str, &str)| KernelInfo {
        name: (*name).to_owned(),
        display_name: (*display_name).to_owned(),
        parameters: 1,
    };
    ModuleTable {
        module: sites.first().map_or(0, |site| site.id.module()),
        sites,
        kernels: kernels.iter().map(kernel).collect(),
        ..ModuleTable::new(name, Backend::Cpu, Probe::Trace)
    }
}

/// Returns a launch in stream 0, to be numbered by [`CaptureBuilder`].
pub fn launch(kernel: &str, ctas: u32, threads: u32) -> Launch {
    Launch {
        sequence: 0,
        stream: StreamId(0),
        launch: LaunchId(0),
        kernel: kernel.to_owned(),
        grid: [ctas, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared_bytes: 0,
        static_shared_bytes: 0,
        parent: None,
        device: 0,
    }
}

/// Returns a group of warp 0 in which the first lanes access 4 bytes each, at `addresses`.
pub fn group(site: u16, cta: u32, addresses: impl IntoIterator<Item = u64>) -> AccessGroup {
    let mut group = AccessGroup {
        site: SiteId::new(0, site),
        cta,
        width_bytes: 4,
        ..AccessGroup::EMPTY
    };
    for (lane, address) in addresses.into_iter().enumerate() {
        group.addresses[lane] = address;
        group.mask |= 1 << lane;
    }
    group
}

/// Returns the addresses of consecutive words for 32 lanes, for [`group`].
pub fn words(address: u64) -> impl Iterator<Item = u64> {
    (0..32).map(move |lane| address + 4 * lane)
}

/// Writes a capture call by call, and numbers calls, allocations and launches as the runtimes do.
pub struct CaptureBuilder {
    writer: CaptureWriter,
    sequence: u64,
    allocations: u32,
    launches: HashMap<StreamId, u32>,
    accesses: HashMap<(StreamId, LaunchId), u64>,
}

/// Returns the digests of all launches of a capture, in host order.
pub fn digests(capture: &Capture) -> Result<Vec<(&Launch, LaunchDigest)>, TraceError> {
    let mut buffer = GroupBuffer::default();
    let digests = capture.launches().map(|record| {
        let mut known = Known::default();
        let mut hasher = Hasher::new(&record, capture.sites(), &mut known);
        for chunk in record.chunks {
            capture.read_chunk(chunk, &mut buffer, |group| {
                hasher.add(group);
            })?;
        }
        Ok((record.launch, hasher.finish()))
    });
    digests.collect()
}

impl CaptureBuilder {
    /// Creates a CPU backend capture in `folder`, for a program with one module.
    pub fn new(folder: &Path, module: &ModuleTable) -> Self {
        Self::with_header(folder, &Header::new(Backend::Cpu), module)
    }

    pub fn with_header(folder: &Path, header: &Header, module: &ModuleTable) -> Self {
        let writer = written(CaptureWriter::create(folder, header));
        written(writer.module(module));
        CaptureBuilder {
            writer,
            sequence: 0,
            allocations: 0,
            launches: HashMap::new(),
            accesses: HashMap::new(),
        }
    }

    /// Timestamps all subsequent events.
    #[must_use]
    pub fn with_clock(mut self) -> Self {
        self.writer = self.writer.with_clock(Instant::now());
        self
    }

    /// Sets the sequence number of the next call, for captures that are not written in host order.
    pub fn at(&mut self, sequence: u64) -> &mut Self {
        self.sequence = sequence;
        self
    }

    pub fn event(&mut self, event: &Event) {
        written(self.writer.event(event));
    }

    pub fn parts(&mut self, parts: Parts) {
        written(self.writer.parts(parts.seal()));
    }

    pub fn allocate(&mut self, address: u64, bytes: u64, kind: AllocationKind) -> AllocationId {
        self.allocate_from(None, address, bytes, kind)
    }

    /// Adds an allocation made by a call at `place`.
    pub fn allocate_from(
        &mut self,
        place: Option<SourcePlace>,
        address: u64,
        bytes: u64,
        kind: AllocationKind,
    ) -> AllocationId {
        let id = AllocationId(self.allocations);
        self.allocations += 1;
        let event = Event::Allocate(Allocation {
            sequence: self.next_sequence(),
            id,
            address,
            bytes,
            kind,
            place,
            ..Allocation::default()
        });
        self.event(&event);
        id
    }

    pub fn free(&mut self, id: AllocationId) {
        let sequence = self.next_sequence();
        self.event(&Event::Free { sequence, id });
    }

    pub fn copy(&mut self, direction: CopyDirection, destination: u64, source: u64, bytes: u64) {
        let copy = HostCopy {
            sequence: self.next_sequence(),
            direction,
            destination,
            source,
            bytes,
            stream: StreamId(0),
        };
        self.event(&Event::Copy(copy));
    }

    pub fn memset(&mut self, address: u64, bytes: u64, value: u8) {
        let memset = HostMemset {
            sequence: self.next_sequence(),
            address,
            bytes,
            value,
            stream: StreamId(0),
        };
        self.event(&Event::Memset(memset));
    }

    /// Adds an opaque launch of `kernel` in stream 0 that runs for 700 ns.
    pub fn opaque(&mut self, kernel: Option<&str>) {
        self.opaque_call(kernel, None);
    }

    /// Adds an opaque launch made by a known call.
    pub fn opaque_call(&mut self, kernel: Option<&str>, call: Option<KnownCall>) {
        let launch = OpaqueLaunch {
            sequence: self.next_sequence(),
            stream: StreamId(0),
            kernel: kernel.map(str::to_owned),
            geometry: kernel.map(|_| OpaqueGeometry {
                grid: [4, 1, 1],
                block: [64, 1, 1],
            }),
            call,
        };
        let end = OpaqueEnd {
            launch: launch.sequence,
            elapsed_ns: 700,
        };
        self.event(&Event::OpaqueLaunch(launch));
        self.event(&Event::OpaqueEnd(end));
    }

    /// Adds a launch and its end; `chunks` contains its groups.
    pub fn launch<C: AsRef<[AccessGroup]>>(&mut self, launch: Launch, chunks: &[C]) -> Launch {
        let launch = self.begin(launch);
        for chunk in chunks {
            self.chunk(&launch, chunk.as_ref());
        }
        self.end(&launch);
        launch
    }

    /// Numbers and announces a launch.
    pub fn begin(&mut self, mut launch: Launch) -> Launch {
        launch.sequence = self.next_sequence();
        let next = self.launches.entry(launch.stream).or_default();
        launch.launch = LaunchId(*next);
        *next += 1;
        self.event(&Event::Launch(launch.clone()));
        written(self.writer.stream(launch.stream));
        launch
    }

    /// Adds a chunk of a launch, unless `groups` is empty.
    pub fn chunk<'a>(
        &mut self,
        launch: &Launch,
        groups: impl IntoIterator<Item = &'a AccessGroup>,
    ) {
        let mut chunk = ChunkBuilder::new(launch.launch);
        groups.into_iter().for_each(|group| chunk.push(group));
        let accesses = self.accesses.entry((launch.stream, launch.launch));
        *accesses.or_default() += chunk.thread_accesses();
        written(written(self.writer.stream(launch.stream)).flush(&mut chunk));
    }

    pub fn end(&mut self, launch: &Launch) {
        let accesses = self.accesses.get(&(launch.stream, launch.launch));
        let accesses = accesses.copied().unwrap_or_default();
        self.end_with(launch, accesses, LaunchOutcome::Completed);
    }

    pub fn end_with(&mut self, launch: &Launch, thread_accesses: u64, outcome: LaunchOutcome) {
        let end = LaunchEnd {
            stream: launch.stream,
            launch: launch.launch,
            thread_accesses,
            elapsed_ns: 1500,
            outcome,
        };
        self.event(&Event::LaunchEnd(end));
    }

    /// Ends the capture and opens it.
    pub fn finish(self) -> Capture {
        self.finish_with(&Outcome::Finished)
    }

    pub fn finish_with(self, outcome: &Outcome) -> Capture {
        written(self.writer.finish(outcome));
        written(Capture::open(self.writer.folder()))
    }

    /// Opens the capture without ending it, as if the program had been killed.
    pub fn kill(self) -> Capture {
        written(Capture::open(self.writer.folder()))
    }

    fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence - 1
    }
}

fn written<T>(result: Result<T, TraceError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}
