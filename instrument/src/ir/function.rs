//! Functions and basic blocks.

use super::{Builder, Module, Type, Value, c_string};
use inkwell::llvm_sys::{core::*, debuginfo::*, prelude::LLVMBasicBlockRef, prelude::LLVMValueRef};
use std::ffi::c_uint;

/// Calling convention of a CUDA kernel in NVPTX IR.
const PTX_KERNEL: u32 = 71;

/// LLVM's number for a named attribute.
pub(super) fn attribute_kind(name: &str) -> c_uint {
    // SAFETY: LLVM reads `len` bytes of the name.
    unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) }
}

/// A function of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Function(pub(super) LLVMValueRef);

/// A basic block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block(pub(super) LLVMBasicBlockRef);

impl Block {
    /// The block's name; empty when it has none.
    pub fn name(self) -> String {
        // SAFETY: valid handle; a block is a value.
        Value(unsafe { LLVMBasicBlockAsValue(self.0) }).name()
    }

    /// The block's instructions, in order.
    pub fn instructions(self) -> Vec<Value> {
        let mut list = Vec::new();
        // SAFETY: valid handle; the block is not changed while it is walked.
        unsafe {
            let mut next = LLVMGetFirstInstruction(self.0);
            while !next.is_null() {
                list.push(Value(next));
                next = LLVMGetNextInstruction(next);
            }
        }
        list
    }
}

impl Block {
    /// The last instruction, which says where control goes; `None` while the block is being built.
    pub fn terminator(self) -> Option<Value> {
        // SAFETY: valid handle; null when there is none.
        Value::from_raw(unsafe { LLVMGetBasicBlockTerminator(self.0) })
    }

    /// The blocks that the terminator may go to, once for each way.
    pub fn successors(self) -> Vec<Block> {
        let Some(terminator) = self.terminator() else {
            return Vec::new();
        };
        // SAFETY: valid handle of a terminator; the index stays below the count.
        unsafe {
            (0..LLVMGetNumSuccessors(terminator.0))
                .map(|i| Block(LLVMGetSuccessor(terminator.0, i)))
                .collect()
        }
    }

    /// Moves what stands behind `instruction`, which is one of this block, into a new block of its own, and goes there. No
    /// phi may name this block: it would name the wrong one.
    pub fn split_after(self, module: &Module, instruction: Value) -> Block {
        let function = instruction.parent_function();
        let rest = function.append_block(&format!("{}.rest", self.name()));
        let builder = Builder::at_end(module, rest);
        // SAFETY: valid handles; an instruction stands nowhere between its removal and its insertion.
        unsafe {
            let mut next = LLVMGetNextInstruction(instruction.0);
            while !next.is_null() {
                let after = LLVMGetNextInstruction(next);
                LLVMInstructionRemoveFromParent(next);
                builder.insert_instruction(Value(next));
                next = after;
            }
        }
        Builder::at_end(module, self).branch(rest);
        rest
    }
}

impl Function {
    /// The function as a value.
    pub fn value(self) -> Value {
        Value(self.0)
    }

    /// Its (mangled) name.
    pub fn name(self) -> String {
        self.value().name()
    }

    /// Its function type.
    pub fn ty(self) -> Type {
        self.value().value_type()
    }

    /// Whether the body is elsewhere.
    pub fn is_declaration(self) -> bool {
        self.value().is_declaration()
    }

    /// Whether LLVM itself defines the function.
    pub fn is_intrinsic(self) -> bool {
        // SAFETY: valid handle of a function.
        unsafe { LLVMGetIntrinsicID(self.0) != 0 }
    }

    /// Whether the function itself has the attribute `name`.
    pub fn has_attribute(self, name: &str) -> bool {
        // SAFETY: valid handle; an absent attribute is null.
        unsafe { !LLVMGetEnumAttributeAtIndex(self.0, c_uint::MAX, attribute_kind(name)).is_null() }
    }

    /// Whether the function is a CUDA kernel.
    pub fn is_kernel(self) -> bool {
        // SAFETY: valid handle of a function.
        unsafe { LLVMGetFunctionCallConv(self.0) == PTX_KERNEL }
    }

