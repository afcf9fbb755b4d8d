//! Functions and basic blocks.

use super::value::kind_of_value;
use super::{Builder, Call, Global, Instruction, Module, Type, Value, c_string, context, text};
use llvm_sys::prelude::{LLVMAttributeRef, LLVMBasicBlockRef};
use llvm_sys::{core::*, debuginfo::*};
use std::ffi::c_uint;
use std::marker::PhantomData;

/// Calling convention of a CUDA kernel in NVPTX IR.
const PTX_KERNEL: u32 = 71;

/// LLVM's number for a named attribute.
pub(super) fn attribute_kind(name: &str) -> c_uint {
    // SAFETY: LLVM reads as many bytes of the name as it is told.
    let kind = unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) };
    assert_ne!(kind, 0, "LLVM has no attribute {name}");
    kind
}

/// The attributes of a place.
///
/// # Safety
/// `fill` writes `count` attributes to where it is told.
pub(super) unsafe fn attributes(
    count: c_uint,
    fill: impl FnOnce(*mut LLVMAttributeRef),
) -> Vec<LLVMAttributeRef> {
    let mut list = vec![std::ptr::null_mut(); count as usize];
    fill(list.as_mut_ptr());
    list
}

/// An attribute without a value.
#[derive(Clone, Copy, Debug)]
pub enum Attribute {
    AlwaysInline,
    NoInline,
    NoUnwind,
}

impl Attribute {
    pub(super) fn create(self) -> LLVMAttributeRef {
        let kind = attribute_kind(match self {
            Attribute::AlwaysInline => "alwaysinline",
            Attribute::NoInline => "noinline",
            Attribute::NoUnwind => "nounwind",
        });
        // SAFETY: the context is alive; attributes of these three kinds have no value.
        unsafe { LLVMCreateEnumAttribute(context(), kind, 0) }
    }
}

kind_of_value! {
    Function is a Global
}

/// A basic block of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block<'m>(LLVMBasicBlockRef, PhantomData<&'m Module>);

impl<'m> Block<'m> {
    /// # Safety
    /// `raw` is a block of a function of the thread's module, alive for `'m`.
    pub(super) unsafe fn new(raw: LLVMBasicBlockRef) -> Self {
        Block(raw, PhantomData)
    }

    pub(super) fn raw(self) -> LLVMBasicBlockRef {
        self.0
    }

    pub(super) fn value(self) -> Value<'m> {
        // SAFETY: a block that is alive is a value, too.
        unsafe { Value::new(LLVMBasicBlockAsValue(self.0)) }
    }

    /// The block that a value is, as the target of a branch.
    pub(super) fn of(value: Value<'m>) -> Option<Self> {
        // SAFETY: a value that is alive; only one that is a block is taken for one.
        unsafe {
            (LLVMValueIsBasicBlock(value.raw()) != 0)
                .then(|| Block::new(LLVMValueAsBasicBlock(value.raw())))
        }
    }

    /// The block's name; empty when it has none.
    pub fn name(self) -> String {
        self.value().name()
    }

    pub fn instructions(self) -> Vec<Instruction<'m>> {
        // SAFETY: a block that is alive; its list holds instructions and does not change here.
        unsafe {
            super::list(LLVMGetFirstInstruction(self.0), LLVMGetNextInstruction)
                .into_iter()
                .map(|raw| Instruction::new(raw))
                .collect()
        }
    }

    /// The last instruction, which says where control goes; `None` while the block is being built.
    pub fn terminator(self) -> Option<Instruction<'m>> {
        // SAFETY: a block that is alive; null when it has no such instruction.
        unsafe {
            let raw = LLVMGetBasicBlockTerminator(self.0);
            (!raw.is_null()).then(|| Instruction::new(raw))
        }
    }

    /// The blocks that the terminator may go to, once for each way.
    pub fn successors(self) -> Vec<Block<'m>> {
        let Some(terminator) = self.terminator() else {
            return Vec::new();
        };
        // SAFETY: a terminator; the index stays below the number of its successors.
        unsafe {
            (0..LLVMGetNumSuccessors(terminator.raw()))
                .map(|i| Block::new(LLVMGetSuccessor(terminator.raw(), i)))
                .collect()
        }
    }

    /// Moves what stands behind `instruction`, which is one of this block, into a new block of its own, and goes there. No
    /// phi may name this block: it would name the wrong one.
    pub fn split_after(self, instruction: Instruction<'m>) {
        assert_eq!(instruction.parent_block(), self);
        let function = instruction.parent_function();
        let rest = function.append_block(&format!("{}.rest", self.name()));
        let builder = Builder::at_end(rest);
        while let Some(next) = instruction.next() {
            next.detach();
            builder.insert_instruction(next);
        }
        Builder::at_end(self).branch(rest);
    }
}

