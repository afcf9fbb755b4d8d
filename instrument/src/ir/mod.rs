//! LLVM IR through inkwell's types, under shorter names, and with what the passes of this crate ask of them.
//!
//! inkwell's handles borrow the context, which is never freed here, so three rules keep them valid. The `SAFETY` comments of [`ext`] call
//! them by name.
//!
//! **Alive.** [`Module`] keeps inkwell's module to itself and hands out handles that borrow it, and nothing that a handle can point to is
//! freed meanwhile. An erased instruction leaves its block but keeps its memory. Functions and variables that others supersede are deleted
//! by the next call that takes the module by `&mut`. Passes and the linker, which free whatever they like, take it by `&mut` too.
//!
//! Types and numbers live in the context.
//!
//! **One module.** A thread reads one module, into one context, and handles do not leave the thread. A module that is linked into it is
//! seen only while no handle of the first one exists. All handles that meet are therefore of one module.
//!
//! **Kinds.** inkwell's types say which kind of value a handle points to.
//!
//! Whether the module makes sense as a program is LLVM's verifier's question: it is asked before passes, linking and writing.

use inkwell::context::Context;

mod builder;
mod duplicate;
mod ext;
mod functions;
mod location;
mod module;
#[cfg(test)]
mod tests;
mod types;
mod values;
mod variables;

pub use builder::Builder;
pub use duplicate::{append_copies, duplicate};
pub use ext::{LLVMOpcode, ValueKind, discard_names, drop_address_promises, round_roots};
pub use location::Location;
pub use module::{Machine, Module, ModuleError};
pub use values::Scope;

pub use inkwell::basic_block::BasicBlock as Block;
pub use inkwell::module::Linkage;
pub use inkwell::values::{
    AnyValueEnum as Value, CallSiteValue as Call, FunctionValue as Function,
    GlobalValue as Variable, InstructionOpcode as Opcode, InstructionValue as Instruction,
};
pub use inkwell::{AtomicRMWBinOp, FloatPredicate, IntPredicate};

pub type Type = inkwell::types::AnyTypeEnum<'static>;
pub type Signature = inkwell::types::FunctionType<'static>;

pub mod traits {
    pub use super::ext::RawExt;
    pub use super::functions::{Attributed, BlockExt, CallExt, FunctionExt};
    pub use super::types::{SignatureExt, TypeExt};
    pub use super::values::{InstructionExt, ValueExt, VariableExt};
}

fn context() -> &'static Context {
    thread_local! {
        static CONTEXT: &'static Context = {
            let context = Box::leak(Box::new(Context::create()));
            ext::keep_errors(context);
            context
        };
    }
    CONTEXT.with(|context| *context)
}
