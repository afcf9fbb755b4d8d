//! How large values are in memory, by a module's data layout.

use super::{Module, Type};
use llvm_sys::target::*;

impl Module {
    /// Bytes that a value of `ty` occupies when it is stored.
    pub fn store_size_bytes(&self, ty: Type) -> u64 {
        // SAFETY: the module's own data layout, and a type that can be in memory (asserted).
        unsafe { LLVMStoreSizeOfType(LLVMGetModuleDataLayout(self.raw), ty.sized().raw()) }
    }

    /// Bytes that a global variable of `ty` occupies.
    pub fn allocated_size_bytes(&self, ty: Type) -> u64 {
        // SAFETY: the module's own data layout, and a type that can be in memory (asserted).
        unsafe { LLVMABISizeOfType(LLVMGetModuleDataLayout(self.raw), ty.sized().raw()) }
    }

    /// Where member `index` of a structure begins.
    pub fn member_offset_bytes(&self, ty: Type, index: u32) -> u64 {
        assert!((index as usize) < ty.members().len());
        // SAFETY: the module's own data layout, and a member of a structure (asserted).
        unsafe { LLVMOffsetOfElement(LLVMGetModuleDataLayout(self.raw), ty.raw(), index) }
    }

    /// Alignment of a value of `ty` in memory.
    pub fn alignment_bytes(&self, ty: Type) -> u64 {
        // SAFETY: the module's own data layout, and a type that can be in memory (asserted).
        let bytes =
            unsafe { LLVMABIAlignmentOfType(LLVMGetModuleDataLayout(self.raw), ty.sized().raw()) };
        u64::from(bytes)
    }
}