impl<'m> Function<'m> {
    pub fn signature(self) -> Type {
        self.value_type()
    }

    /// Whether LLVM itself defines the function.
    pub fn is_intrinsic(self) -> bool {
        // SAFETY: a function that is alive.
        unsafe { LLVMGetIntrinsicID(self.raw()) != 0 }
    }

    /// Whether attribute `name` stands at `index`: 0 the result, 1 the first parameter, the maximum the function.
    fn has_attribute_at(self, index: c_uint, name: &str) -> bool {
        // SAFETY: a function that is alive; an absent attribute is null.
        unsafe { !LLVMGetEnumAttributeAtIndex(self.raw(), index, attribute_kind(name)).is_null() }
    }

    /// Whether the function itself has the attribute `name`.
    pub fn has_attribute(self, name: &str) -> bool {
        self.has_attribute_at(c_uint::MAX, name)
    }

    /// Whether the function is a CUDA kernel.
    pub fn is_kernel(self) -> bool {
        // SAFETY: a function that is alive.
        unsafe { LLVMGetFunctionCallConv(self.raw()) == PTX_KERNEL }
    }

    pub fn set_convention(self, convention: u32) {
        // SAFETY: a function that is alive.
        unsafe { LLVMSetFunctionCallConv(self.raw(), convention) }
    }

