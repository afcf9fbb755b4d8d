//! Handles over LLVM's C interface: the only folder with `unsafe` code of this crate.
//!
//! inkwell gives typed wrappers for *building* IR; rewriting it (moving blocks, rebuilding calls, walking constants)
//! needs the untyped C interface. The handles here are plain copies of LLVM's pointers.
//!
//! **Validity.** Every handle comes from one [`Module`], which lives until the program ends (it is leaked on purpose, as a
//! compiler's modules are), so a handle can only dangle by using one after [`Value::erase`]. The crate keeps no handle
//! of an instruction that it erased; that is the invariant every `SAFETY` comment in this folder refers to.

mod builder;
mod diagnostic;
mod duplicate;
mod function;
mod location;
mod module;
mod scopes;
mod types;
mod value;

pub use builder::Builder;
pub use function::{Block, Function};
pub use location::Location;
pub use module::{Linkage, Machine, Module, ModuleError};
pub use types::Type;
pub use value::{Opcode, Value, ValueKind};

use inkwell::llvm_sys::core::LLVMDisposeMessage;
use std::ffi::{CStr, CString, c_char};

/// Text that LLVM lends, as an owned string.
fn text(pointer: *const c_char, length: usize) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: LLVM returns a pointer to `length` bytes that live at least until the next call on the module.
    let bytes = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// A message that LLVM hands over, as an owned string.
fn message(pointer: *mut c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: a non-null message is a NUL-terminated string that we own; it is copied before it is freed.
    unsafe {
        let owned = CStr::from_ptr(pointer).to_string_lossy().into_owned();
        LLVMDisposeMessage(pointer);
        owned
    }
}

/// A name for LLVM; names with a NUL inside cannot come from IR and are cut there.
fn c_string(name: &str) -> CString {
    CString::new(name.split('\0').next().unwrap_or_default()).unwrap_or_default()
}