    /// Sets the calling convention.
    pub fn set_convention(self, convention: u32) {
        // SAFETY: valid handle of a function.
        unsafe { LLVMSetFunctionCallConv(self.0, convention) }
    }

    /// Its parameters.
    pub fn parameters(self) -> Vec<Value> {
        // SAFETY: valid handle; the index stays below the count.
        unsafe {
            (0..LLVMCountParams(self.0))
                .map(|i| Value(LLVMGetParam(self.0, i)))
                .collect()
        }
    }

    /// Whether parameter `index` is passed by value behind a pointer.
    pub fn is_by_value(self, index: u32) -> bool {
        // SAFETY: valid handle; an absent attribute is null.
        unsafe {
            !LLVMGetEnumAttributeAtIndex(self.0, index + 1, attribute_kind("byval")).is_null()
        }
    }

    /// Type of what parameter `index` points to, if it is passed by value.
    pub fn by_value_type(self, index: u32) -> Option<Type> {
        // SAFETY: valid handle; an absent attribute is null, a present one holds a type.
        unsafe {
            let attribute = LLVMGetEnumAttributeAtIndex(self.0, index + 1, attribute_kind("byval"));
            (!attribute.is_null()).then(|| Type(LLVMGetTypeAttributeValue(attribute)))
        }
    }

    /// Whether the function promises not to write through parameter `index`.
    pub fn is_read_only(self, index: u32) -> bool {
        ["readonly", "readnone"].into_iter().any(|name| {
            // SAFETY: valid handle; an absent attribute is null.
            unsafe {
                !LLVMGetEnumAttributeAtIndex(self.0, index + 1, attribute_kind(name)).is_null()
            }
        })
    }

    /// Its blocks, in layout order.
    pub fn blocks(self) -> Vec<Block> {
        let mut list = Vec::new();
        // SAFETY: valid handle; the function is not changed while it is walked.
        unsafe {
            let mut next = LLVMGetFirstBasicBlock(self.0);
            while !next.is_null() {
                list.push(Block(next));
                next = LLVMGetNextBasicBlock(next);
            }
        }
        list
    }

    /// Its instructions, in layout order.
    pub fn instructions(self) -> Vec<Value> {
        self.blocks()
            .into_iter()
            .flat_map(Block::instructions)
            .collect()
    }

    /// Adds an empty block at the end.
    pub fn append_block(self, name: &str) -> Block {
        let name = c_string(name);
        // SAFETY: valid handle; the context is the function's own.
        unsafe {
            Block(LLVMAppendBasicBlockInContext(
                LLVMGetTypeContext(LLVMTypeOf(self.0)),
                self.0,
                name.as_ptr(),
            ))
        }
    }

    /// Moves the body, names, attributes and debug information of `self` into `target`, whose parameters begin with
    /// those of `self`, and puts `target` wherever `self` was used. `self` is left as an unused declaration.
    pub fn move_body_to(self, target: Function) {
        // SAFETY: valid handles of two functions of one module; blocks are detached before they are appended, so each
        // belongs to one function at any time; attribute indices of `self` exist in `target`.
        unsafe {
            let mut block = LLVMGetFirstBasicBlock(self.0);
            while !block.is_null() {
                LLVMRemoveBasicBlockFromParent(block);
                LLVMAppendExistingBasicBlock(target.0, block);
                block = LLVMGetFirstBasicBlock(self.0);
            }
            for (old, new) in self.parameters().into_iter().zip(target.parameters()) {
                let name = old.name();
                old.replace_all_uses_with(new);
                old.set_name("");
                new.set_name(&name);
            }
            let subprogram = LLVMGetSubprogram(self.0);
            if !subprogram.is_null() {
                LLVMSetSubprogram(target.0, subprogram);
                LLVMSetSubprogram(self.0, std::ptr::null_mut());
            }
        }
        self.copy_properties_to(target);
        let name = self.name();
        self.value().replace_all_uses_with(target.value());
        self.value().set_name("");
        target.value().set_name(&name);
    }

