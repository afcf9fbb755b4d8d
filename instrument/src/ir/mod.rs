//! Handles over LLVM's C interface: the only folder of this crate with `unsafe` code.
//!
//! Three rules keep the handles valid. The `SAFETY` comments of this folder call them by name.
//!
//! **Alive.** A handle with the lifetime `'m` borrows the [`Module`], and nothing that a handle can point to is freed while
//! the module is borrowed. An erased instruction leaves its block but keeps its memory. Functions and variables that others
//! supersede are deleted by the next call that takes the module by `&mut`, as are constants that name them. Passes and the
//! linker, which free whatever they like, take it by `&mut` too. Types and numbers live in the context, which is never freed.
//!
//! **One module.** A thread reads one module, into one context, and handles do not leave the thread. A module that is linked
//! into it is seen only while no handle of the first one exists. All handles that meet are therefore of one module.
//!
//! **Kinds.** The Rust type of a handle says which kind of value it points to. Only checks of the kind, and functions of LLVM
//! that return nothing else, make one. What a type does not say is asserted where it is needed.
//!
//! Whether the module makes sense as a program is LLVM's verifier's question: it is asked before passes, linking and writing.

mod attributes;
mod builder;
mod diagnostic;
mod duplicate;
mod function;
mod instruction;
mod location;
mod machine;
mod module;
mod sizes;
#[cfg(test)]
mod tests;
mod types;
mod value;
mod variables;

pub use attributes::Attribute;
pub use builder::Builder;
pub use function::{Block, Function};
pub use instruction::{Call, Instruction, Scope};
pub use location::Location;
pub use machine::Machine;
pub use module::{Intrinsic, Linkage, Module, ModuleError};
pub use types::{Type, TypeKind};
pub use value::{Global, Opcode, Value, ValueKind, Variable};

use llvm_sys::core::{LLVMContextCreate, LLVMContextSetDiscardValueNames, LLVMDisposeMessage};
use llvm_sys::prelude::LLVMContextRef;
use std::ffi::{CStr, CString, c_char};

fn context() -> LLVMContextRef {
    thread_local! {
        static CONTEXT: LLVMContextRef = {
            // SAFETY: the context is new, and never disposed.
            unsafe {
                let context = LLVMContextCreate();
                diagnostic::keep(context);
                context
            }
        };
    }
    CONTEXT.with(|context| *context)
}

/// Has LLVM give no names to values in functions from now on, as Clang does.
pub fn discard_names() {
    // SAFETY: the context is alive.
    unsafe { LLVMContextSetDiscardValueNames(context(), 1) }
}

/// Says for all modules of this process whether square roots in single precision are rounded correctly: the value that libdevice asks for
/// by the name `__CUDA_PREC_SQRT`.
pub fn round_roots(exactly: bool) {
    let value = match exactly {
        true => c"-nvvm-reflect-add=__CUDA_PREC_SQRT=1",
        false => c"-nvvm-reflect-add=__CUDA_PREC_SQRT=0",
    };
    let arguments = [c"superstep-instrument".as_ptr(), value.as_ptr()];
    // SAFETY: both texts end with NUL and live longer than the call, which copies them; LLVM 22 knows the option, so it returns.
    unsafe {
        llvm_sys::support::LLVMParseCommandLineOptions(2, arguments.as_ptr(), std::ptr::null());
    }
}

/// Text that LLVM lends, as an owned string.
///
/// # Safety
/// `pointer` is null or leads to `length` bytes.
unsafe fn text(pointer: *const c_char, length: usize) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: not null, so the caller vouches for the bytes; they are copied before anything else can happen to them.
    let bytes = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// A message that LLVM hands over, as an owned string.
///
/// # Safety
/// `pointer` is null or a message of LLVM that nobody else frees.
unsafe fn message(pointer: *mut c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: LLVM's messages end with a NUL; the caller gives this one up, and it is copied before it is freed.
    unsafe {
        let owned = CStr::from_ptr(pointer).to_string_lossy().into_owned();
        LLVMDisposeMessage(pointer);
        owned
    }
}

/// A handle made with `handle`, unless there is nothing to handle.
///
/// # Safety
/// `raw` is null or what `handle` asks for.
unsafe fn optional<T, H>(raw: *mut T, handle: unsafe fn(*mut T) -> H) -> Option<H> {
    // SAFETY: not null, so the caller vouches for it.
    (!raw.is_null()).then(|| unsafe { handle(raw) })
}

/// The elements of one of LLVM's linked lists, as handles made with `handle`.
///
/// # Safety
/// `first` is null or an element of a list that `next` walks, and the list does not change meanwhile; its elements are what
/// `handle` asks for.
unsafe fn list<T, H>(
    first: *mut T,
    next: unsafe extern "C" fn(*mut T) -> *mut T,
    handle: unsafe fn(*mut T) -> H,
) -> Vec<H> {
    let element = |pointer: *mut T| (!pointer.is_null()).then_some(pointer);
    // SAFETY: `next` and `handle` get only elements of the list, for which the caller vouches; null ends it.
    unsafe {
        let elements = std::iter::successors(element(first), |last| element(next(*last)));
        elements.map(|raw| handle(raw)).collect()
    }
}

/// A name for LLVM; names with a NUL inside cannot come from IR and are cut there.
fn c_string(name: &str) -> CString {
    CString::new(name.split('\0').next().unwrap_or_default()).unwrap_or_default()
}
