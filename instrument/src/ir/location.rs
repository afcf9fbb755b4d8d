//! Source positions from debug information.

use super::{Value, text};
use inkwell::llvm_sys::{debuginfo::*, prelude::LLVMMetadataRef};

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

fn read(place: LLVMMetadataRef) -> Location {
    // SAFETY: `place` is a non-null DILocation of the module; its scope always has a file or null, checked below.
    unsafe {
        let file = LLVMDIScopeGetFile(LLVMDILocationGetScope(place));
        let mut length = 0;
        let name = if file.is_null() {
            String::new()
        } else {
            let pointer = LLVMDIFileGetFilename(file, &mut length);
            text(pointer, length as usize)
        };
        Location {
            file: name,
            line: LLVMDILocationGetLine(place),
            column: LLVMDILocationGetColumn(place),
        }
    }
}

impl Value {
    /// Where the instruction stands in the source: the innermost place that is not in a system header.
    pub fn location(self) -> Location {
        if !self.is_instruction() {
            return Location::default();
        }
        // SAFETY: valid handle of an instruction; null without debug information.
        let mut place = unsafe { LLVMInstructionGetDebugLoc(self.0) };
        let mut found = Location::default();
        while !place.is_null() {
            found = read(place);
            if !is_system_header(&found.file) {
                break;
            }
            // SAFETY: `place` is a non-null DILocation.
            place = unsafe { LLVMDILocationGetInlinedAt(place) };
        }
        found
    }

    /// The raw debug location, for instructions built in this one's place.
    pub(super) fn debug_location(self) -> LLVMMetadataRef {
        // SAFETY: valid handle of an instruction.
        unsafe { LLVMInstructionGetDebugLoc(self.0) }
    }
}