    /// Gives `target`, whose parameters begin with those of `self`, the attributes, convention and linkage of `self`.
    pub(super) fn copy_properties_to(self, target: Function) {
        // SAFETY: valid handles; attribute indices of `self` exist in `target`.
        unsafe {
            for index in (0..=LLVMCountParams(self.0)).chain([c_uint::MAX]) {
                let count = LLVMGetAttributeCountAtIndex(self.0, index) as usize;
                let mut attributes = vec![std::ptr::null_mut(); count];
                LLVMGetAttributesAtIndex(self.0, index, attributes.as_mut_ptr());
                for attribute in attributes {
                    LLVMAddAttributeAtIndex(target.0, index, attribute);
                }
            }
            LLVMSetFunctionCallConv(target.0, LLVMGetFunctionCallConv(self.0));
            LLVMSetLinkage(target.0, LLVMGetLinkage(self.0));
            LLVMSetVisibility(target.0, LLVMGetVisibility(self.0));
        }
    }

    /// Removes the named attribute from the function, its result and its parameters.
    pub fn remove_attribute(self, name: &str) {
        let kind = attribute_kind(name);
        // SAFETY: valid handle; removing an absent attribute does nothing.
        unsafe {
            for index in (0..=LLVMCountParams(self.0)).chain([c_uint::MAX]) {
                LLVMRemoveEnumAttributeAtIndex(self.0, index, kind);
            }
        }
    }

    /// Removes a string attribute of the function itself.
    pub fn remove_string_attribute(self, name: &str) {
        // SAFETY: valid handle; LLVM reads `len` bytes of the name.
        unsafe {
            LLVMRemoveStringAttributeAtIndex(
                self.0,
                c_uint::MAX,
                name.as_ptr().cast(),
                name.len() as c_uint,
            );
        }
    }

    /// Names of the string attributes of the function itself.
    pub fn string_attributes(self) -> Vec<String> {
        // SAFETY: valid handle; LLVM fills exactly `count` entries, and the texts are copied at once.
        unsafe {
            let count = LLVMGetAttributeCountAtIndex(self.0, c_uint::MAX) as usize;
            let mut attributes = vec![std::ptr::null_mut(); count];
            LLVMGetAttributesAtIndex(self.0, c_uint::MAX, attributes.as_mut_ptr());
            attributes
                .into_iter()
                .filter(|a| LLVMIsStringAttribute(*a) != 0)
                .map(|a| {
                    let mut length = 0;
                    let pointer = LLVMGetStringAttributeKind(a, &mut length);
                    super::text(pointer, length as usize)
                })
                .collect()
        }
    }

    /// Adds the named attribute (one without a value) to the function itself.
    pub fn add_attribute(self, name: &str) {
        // SAFETY: valid handle; the context is the function's own.
        unsafe {
            let context = LLVMGetTypeContext(LLVMTypeOf(self.0));
            let attribute = LLVMCreateEnumAttribute(context, attribute_kind(name), 0);
            LLVMAddAttributeAtIndex(self.0, c_uint::MAX, attribute);
        }
    }

    /// Gives `call` what the function's parameters say about how they are passed (`byval`, `zeroext`).
    pub fn copy_parameter_attributes_to(self, call: Value) {
        // SAFETY: valid handles; the call passes as many arguments as the function has parameters.
        unsafe {
            for index in 1..=LLVMCountParams(self.0) {
                let count = LLVMGetAttributeCountAtIndex(self.0, index) as usize;
                let mut attributes = vec![std::ptr::null_mut(); count];
                LLVMGetAttributesAtIndex(self.0, index, attributes.as_mut_ptr());
                for attribute in attributes {
                    LLVMAddCallSiteAttribute(call.0, index, attribute);
                }
            }
        }
    }

    /// Deletes a function that nothing uses any more.
    pub fn erase(self) {
        // SAFETY: valid handle; the caller drops its copies.
        unsafe { LLVMDeleteFunction(self.0) }
    }
}
