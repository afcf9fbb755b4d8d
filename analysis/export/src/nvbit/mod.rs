//! Imports the output of NVBit's `mem_trace` as a capture, which can be analysed like any other.
//!
//! ```text
//! MEMTRACE: CTX 0x… - LAUNCH - Kernel pc 0x… - Kernel name copy(float*) - grid launch id 0 - grid size 2,1,1 - block size 32,1,1 - nregs 8 - shmem 0 - cuda stream id 0
//! MEMTRACE: CTX 0x… - grid_launch_id 0 - CTA 0,0,0 - warp 0 - LDG.E.64 - 0x00007f… 0x0000000000000000 …
//! ```
//!
//! Other lines (NVBit's banner, the program's own output) are ignored. The text has no allocations, host copies or
//! source lines, so a site is a kernel/opcode pair, and bytes that no kernel wrote count as uninitialised.
//! `warp` is NVBit's warp number, which is a slot on the multiprocessor. An address of 0 marks an inactive lane.

mod line;
mod opcode;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use rustc_hash::FxHashMap;
use superstep_table::FileError;
use superstep_trace::{
    AccessGroup, Backend, CaptureWriter, ChunkBuilder, Event, Header, KernelInfo, Launch,
    LaunchEnd, LaunchId, LaunchOutcome, ModuleTable, Outcome, Probe, Proof, Site, SiteId, StreamId,
    StreamWriter,
};

use crate::error::{ExportError, Result};
use line::{AccessLine, LaunchLine, Line};
use opcode::{Meaning, meaning};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    pub launches: u64,
    pub thread_accesses: u64,
    /// Number of lines with an opcode that accesses other memory (shared, local, constant).
    pub other_memory: u64,
    /// Number of lines per unknown opcode; their accesses are missing from the capture.
    pub unknown: BTreeMap<String, u64>,
    /// Number of lines with `LD`, `ST` or `ATOM`, which can access any memory; they count as global accesses.
    pub generic: u64,
}

/// Writes a capture into `folder` from the text in `path`. Fails with [`ExportError::Line`] if a line is malformed.
pub fn import(path: &Path, folder: &Path) -> Result<Imported> {
    let mut import = Import::new(path, folder)?;
    let file = File::open(path).map_err(FileError::at("read", path))?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        let read = reader.read_until(b'\n', &mut bytes);
        if read.map_err(FileError::at("read", path))? == 0 {
            break;
        }
        // A program can print binary data between the lines.
        let text = String::from_utf8_lossy(&bytes);
        match line::parse(text.trim_end()) {
            Ok(Some(Line::Launch(launch))) => import.launch(number, &launch)?,
            Ok(Some(Line::Access(access))) => import.access(number, &access)?,
            Ok(None) => {}
            Err(reason) => return Err(line_error(path, number, reason)),
        }
    }
    import.finish()
}

fn line_error(path: &Path, line: usize, reason: impl Into<String>) -> ExportError {
    ExportError::Line {
        path: path.to_owned(),
        line,
        reason: reason.into(),
    }
}

struct Stream {
    /// CUDA's ID of the stream.
    number: u64,
    writer: StreamWriter,
    next: u32,
}

struct Running {
    grid: [u32; 3],
    /// Index in the module.
    kernel: usize,
    chunk: ChunkBuilder,
    /// Counts the accesses so far.
    end: LaunchEnd,
}

struct Import<'a> {
    path: &'a Path,
    capture: CaptureWriter,
    module: ModuleTable,
    /// Each kernel's sites, by opcode.
    sites: Vec<FxHashMap<String, SiteId>>,
    streams: Vec<Stream>,
    running: BTreeMap<u64, Running>,
    sequence: u64,
    imported: Imported,
}

impl<'a> Import<'a> {
    fn new(path: &'a Path, folder: &Path) -> Result<Self> {
        let capture = CaptureWriter::create(folder, &Header::new(Backend::Cuda))?;
        let note = format!("imported from NVBit mem_trace output: {}", path.display());
        capture.event(&Event::Note(note))?;
        Ok(Self {
            path,
            capture,
            module: ModuleTable::new("nvbit-mem-trace", Backend::Cuda, Probe::Trace),
            sites: Vec::new(),
            streams: Vec::new(),
            running: BTreeMap::new(),
            sequence: 0,
            imported: Imported::default(),
        })
    }

