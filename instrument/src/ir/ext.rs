//! LLVM functions that inkwell lacks. No other file in this crate calls LLVM directly.
//!
//! All functions accept and return inkwell's handles. The rules that keep these valid are at the top of [`super`];
//! `SAFETY` comments refer to them by name.

use super::traits::*;
use super::{Block, Function, Instruction, Location, Module, Opcode, Type, Value, Variable};
use anyhow::{Result, bail};
use inkwell::builder::Builder;
use inkwell::llvm_sys::LLVMTypeKind::*;
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;
use inkwell::llvm_sys::{
    LLVMDiagnosticSeverity, LLVMTypeKind, comdat::*, core::*, debuginfo::*,
    linker::LLVMLinkModules2, support::LLVMParseCommandLineOptions, target::*,
};
pub use inkwell::llvm_sys::{LLVMOpcode, LLVMValueKind as ValueKind};
use inkwell::targets::TargetData;
use inkwell::types::{AnyType, AnyTypeEnum, AsTypeRef, BasicTypeEnum};
use inkwell::values::{
    AnyValue, AnyValueEnum, AsValueRef, FunctionValue, GlobalValue, InstructionValue, PointerValue,
};
use inkwell::{basic_block::BasicBlock, context::Context};
use std::cell::RefCell;
use std::ffi::{CStr, c_void};
use std::mem::ManuallyDrop;

pub trait RawExt<'m>: AnyValue<'m> + Sized {
    fn kind(&self) -> ValueKind {
        // SAFETY: the value is *alive*.
        unsafe { LLVMGetValueKind(self.as_value_ref()) }
    }

    fn ty(&self) -> Type {
        // SAFETY: the value is *alive*; its type belongs to the context.
        unsafe { AnyTypeEnum::new(LLVMTypeOf(self.as_value_ref())) }
    }

    fn as_instruction(&self) -> Option<Instruction<'m>> {
        (self.kind() == ValueKind::LLVMInstructionValueKind)
            // SAFETY: the kind was just checked.
            .then(|| unsafe { InstructionValue::new(self.as_value_ref()) })
    }

    fn as_variable(&self) -> Option<Variable<'m>> {
        (self.kind() == ValueKind::LLVMGlobalVariableValueKind)
            // SAFETY: the kind was just checked.
            .then(|| unsafe { GlobalValue::new(self.as_value_ref()) })
    }

    /// Returns the function and index of a parameter.
    fn as_parameter(&self) -> Option<(Function<'m>, u32)> {
        let is_parameter = self.kind() == ValueKind::LLVMArgumentValueKind;
        // SAFETY: the kind was just checked; a parameter always belongs to a function.
        let function = is_parameter.then(|| unsafe { LLVMGetParamParent(self.as_value_ref()) });
        // SAFETY: a function.
        let function = unsafe { FunctionValue::new(function?) }?;
        let mut parameters = function.get_param_iter();
        let index = parameters.position(|it| it.as_value_ref() == self.as_value_ref());
        Some((function, index? as u32))
    }

    /// Returns the operation of an instruction or constant expression.
    fn opcode(&self) -> Option<Opcode> {
        match self.kind() {
            ValueKind::LLVMConstantExprValueKind => {
                // SAFETY: the kind was just checked.
                Some(unsafe { LLVMGetConstOpcode(self.as_value_ref()) }.into())
            }
            _ => self.as_instruction().map(Instruction::get_opcode),
        }
    }

    /// Replaces all uses of an instruction or parameter with a value of the same type.
    fn replace_uses_with(&self, new: Value<'m>) {
        let old = self.as_any_value_enum();
        assert!(old != new && old.get_type() == new.get_type());
        assert!(old.as_instruction().is_some() || old.as_parameter().is_some());
        // SAFETY: two different values in *one module* with the same type (asserted). Only instructions and metadata
        // use an instruction or a parameter (asserted), so this frees nothing that is *alive*.
        unsafe { LLVMReplaceAllUsesWith(old.as_value_ref(), new.as_value_ref()) }
    }

    fn operand_count(&self) -> u32 {
        match self.kind() {
            ValueKind::LLVMArgumentValueKind | ValueKind::LLVMInlineAsmValueKind => 0,
            // SAFETY: values of all other kinds that inkwell supports have operands.
            _ => unsafe { LLVMGetNumOperands(self.as_value_ref()) as u32 },
        }
    }

    /// Returns the source element type of a `getelementptr`.
    fn gep_type(&self) -> Type {
        assert_eq!(self.opcode(), Some(Opcode::GetElementPtr));
        // SAFETY: the operation was just checked; the type belongs to the context.
        unsafe { AnyTypeEnum::new(LLVMGetGEPSourceElementType(self.as_value_ref())) }
    }

    /// Returns the alignment of a global variable, a stack variable or an access.
    fn alignment_bytes(&self) -> u32 {
        use Opcode::*;
        let aligned = [Alloca, Load, Store, AtomicRMW, AtomicCmpXchg];
        let is_aligned = self.opcode().is_some_and(|it| aligned.contains(&it));
        assert!(is_aligned || self.as_variable().is_some());
        // SAFETY: the value has an alignment (asserted).
        unsafe { LLVMGetAlignment(self.as_value_ref()) }
    }

    fn inline_assembly(&self) -> Option<(String, String)> {
        if self.kind() != ValueKind::LLVMInlineAsmValueKind {
            return None;
        }
        let (raw, mut length) = (self.as_value_ref(), 0);
        // SAFETY: the kind was just checked; the strings are NUL-terminated and copied immediately.
        unsafe {
            let template = CStr::from_ptr(LLVMGetInlineAsmAsmString(raw, &mut length));
            let constraints = CStr::from_ptr(LLVMGetInlineAsmConstraintString(raw, &mut length));
            let [template, constraints] = [template, constraints].map(CStr::to_string_lossy);
            Some((template.into_owned(), constraints.into_owned()))
        }
    }

    /// Whether inline assembly does more than compute its results.
    fn has_side_effects(&self) -> bool {
        self.kind() == ValueKind::LLVMInlineAsmValueKind
            // SAFETY: the kind was just checked.
            && unsafe { LLVMGetInlineAsmHasSideEffects(self.as_value_ref()) != 0 }
    }
}

