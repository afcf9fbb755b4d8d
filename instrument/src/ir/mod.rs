//! LLVM IR: inkwell's types under shorter names, extended with methods for the passes of this crate.
//!
//! inkwell's handles borrow the context, which is never freed. Three rules keep the handles valid. The `SAFETY`
//! comments of [`ext`] refer to these rules by name.
//!
//! **Alive.** Handles borrow [`Module`], whose inkwell module is private, and nothing is freed while a handle to it can
//! exist. An erased instruction leaves its block but keeps its memory. Superseded functions and variables are deleted
//! by the next method that takes the module by `&mut`. Passes and the linker, which may free anything, take the module
//! by `&mut` too.
//!
//! Types and constant numbers belong to the context.
//!
//! **One module.** A thread reads one module into one context, and handles do not leave the thread. A second module, to
//! be linked into the first, is accessed only while no handle to anything in the first module exists. Therefore,
//! handles that are used together belong to the same module.
//!
//! **Kinds.** inkwell's types determine the kind of value to which a handle points.
//!
//! LLVM's verifier checks the module before passes, linking and writing.

use inkwell::context::Context;

/// Declares an extension trait and implements it for a type.
macro_rules! extension {
    (
        $(#[$about:meta])*
        pub trait $name:ident $(<$life:lifetime>)? for $type:ty {
            $($(#[$doc:meta])* fn $method:ident($($parameters:tt)*) $(-> $result:ty)? $body:block)*
        }
    ) => {
        $(#[$about])*
        pub trait $name $(<$life>)?: Copy {
            $($(#[$doc])* fn $method($($parameters)*) $(-> $result)?;)*
        }

        impl $(<$life>)? $name $(<$life>)? for $type {
            $(fn $method($($parameters)*) $(-> $result)? $body)*
        }
    };
}

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
pub use module::{Machine, Module};
pub use values::Scope;
pub use variables::ANNOTATIONS;

pub use inkwell::basic_block::BasicBlock as Block;
pub use inkwell::module::Linkage;
pub use inkwell::values::{
    AnyValueEnum as Value, CallSiteValue as Call, FunctionValue as Function,
    GlobalValue as Variable, InstructionOpcode as Opcode, InstructionValue as Instruction,
};
pub use inkwell::{AtomicRMWBinOp, FloatPredicate, IntPredicate};

pub type Type = inkwell::types::AnyTypeEnum<'static>;
pub type Signature = inkwell::types::FunctionType<'static>;

/// NVPTX's address spaces.
pub mod space {
    pub const GENERIC: u32 = 0;
    pub const GLOBAL: u32 = 1;
    pub const SHARED: u32 = 3;
    pub const CONSTANT: u32 = 4;
    pub const LOCAL: u32 = 5;
    /// Shared memory of a cluster.
    pub const CLUSTER: u32 = 7;
    pub const PARAMETER: u32 = 101;
}

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