    fn launch(&mut self, number: usize, line: &LaunchLine<'_>) -> Result<()> {
        let mut streams = self.streams.iter();
        let known = streams.position(|known| known.number == line.stream);
        let position = known.unwrap_or(self.streams.len());
        let stream = StreamId(position as u32);
        if known.is_none() {
            self.streams.push(Stream {
                number: line.stream,
                writer: self.capture.stream(stream)?,
                next: 0,
            });
        }
        let launch = LaunchId(self.streams[position].next);
        self.streams[position].next += 1;
        self.capture.event(&Event::Launch(Launch {
            sequence: self.sequence,
            stream,
            launch,
            kernel: line.kernel.to_owned(),
            grid: line.grid,
            block: line.block,
            dynamic_shared_bytes: line.shared_bytes,
            ..Launch::default()
        }))?;
        self.sequence += 1;
        self.imported.launches += 1;
        let mut kernels = self.module.kernels.iter();
        let kernel = kernels.position(|kernel| kernel.name == line.kernel);
        let running = Running {
            grid: line.grid,
            kernel: kernel.unwrap_or_else(|| self.add_kernel(line.kernel)),
            chunk: ChunkBuilder::new(launch),
            end: LaunchEnd {
                stream,
                launch,
                thread_accesses: 0,
                elapsed_ns: 0,
                outcome: LaunchOutcome::Completed,
            },
        };
        if self.running.insert(line.id, running).is_some() {
            let reason = format!(
                "grid launch id {} has already been used; import one program's output at a time",
                line.id
            );
            return Err(line_error(self.path, number, reason));
        }
        Ok(())
    }

    fn add_kernel(&mut self, name: &str) -> usize {
        let display_name = name.split('(').next().unwrap_or_default().trim();
        self.module.kernels.push(KernelInfo {
            name: name.to_owned(),
            display_name: display_name.to_owned(),
            parameters: 0,
        });
        self.sites.push(FxHashMap::default());
        self.sites.len() - 1
    }

    fn access(&mut self, number: usize, line: &AccessLine<'_>) -> Result<()> {
        let (op, width_bytes) = match meaning(line.opcode) {
            Meaning::Global {
                op,
                width_bytes,
                generic,
            } => {
                self.imported.generic += u64::from(generic);
                (op, width_bytes)
            }
            Meaning::OtherMemory => {
                self.imported.other_memory += 1;
                return Ok(());
            }
            Meaning::Unknown => {
                let lines = self.imported.unknown.entry(line.opcode.to_owned());
                *lines.or_default() += 1;
                return Ok(());
            }
        };
        let Some(running) = self.running.get_mut(&line.launch) else {
            let reason = format!(
                "expected a line `- LAUNCH - … - grid launch id {}` before the first access of that launch, found none; keep all lines that begin with `MEMTRACE:`",
                line.launch
            );
            return Err(line_error(self.path, number, reason));
        };
        let ([x, y, z], [gx, gy, gz]) = (line.cta, running.grid);
        if x >= gx || y >= gy || z >= gz {
            let reason =
                format!("expected a CTA within the grid {gx},{gy},{gz}, found {x},{y},{z}");
            return Err(line_error(self.path, number, reason));
        }
        let known = self.sites[running.kernel].get(line.opcode);
        let site = match known {
            Some(&site) => site,
            None => {
                let Ok(local) = u16::try_from(self.module.sites.len()) else {
                    let reason = "more than 65536 kernel/opcode pairs";
                    return Err(line_error(self.path, number, reason));
                };
                let id = SiteId::new(0, local);
                self.module.sites.push(Site {
                    id,
                    function: self.module.kernels[running.kernel].name.clone(),
                    file: line.opcode.to_owned(),
                    line: 0,
                    column: 0,
                    op,
                    width_bytes,
                    proof: Proof::Proven,
                    waits: false,
                });
                self.sites[running.kernel].insert(line.opcode.to_owned(), id);
                id
            }
        };
        let mut group = AccessGroup {
            site,
            cta: x + gx * (y + gy * z),
            warp: line.warp,
            width_bytes,
            ..AccessGroup::EMPTY
        };
        for (lane, &address) in line.addresses.iter().enumerate() {
            if address != 0 {
                group.addresses[group.lanes()] = address;
                group.mask |= 1 << lane;
            }
        }
        if group.mask == 0 {
            return Ok(());
        }
        running.end.thread_accesses += group.lanes() as u64;
        self.imported.thread_accesses += group.lanes() as u64;
        running.chunk.push(&group);
        if running.chunk.is_full() {
            let stream = &self.streams[running.end.stream.0 as usize];
            stream.writer.flush(&mut running.chunk)?;
        }
        Ok(())
    }

    fn finish(self) -> Result<Imported> {
        self.capture.module(&self.module)?;
        for mut running in self.running.into_values() {
            let stream = &self.streams[running.end.stream.0 as usize];
            stream.writer.flush(&mut running.chunk)?;
            self.capture.event(&Event::LaunchEnd(running.end))?;
        }
        let lost: u64 = self.imported.unknown.values().sum();
        let opcodes: Vec<&str> = self.imported.unknown.keys().map(String::as_str).collect();
        let opcodes = opcodes.join(", ");
        self.capture.finish(&match lost {
            0 => Outcome::Finished,
            lost => Outcome::Failed(format!(
                "skipped {lost} lines with unknown opcodes: {opcodes}"
            )),
        })?;
        Ok(self.imported)
    }
}
