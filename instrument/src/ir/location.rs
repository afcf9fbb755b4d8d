//! Source positions from debug information.

use super::{Instruction, text};
use llvm_sys::debuginfo::*;

/// A place in the source. `line` 0 means unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// File as the compiler was given it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.line == 0 {
            f.write_str("unknown place")
        } else {
            write!(f, "{}:{}", self.file, self.line)
        }
    }
}

/// Whether a file belongs to the compiler's or CUDA's own headers. A position there (inside `atomicAdd`, say) tells a
/// user nothing: the place that calls it does.
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
    /// Where an instruction stands: the innermost place that is not in a system header.
    pub fn of(instruction: Instruction) -> Location {
        let mut place = instruction.debug_location();
        let mut found = Location::default();
        while !place.is_null() {
            // SAFETY: the debug location of an instruction, and where that is inlined, are places with a scope, and null behind
            // the last; a scope has a file or null, and a file lends its name and says how long it is.
            unsafe {
                let file = LLVMDIScopeGetFile(LLVMDILocationGetScope(place));
                found.file.clear();
                if !file.is_null() {
                    let mut length = 0;
                    let name = LLVMDIFileGetFilename(file, &mut length);
                    found.file = text(name, length as usize);
                }
                found.line = LLVMDILocationGetLine(place);
                found.column = LLVMDILocationGetColumn(place);
                place = LLVMDILocationGetInlinedAt(place);
            }
            if !is_system_header(&found.file) {
                break;
            }
        }
        found
    }
}
