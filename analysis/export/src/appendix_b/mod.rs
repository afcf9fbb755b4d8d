//! The three structures from appendix B of Rieber 2017, built by its rules: accesses are matched by address.
//!
//! A load communicates if its address was last stored to in an earlier launch by another entity (kernel and CTA
//! number); every entity that stored to it in that launch is a source. An atomic is a load and a store. As in the
//! thesis's scripts, accesses that overlap but have different addresses are unrelated;
//! [`superstep_analysis::communication`] matches bytes instead.
//!
//! Memory use: 24 bytes per thread access in the capture.

mod matching;
mod operations;
mod structures;

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::Serialize;
use superstep_analysis::{SiteOps, needs_accesses};
use superstep_table::{FileError, Staged, write_json};
use superstep_trace::{Capture, GroupBuffer, Op};

use crate::error::Result;

pub use matching::Matched;
pub use operations::Operations;
pub use structures::{LoadStore, SizeCount, Transfers, Volumes};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NestedFormat {
    /// JSON; numeric keys are written as strings, as JSON requires.
    Json,
    /// Python's pickle, protocol 3: dictionaries, lists, integers and strings.
    Pickle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    pub address: u64,
    /// Index of the launch in the order of the host's calls.
    pub launch: u32,
    pub cta: u32,
    pub width_bytes: u32,
    /// Index of the multiprocessor or worker; saturates.
    pub sm: u16,
    pub op: Op,
}

/// Identity of a launch in the structures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Demangled name of the kernel without parameters, or its mangled name if that is ambiguous.
    pub kernel: String,
    pub kernel_number: u32,
    pub superstep: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    pub records: Vec<Record>,
    /// Indexed by launch.
    pub steps: Vec<Step>,
}

impl Accesses {
    pub fn new(capture: &Capture) -> Result<Self> {
        needs_accesses(capture, "the structures of appendix B")?;
        let ops = SiteOps::new(capture.sites());
        let chunks: Vec<_> = (capture.launches())
            .flat_map(|record| std::iter::repeat(record.number).zip(record.chunks))
            .collect();
        let parts: Vec<Vec<Record>> = (chunks.into_par_iter())
            .map_init(GroupBuffer::default, |buffer, (launch, chunk)| {
                let mut records = Vec::new();
                let mut sites_known = Ok(());
                capture.read_chunk(chunk, buffer, |group| match ops.op(group.site) {
                    Ok(op) => {
                        records.extend(group.active_addresses().iter().map(|&address| Record {
                            address,
                            launch,
                            cta: group.cta,
                            width_bytes: group.width_bytes,
                            sm: u16::try_from(group.sm).unwrap_or(u16::MAX),
                            op,
                        }));
                    }
                    Err(error) => sites_known = Err(error),
                })?;
                sites_known?;
                Ok(records)
            })
            .collect::<Result<_>>()?;
        let mut records = parts.concat();
        drop(parts);
        records.par_sort_unstable();
        Ok(Self {
            records,
            steps: steps(capture),
        })
    }
}

fn steps(capture: &Capture) -> Vec<Step> {
    let mut kernels: Vec<&str> = Vec::new();
    let launches: Vec<_> = capture.launches().map(|record| record.launch).collect();
    let numbers: Vec<usize> = (launches.iter())
        .map(|launch| {
            let known = kernels.iter().position(|&kernel| kernel == launch.kernel);
            known.unwrap_or_else(|| {
                kernels.push(&launch.kernel);
                kernels.len() - 1
            })
        })
        .collect();
    let display_name = |number: usize| capture.sites().display_name(kernels[number]);
    (launches.iter().zip(numbers))
        .map(|(launch, number)| {
            let name = display_name(number);
            let namesakes = (0..kernels.len()).filter(|&other| display_name(other) == name);
            Step {
                kernel: if namesakes.count() > 1 {
                    kernels[number]
                } else {
                    name
                }
                .to_owned(),
                kernel_number: number as u32,
                superstep: launch.launch.0,
            }
        })
        .collect()
}

/// Writes `volumes`, `transfers` and `operations` of a capture into `folder` and returns the paths.
pub fn write(capture: &Capture, format: NestedFormat, folder: &Path) -> Result<Vec<PathBuf>> {
    let accesses = Accesses::new(capture)?;
    let matched = Matched::new(&accesses);
    let operations = Operations::new(&accesses, &matched.addresses);
    Ok(vec![
        file(format, folder, "volumes", &matched.volumes)?,
        file(format, folder, "transfers", &matched.transfers)?,
        file(format, folder, "operations", &operations)?,
    ])
}

fn file(
    format: NestedFormat,
    folder: &Path,
    name: &str,
    value: &impl Serialize,
) -> Result<PathBuf> {
    let path = folder.join(name);
    match format {
        NestedFormat::Json => Ok(write_json(&path.with_extension("json"), value)?),
        NestedFormat::Pickle => {
            let path = path.with_extension("pickle");
            let mut file = Staged::create(&path)?;
            serde_pickle::to_writer(&mut file, value, serde_pickle::SerOptions::new())
                .map_err(FileError::at("write", &path))?;
            Ok(file.finish()?)
        }
    }
}
