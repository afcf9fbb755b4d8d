//! Which accesses cannot touch the same memory, as LLVM's alias scopes.

use super::{Module, Value};
use inkwell::llvm_sys::{core::*, prelude::LLVMMetadataRef};

/// Memory apart from that of every other scope.
#[derive(Clone, Copy)]
pub struct Scope {
    /// A list of this scope alone.
    list: LLVMMetadataRef,
}

impl Module {
    /// The scope of a name.
    pub fn scope(&self, name: &str) -> Scope {
        // SAFETY: the context lives as long as the module; strings are given with their lengths, nodes with their number.
        unsafe {
            let context = LLVMGetModuleContext(self.raw());
            let text =
                |text: &str| LLVMMDStringInContext2(context, text.as_ptr().cast(), text.len());
            let node = |mut parts: Vec<LLVMMetadataRef>| {
                LLVMMDNodeInContext2(context, parts.as_mut_ptr(), parts.len())
            };
            // Named by strings, scopes of all modules are the same.
            let domain = node(vec![text("superstep.memory")]);
            let list = node(vec![node(vec![text(name), domain])]);
            Scope { list }
        }
    }
}

impl Value {
    /// Says that this access touches memory of `own` and none of `other`.
    pub fn set_scopes(self, module: &Module, own: Scope, other: Scope) {
        // SAFETY: valid handles of an instruction and of nodes of its context.
        unsafe {
            let context = LLVMGetModuleContext(module.raw());
            for (name, scope) in [("alias.scope", own), ("noalias", other)] {
                let kind =
                    LLVMGetMDKindIDInContext(context, name.as_ptr().cast(), name.len() as u32);
                LLVMSetMetadata(self.0, kind, LLVMMetadataAsValue(context, scope.list));
            }
        }
    }
}
