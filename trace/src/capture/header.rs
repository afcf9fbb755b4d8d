//! Properties of a run as a whole.

use crate::{Backend, CtaBlocks, Process, Selection};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    pub name: String,
    /// Compute capability as `[major, minor]`; on the CPU the one that is reported to programs.
    pub compute_capability: [u32; 2],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of Superstep that wrote the capture.
    pub tool_version: String,
    pub program: String,
    /// Its arguments, without the program's own name.
    pub arguments: Vec<String>,
    pub backend: Backend,
    pub device: DeviceInfo,
    /// Start of the program, nanoseconds since 1970-01-01 UTC.
    pub start_unix_ns: u64,
    /// Which process it is; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// SHA-256 (hexadecimal) of each source file, where the builder gave them.
    pub sources: BTreeMap<String, String>,
    /// Selection of recorded accesses; absent when all are recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// In situ, what transfers are between; absent where that is CTAs.
    #[serde(default, skip_serializing_if = "CtaBlocks::are_ctas")]
    pub cta_blocks: CtaBlocks,
}

impl Header {
    pub fn new(backend: Backend) -> Self {
        Header {
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            program: String::new(),
            arguments: Vec::new(),
            backend,
            device: DeviceInfo::default(),
            start_unix_ns: 0,
            process: None,
            sources: BTreeMap::new(),
            selection: None,
            cta_blocks: CtaBlocks::default(),
        }
    }
}

/// How the traced program ended; last chunk of `events.sst`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ended by itself, and everything was written.
    Finished,
    /// It, or the tracing, failed; the text says why.
    Failed(String),
}