    pub fn parameters(self) -> Vec<Value<'m>> {
        // SAFETY: a function that is alive; the index stays below the number of its parameters.
        unsafe {
            (0..LLVMCountParams(self.raw()))
                .map(|i| Value::new(LLVMGetParam(self.raw(), i)))
                .collect()
        }
    }

    /// Whether parameter `index` is passed by value behind a pointer.
    pub fn is_by_value(self, index: u32) -> bool {
        self.has_attribute_at(index + 1, "byval")
    }

    /// Type of what parameter `index` points to, if it is passed by value.
    pub fn by_value_type(self, index: u32) -> Option<Type> {
        // SAFETY: a function that is alive; an absent attribute is null, a present one of this kind holds a type.
        unsafe {
            let kind = attribute_kind("byval");
            let attribute = LLVMGetEnumAttributeAtIndex(self.raw(), index + 1, kind);
            (!attribute.is_null()).then(|| Type::new(LLVMGetTypeAttributeValue(attribute)))
        }
    }

    /// Whether the function promises not to write through parameter `index`.
    pub fn is_read_only(self, index: u32) -> bool {
        ["readonly", "readnone"]
            .into_iter()
            .any(|name| self.has_attribute_at(index + 1, name))
    }

    /// Its blocks, in layout order.
    pub fn blocks(self) -> Vec<Block<'m>> {
        // SAFETY: a function that is alive; its list of blocks does not change here.
        unsafe {
            super::list(LLVMGetFirstBasicBlock(self.raw()), LLVMGetNextBasicBlock)
                .into_iter()
                .map(|raw| Block::new(raw))
                .collect()
        }
    }

    /// Its instructions, in layout order.
    pub fn instructions(self) -> Vec<Instruction<'m>> {
        let blocks = self.blocks().into_iter();
        blocks.flat_map(Block::instructions).collect()
    }

    pub fn calls(self) -> impl Iterator<Item = Call<'m>> {
        let instructions = self.instructions().into_iter();
        instructions.filter_map(|i| i.as_call())
    }

    /// The calls that call it, not those that only pass its address on.
    pub fn callers(self) -> impl Iterator<Item = Call<'m>> {
        let users = self.using_instructions().into_iter();
        users
            .filter_map(|i| i.as_call())
            .filter(move |call| call.function() == Some(self))
    }

    /// Whether it is used in another way than by calling it.
    pub fn is_address_taken(self) -> bool {
        let mut callers = self.callers();
        callers.any(|call| call.arguments().contains(&self.value()))
            || self.callers().count() < self.users().len()
    }

    /// Adds an empty block at the end.
    pub fn append_block(self, name: &str) -> Block<'m> {
        let name = c_string(name);
        // SAFETY: a function of the thread's context; the name ends with a NUL.
        unsafe {
            let block = LLVMAppendBasicBlockInContext(context(), self.raw(), name.as_ptr());
            Block::new(block)
        }
    }

    /// Moves the body, names, attributes and debug information into `target`, whose parameters begin with those of `self`, and
    /// puts `target` wherever `self` is used.
    pub fn move_body_to(self, module: &'m Module, target: Function<'m>) {
        for block in self.blocks() {
            // SAFETY: the block is taken out of its function before it is appended to the other one: it belongs to one at any
            // time, but for the moment between, in which no handle is used.
            unsafe {
                LLVMRemoveBasicBlockFromParent(block.0);
                LLVMAppendExistingBasicBlock(target.raw(), block.0);
            }
        }
        for (old, new) in self.parameters().into_iter().zip(target.parameters()) {
            let name = old.name();
            assert_eq!(old.ty(), new.ty());
            // SAFETY: two parameters of one type (asserted). What uses a parameter is an instruction or metadata, which no
            // handle points to: nothing that is *alive* is freed.
            unsafe { LLVMReplaceAllUsesWith(old.raw(), new.raw()) }
            old.set_name("");
            new.set_name(&name);
        }
        // SAFETY: two functions; the description, when there is one, moves from one to the other.
        unsafe {
            let subprogram = LLVMGetSubprogram(self.raw());
            if !subprogram.is_null() {
                LLVMSetSubprogram(target.raw(), subprogram);
                LLVMSetSubprogram(self.raw(), std::ptr::null_mut());
            }
        }
        self.copy_properties_to(target);
        let name = self.name();
        self.set_name("");
        target.set_name(&name);
        module.supersede(*self, *target);
    }

    /// Where attributes can stand: at the result, each parameter, the function itself.
    fn attribute_indices(self) -> impl Iterator<Item = c_uint> {
        (0..=self.parameters().len() as c_uint).chain([c_uint::MAX])
    }

    /// The attributes at `index`: 0 the result, 1 the first parameter, the maximum the function.
    pub(super) fn attributes_at(self, index: c_uint) -> Vec<LLVMAttributeRef> {
        // SAFETY: a function that is alive; LLVM fills as many entries as it said that there are.
        unsafe {
            let count = LLVMGetAttributeCountAtIndex(self.raw(), index);
            attributes(count, |list| {
                LLVMGetAttributesAtIndex(self.raw(), index, list)
            })
        }
    }

    /// Gives `target`, whose parameters begin with those of `self`, the attributes, convention and linkage of `self`.
    pub(super) fn copy_properties_to(self, target: Function<'m>) {
        assert!(self.parameters().len() <= target.parameters().len());
        for index in self.attribute_indices() {
            for attribute in self.attributes_at(index) {
                // SAFETY: an attribute of the context, for a place that the target has too (asserted).
                unsafe { LLVMAddAttributeAtIndex(target.raw(), index, attribute) }
            }
        }
        // SAFETY: two functions that are alive.
        unsafe {
            LLVMSetFunctionCallConv(target.raw(), LLVMGetFunctionCallConv(self.raw()));
            LLVMSetLinkage(target.raw(), LLVMGetLinkage(self.raw()));
            LLVMSetVisibility(target.raw(), LLVMGetVisibility(self.raw()));
        }
    }

    /// Removes the named attribute from the function, its result and its parameters.
    pub fn remove_attribute(self, name: &str) {
        let kind = attribute_kind(name);
        for index in self.attribute_indices() {
            // SAFETY: a function that is alive; removing an absent attribute does nothing.
            unsafe { LLVMRemoveEnumAttributeAtIndex(self.raw(), index, kind) }
        }
    }

    /// Removes the string attributes of the function itself whose names `unwanted` picks.
    pub fn remove_string_attributes(self, unwanted: impl Fn(&str) -> bool) {
        for attribute in self.attributes_at(c_uint::MAX) {
            // SAFETY: an attribute of the context; one that is a string lends its name, which is copied, and LLVM reads as
            // many bytes of the copy as it is told.
            unsafe {
                if LLVMIsStringAttribute(attribute) == 0 {
                    continue;
                }
                let mut length = 0;
                let kind = LLVMGetStringAttributeKind(attribute, &mut length);
                let name = text(kind, length as usize);
                if unwanted(&name) {
                    let bytes = name.as_ptr().cast();
                    LLVMRemoveStringAttributeAtIndex(self.raw(), c_uint::MAX, bytes, length);
                }
            }
        }
    }

    pub fn add_attribute(self, attribute: Attribute) {
        // SAFETY: a function that is alive, and an attribute of its context for the function as a whole.
        unsafe { LLVMAddAttributeAtIndex(self.raw(), c_uint::MAX, attribute.create()) }
    }
}
