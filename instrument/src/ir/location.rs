//! Source positions from debug information.

use super::{Instruction, ext};

/// A position in the source. Lines and columns start at 1; line 0 means unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    pub file: String,
    pub line: u32,
    pub column: u32,
}

const HEADERS: &str = "device_atomic_functions.h cooperative_groups.h device_functions.h";

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.line == 0 {
            f.write_str("unknown location")
        } else {
            write!(f, "{}:{}", self.file, self.line)
        }
    }
}

impl Location {
    /// Returns the innermost position of an instruction that is not in a system header.
    pub fn of(instruction: Instruction) -> Location {
        let locations = ext::source_locations(instruction);
        let first = locations.iter().find(|it| !it.is_in_system_header());
        first.or(locations.last()).cloned().unwrap_or_default()
    }

    /// Returns whether an instruction comes from one of Clang's replacements for CUDA headers.
    pub fn is_in_clang_header(instruction: Instruction) -> bool {
        let locations = ext::source_locations(instruction);
        let name = locations.first().map_or("", |it| it.file_name());
        name.starts_with("__clang_cuda_")
    }

    /// Returns whether the position is in a compiler or CUDA header. Such a position (inside `atomicAdd`, for example)
    /// is useless to users; the position of the call is not.
    fn is_in_system_header(&self) -> bool {
        let name = self.file_name();
        name.starts_with("__clang_")
            || (name.ends_with(".hpp") && (name.starts_with("sm_") || name.contains("functions")))
            || self.file.contains("/include/crt/")
            || self.file.contains("/cooperative_groups/")
            || HEADERS.split(' ').any(|header| header == name)
    }

    fn file_name(&self) -> &str {
        self.file.rsplit('/').next().unwrap_or(&self.file)
    }
}