impl<'m, T: AnyValue<'m>> RawExt<'m> for T {}

/// Returns operand `index`, or `None` if it is a block, metadata, or missing (such as a function's personality).
pub fn operand<'m>(value: &impl AnyValue<'m>, index: u32) -> Option<Value<'m>> {
    let count = value.operand_count();
    assert!(index < count, "operand {index} of {count}");
    // SAFETY: the index is less than the number of operands (asserted). Operands belong to the same module.
    unsafe {
        let operand = LLVMGetOperand(value.as_value_ref(), index);
        let is_value = !operand.is_null()
            && match LLVMGetTypeKind(LLVMTypeOf(operand)) {
                LLVMLabelTypeKind | LLVMMetadataTypeKind => false,
                kind => unsupported_kind(kind).is_none(),
            };
        is_value.then(|| AnyValueEnum::new(operand))
    }
}

/// Returns the name of a type kind that inkwell does not support (it would panic on values of such types).
fn unsupported_kind(kind: LLVMTypeKind) -> Option<&'static str> {
    match kind {
        LLVMTokenTypeKind => Some("token"),
        LLVMTargetExtTypeKind => Some("target"),
        LLVMX86_AMXTypeKind => Some("x86_amx"),
        _ => None,
    }
}

/// Returns the name of a type in `function` that inkwell does not support, or `None` if it supports all of them.
pub fn unsupported_type(function: Function) -> Option<&'static str> {
    let raw = function.as_value_ref();
    let instructions = function.get_basic_block_iter();
    let instructions = instructions.flat_map(|block| block.get_instructions());
    // SAFETY: the index is less than the number of parameters; parameters and instructions have types.
    unsafe {
        let parameters = (0..function.count_params()).map(|index| LLVMGetParam(raw, index));
        let mut values = parameters.chain(instructions.map(|it| it.as_value_ref()));
        values.find_map(|value| unsupported_kind(LLVMGetTypeKind(LLVMTypeOf(value))))
    }
}

pub fn successors<'m>(terminator: Instruction<'m>) -> Vec<Block<'m>> {
    assert!(terminator.is_terminator());
    let raw = terminator.as_value_ref();
    // SAFETY: a terminator (asserted); the index is less than the number of its successors, which are blocks.
    unsafe {
        let blocks = (0..LLVMGetNumSuccessors(raw)).map(|index| LLVMGetSuccessor(raw, index));
        blocks.filter_map(|block| BasicBlock::new(block)).collect()
    }
}

pub fn set_successor<'m>(terminator: Instruction<'m>, index: u32, block: Block<'m>) {
    assert!((index as usize) < successors(terminator).len());
    // SAFETY: a terminator and the index of one of its successors (asserted); a block of the same module.
    unsafe { LLVMSetSuccessor(terminator.as_value_ref(), index, block.as_mut_ptr()) }
}

/// Extends the lifetime of a type to the lifetime of its context.
pub fn in_context<'m>(ty: &impl AnyType<'m>) -> Type {
    // SAFETY: a type of the thread's context, which is never freed.
    unsafe { AnyTypeEnum::new(ty.as_type_ref()) }
}

