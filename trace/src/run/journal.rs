//! The journal that a runtime writes while the program runs. The summary is read from it.
//!
//! Each line is a note in JSON. A program may end without running its exit handlers: through `_exit`, `quick_exit`,
//! `exec` or a signal. In that case, the journal has no `End` note, and only its last note can be incomplete.

use crate::error::{Result, TraceError};
use crate::{
    DeviceInfo, KernelResources, KernelTotals, LaunchCounts, SUMMARY_SCHEMA_VERSION, Summary,
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A line of a journal.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// The summary before anything has happened.
    Begin(Summary),
    Device(DeviceInfo),
    /// The mangled name of the next kernel; other notes refer to it by its index, from 0.
    Kernel(String),
    /// A host thread launches a kernel for the first time.
    HostThread,
    Launch {
        kernel: usize,
        ns: u64,
    },
    OpaqueLaunch(usize),
    OpaqueEnd {
        kernel: usize,
        ns: u64,
    },
    Resources(usize, KernelResources),
    Counts {
        kernel: usize,
        stream: u32,
        launch: u32,
        sites: Vec<(u32, u64)>,
    },
    RecordsLost(u64),
    BadAddresses(u64),
    Fault(String),
    Warning(String),
    /// The exit handlers ran. `counted` is set if the program had the counting probe.
    End {
        counted: bool,
    },
}

/// The index of a kernel that no earlier note names.
#[derive(Debug, thiserror::Error)]
#[error("no kernel has the number {0}")]
struct UnknownKernel(usize);

/// Writes the journal of a process. Every note reaches the file before [`add`](Self::add) returns.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    kernels: HashMap<String, usize>,
}

impl Journal {
    pub fn create(path: PathBuf, begin: Summary) -> Result<Self> {
        let file = File::create(&path).map_err(TraceError::io("create", &path))?;
        let mut journal = Journal {
            file,
            path,
            kernels: HashMap::new(),
        };
        journal.add(Note::Begin(begin))?;
        Ok(journal)
    }

    /// Removes the journal, for a process that should not leave one.
    pub fn remove(self) -> std::io::Result<()> {
        std::fs::remove_file(&self.path)
    }

    /// Adds a note about a kernel; `note` creates it from the kernel's index.
    pub fn add_for_kernel(&mut self, kernel: &str, note: impl FnOnce(usize) -> Note) -> Result<()> {
        let next = self.kernels.len();
        let number = *self.kernels.get(kernel).unwrap_or(&next);
        if number == next {
            self.add(Note::Kernel(kernel.to_owned()))?;
            self.kernels.insert(kernel.to_owned(), next);
        }
        self.add(note(number))
    }

    pub fn add(&mut self, note: Note) -> Result<()> {
        let mut line = serde_json::to_vec(&note).map_err(|source| TraceError::Encode { source })?;
        line.push(b'\n');
        let written = self.file.write_all(&line);
        written.map_err(TraceError::io("write", &self.path))
    }
}

impl Summary {
    /// Reads a journal. If the file is missing, the program never started its runtime.
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |reason: &dyn std::fmt::Display| {
            TraceError::unreadable(path)(std::io::Error::other(reason.to_string()))
        };
        let text = std::fs::read(path).map_err(TraceError::unreadable(path))?;
        // Text after the last line break is incomplete: the process ended while writing it.
        let whole = text.iter().rposition(|&byte| byte == b'\n').unwrap_or(0);
        let notes = serde_json::Deserializer::from_slice(&text[..whole]).into_iter::<Note>();
        let (mut sum, mut names) = (None, Vec::new());
        for note in notes {
            let note = note.map_err(|error| TraceError::unreadable(path)(error.into()))?;
            match (note, &mut sum) {
                (Note::Begin(begin), _) if begin.schema_version != SUMMARY_SCHEMA_VERSION => {
                    return Err(failed(&format_args!(
                        "found schema version {}, expected {SUMMARY_SCHEMA_VERSION}; rebuild the runtime",
                        begin.schema_version
                    )));
                }
                (Note::Begin(begin), _) => sum = Some(begin),
                (note, Some(sum)) => sum.add(note, &mut names).map_err(|error| failed(&error))?,
                (_, None) => return Err(failed(&"it does not start with a `begin` note")),
            }
        }
        sum.ok_or_else(|| failed(&"it is empty"))
    }

    fn add(&mut self, note: Note, names: &mut Vec<String>) -> Result<(), UnknownKernel> {
        let name = |number: usize| {
            let name = names.get(number).cloned();
            name.ok_or(UnknownKernel(number))
        };
        match note {
            Note::Begin(_) => {}
            Note::Device(device) => self.device = device,
            Note::Kernel(name) => names.push(name),
            Note::Launch { kernel, ns } => {
                let kernel = totals(&mut self.kernels, name(kernel)?);
                kernel.launches += 1;
                kernel.ns += ns;
                self.launches += 1;
                self.kernel_ns += ns;
            }
            Note::HostThread => self.host_threads += 1,
            Note::OpaqueLaunch(kernel) => totals(&mut self.opaque, name(kernel)?).launches += 1,
            Note::OpaqueEnd { kernel, ns } => totals(&mut self.opaque, name(kernel)?).ns += ns,
            Note::Resources(kernel, resources) => {
                totals(&mut self.kernels, name(kernel)?).resources = Some(resources);
            }
            Note::Counts {
                kernel,
                stream,
                launch,
                sites,
            } => self.counts.get_or_insert_default().push(LaunchCounts {
                stream,
                launch,
                kernel: name(kernel)?,
                sites,
            }),
            Note::RecordsLost(records) => self.records_lost += records,
            Note::BadAddresses(accesses) => self.bad_addresses += accesses,
            Note::Fault(text) => self.faults.push(text),
            Note::Warning(text) => self.warnings.push(text),
            Note::End { counted } => {
                self.ended = true;
                if counted {
                    self.counts.get_or_insert_default();
                }
            }
        }
        Ok(())
    }
}

fn totals(kernels: &mut Vec<KernelTotals>, name: String) -> &mut KernelTotals {
    let known = kernels.iter().position(|kernel| kernel.name == name);
    let index = known.unwrap_or_else(|| {
        kernels.push(KernelTotals {
            name,
            ..KernelTotals::default()
        });
        kernels.len() - 1
    });
    &mut kernels[index]
}

#[cfg(test)]
mod tests;
