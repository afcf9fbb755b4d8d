//! Source positions from debug information.

use super::{Instruction, ext};

/// A position in the source. Lines and columns start at 1; line 0 means unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    pub file: String,
    pub line: u32,
    pub column: u32,
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.line == 0 {
            f.write_str("unknown location")
        } else {
            write!(f, "{}:{}", self.file, self.line)
        }
    }
}

/// Whether a file is a compiler or CUDA header. A position there (inside `atomicAdd`, say) is useless to users, unlike the
/// call's.
fn is_system_header(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.starts_with("__clang_")
        || (name.ends_with(".hpp") && (name.starts_with("sm_") || name.contains("functions")))
        || file.contains("/include/crt/")
        || file.contains("/cooperative_groups/")
        || matches!(
            name,
            "device_atomic_functions.h" | "cooperative_groups.h" | "device_functions.h"
        )
}

impl Location {
    /// Returns the innermost position of an instruction that is not in a system header.
    pub fn of(instruction: Instruction) -> Location {
        let places = Self::all(instruction);
        let own = places.iter().find(|place| !is_system_header(&place.file));
        own.or(places.last()).cloned().unwrap_or_default()
    }

    /// Whether an instruction comes from one of Clang's replacements for CUDA headers.
    pub fn is_in_header_of_clang(instruction: Instruction) -> bool {
        let places = Self::all(instruction);
        let file = places.first().map_or("", |place| &place.file);
        let name = file.rsplit('/').next().unwrap_or(file);
        name.starts_with("__clang_cuda_")
    }

    /// Returns the positions of an instruction and the calls through which it was inlined, innermost first.
    fn all(instruction: Instruction) -> Vec<Location> {
        let location = instruction.get_debug_location();
        let places = location.map(ext::source_places).unwrap_or_default();
        let places = places.into_iter();
        places
            .map(|(file, line, column)| Location { file, line, column })
            .collect()
    }
}