/// Returns the number of a pointer's address space, which inkwell does not expose.
pub fn address_space(pointer: inkwell::types::PointerType) -> u32 {
    // SAFETY: a pointer type.
    unsafe { LLVMGetPointerAddressSpace(pointer.as_type_ref()) }
}

pub fn undef(ty: BasicTypeEnum) -> Value<'static> {
    // SAFETY: every type has an undefined value, which belongs to the context.
    unsafe { AnyValueEnum::new(LLVMGetUndef(ty.as_type_ref())) }
}

pub fn poison(ty: BasicTypeEnum) -> Value<'static> {
    // SAFETY: every type has a poison value, which belongs to the context.
    unsafe { AnyValueEnum::new(LLVMGetPoison(ty.as_type_ref())) }
}

/// Builds the address `bytes` bytes after `pointer`, in the same object.
pub fn offset<'m>(
    builder: &Builder<'m>,
    pointer: PointerValue<'m>,
    bytes: inkwell::values::IntValue<'m>,
) -> PointerValue<'m> {
    let byte = super::context().i8_type();
    // SAFETY: one index into bytes. An address outside the object, which inkwell warns about, is undefined behaviour in
    // the compiled program, not here.
    let built = unsafe { builder.build_in_bounds_gep(byte, pointer, &[bytes], "") };
    built.expect("a builder with a position")
}

pub fn gep_like<'m>(builder: &Builder<'m>, like: Value<'m>, operands: &[Value<'m>]) -> Value<'m> {
    let types = |values: &[Value]| -> Vec<Type> { values.iter().map(RawExt::ty).collect() };
    assert_eq!(types(&like.operands()), types(operands));
    let mut raw: Vec<_> = operands.iter().map(AsValueRef::as_value_ref).collect();
    let (at, from, indices) = (builder.as_mut_ptr(), raw[0], &mut raw[1..]);
    let (list, count, name) = (indices.as_mut_ptr(), indices.len() as u32, c"".as_ptr());
    // SAFETY: a `getelementptr`, and operands of the same types as its own; the first is the pointer (asserted).
    unsafe {
        let ty = like.gep_type().as_type_ref();
        let flags = LLVMGEPGetNoWrapFlags(like.as_value_ref());
        let gep = LLVMBuildGEPWithNoWrapFlags(at, ty, from, list, count, name, flags);
        AnyValueEnum::new(gep)
    }
}

/// Clears the `inbounds`, `nusw` and `nuw` flags of a `getelementptr`.
pub fn drop_address_promises(gep: Instruction) {
    assert_eq!(gep.get_opcode(), Opcode::GetElementPtr);
    // SAFETY: the operation was just checked.
    unsafe { LLVMGEPSetNoWrapFlags(gep.as_value_ref(), 0) };
}

pub fn clear_comdat(global: Variable) {
    // SAFETY: a function or variable; null removes it from its comdat.
    unsafe { LLVMSetComdat(global.as_value_ref(), std::ptr::null_mut()) }
}

/// Returns the positions of an instruction and the calls through which it was inlined, innermost first.
pub fn source_locations(instruction: Instruction) -> Vec<Location> {
    let Some(location) = instruction.get_debug_location() else {
        return Vec::new();
    };
    let mut location = location.as_mut_ptr();
    let mut found = Vec::new();
    while !location.is_null() {
        // SAFETY: a debug location has a scope, and an inlining location or null; a scope has a file or null; the name
        // of a file is NUL-terminated and copied immediately.
        unsafe {
            let file = LLVMDIScopeGetFile(LLVMDILocationGetScope(location));
            let mut name = c"";
            if !file.is_null() {
                name = CStr::from_ptr(LLVMDIFileGetFilename(file, &mut 0));
            }
            found.push(Location {
                file: name.to_string_lossy().trim_start_matches("./").to_owned(),
                line: LLVMDILocationGetLine(location),
                column: LLVMDILocationGetColumn(location),
            });
            location = LLVMDILocationGetInlinedAt(location);
        }
    }
    found
}

/// Makes LLVM discard the names of values in functions, as Clang does.
pub fn discard_names() {
    // SAFETY: the context is never freed.
    unsafe { LLVMContextSetDiscardValueNames(super::context().raw(), 1) }
}

/// Sets whether libdevice rounds single-precision square roots correctly (`__CUDA_PREC_SQRT`), for all modules in this
/// process.
pub fn round_roots(correctly: bool) {
    let value = match correctly {
        true => c"-nvvm-reflect-add=__CUDA_PREC_SQRT=1",
        false => c"-nvvm-reflect-add=__CUDA_PREC_SQRT=0",
    };
    let arguments = [c"superstep-instrument".as_ptr(), value.as_ptr()];
    // SAFETY: both strings are NUL-terminated, and LLVM copies them. LLVM 22 has the option, so the call returns.
    unsafe { LLVMParseCommandLineOptions(2, arguments.as_ptr(), std::ptr::null()) }
}

