//! Properties of a whole run.

use crate::{Backend, CtaBlocks, Process, Selection};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    pub name: String,
    /// Compute capability as `[major, minor]`; on the CPU, the one reported to programs.
    pub compute_capability: [u32; 2],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of Superstep that wrote the capture.
    pub tool_version: String,
    pub program: String,
    /// Arguments without the program's name.
    pub arguments: Vec<String>,
    pub backend: Backend,
    pub device: DeviceInfo,
    /// Start of the program, in nanoseconds since 1970-01-01 UTC.
    pub start_unix_ns: u64,
    /// The process that wrote the capture; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// SHA-256 (hexadecimal) of each source file, if the build provided it.
    pub sources: BTreeMap<String, String>,
    /// Selection of recorded accesses; absent when all are recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// Granularity of transfer endpoints with the protocol `in-situ`; absent for single CTAs.
    #[serde(default, skip_serializing_if = "CtaBlocks::is_single_cta")]
    pub cta_blocks: CtaBlocks,
}

impl Header {
    pub fn new(backend: Backend) -> Self {
        Header {
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            backend,
            ..Header::default()
        }
    }
}

/// How the traced program ended; stored in the last chunk of `events.sst`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The program exited on its own, and everything was written.
    Finished,
    /// The program or the tracing failed, for the given reason.
    Failed(String),
}