pub fn clear_metadata(instruction: Instruction, kind: u32) {
    // SAFETY: an instruction that is *alive*; null removes its metadata of this kind.
    unsafe { LLVMSetMetadata(instruction.as_value_ref(), kind, std::ptr::null_mut()) }
}

/// Sets a module flag to its value in `model`, if both modules have it.
pub fn copy_flag(module: &inkwell::module::Module, model: &inkwell::module::Module, name: &str) {
    const FLAGS: &str = "llvm.module.flags";
    for flag in module.get_global_metadata(FLAGS) {
        let parts = flag.get_node_values().unwrap_or_default();
        let [_, key, _] = parts[..] else { continue };
        let is_wanted = key.is_metadata_value()
            && key.into_metadata_value().get_string_value() == Some(name.as_bytes());
        if let Some(value) = model.get_flag(name).filter(|_| is_wanted) {
            let (flag, value) = (flag.as_value_ref(), value.as_value_ref());
            // SAFETY: a node with three operands, the last of which is the flag's value, and another flag's value in
            // the same context.
            unsafe { LLVMReplaceMDNodeOperandWith(flag, 2, LLVMValueAsMetadata(value)) }
        }
    }
}

pub fn layout(module: &inkwell::module::Module) -> ManuallyDrop<TargetData> {
    // SAFETY: the module owns and frees its layout, so the handle must not.
    ManuallyDrop::new(unsafe { TargetData::new(LLVMGetModuleDataLayout(module.as_mut_ptr())) })
}

thread_local! {
    static LAST_ERROR: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Stores errors in `context` for [`link`], and prints warnings to standard error, like LLVM. By default, LLVM exits
/// on an error.
pub fn keep_errors(context: &Context) {
    extern "C" fn handle(diagnostic: LLVMDiagnosticInfoRef, _: *mut c_void) {
        // SAFETY: the diagnostic is valid; its description is NUL-terminated, owned by the caller, and freed once.
        let (severity, text) = unsafe {
            let description = LLVMGetDiagInfoDescription(diagnostic);
            let text = CStr::from_ptr(description).to_string_lossy().into_owned();
            LLVMDisposeMessage(description);
            (LLVMGetDiagInfoSeverity(diagnostic), text)
        };
        match severity {
            LLVMDiagnosticSeverity::LLVMDSError => LAST_ERROR.set(text),
            LLVMDiagnosticSeverity::LLVMDSWarning => eprintln!("warning: {text}"),
            _ => {}
        }
    }
    // SAFETY: the context is never freed; the handler has no data.
    unsafe { LLVMContextSetDiagnosticHandler(context.raw(), Some(handle), std::ptr::null_mut()) }
}

/// Links `other`, compiled from `unit`, into `module`. Replaces inkwell's function, which leaves behind a diagnostic
/// handler that writes to a dead stack frame.
pub fn link(
    module: &mut inkwell::module::Module,
    other: inkwell::module::Module,
    unit: String,
) -> Result<()> {
    let other = ManuallyDrop::new(other);
    // SAFETY: two modules in one context. No handle into either exists: `module` is borrowed by `&mut`, and `other` is
    // moved. The linker frees `other`.
    let failed = unsafe { LLVMLinkModules2(module.as_mut_ptr(), other.as_mut_ptr()) != 0 };
    let mut reason = LAST_ERROR.take();
    if !failed {
        return Ok(());
    }
    if reason.is_empty() {
        reason = "LLVM gave no reason".to_owned();
    }
    bail!(
        "failed to link the device code of {unit} with that of the other units: {reason}; make one definition static, or leave out \
         -fgpu-rdc if no unit uses device code from another"
    )
}

impl Module {
    /// Deletes the unused function or variable that `find` returns.
    pub(super) fn delete(&mut self, find: impl FnOnce(&Module) -> Option<Value<'_>>) {
        let Some(global) = find(self) else { return };
        assert!(global.users().is_empty(), "the global is still used");
        // SAFETY: an unused global of this module (asserted). No other handle to it or its contents exists, because the
        // module is borrowed by `&mut`.
        unsafe {
            match global.kind() {
                ValueKind::LLVMFunctionValueKind => LLVMDeleteFunction(global.as_value_ref()),
                ValueKind::LLVMGlobalVariableValueKind => LLVMDeleteGlobal(global.as_value_ref()),
                other => panic!("{other:?} is not a global"),
            }
        }
    }
}
