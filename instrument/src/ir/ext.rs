//! Functions of LLVM that inkwell lacks. No other file of this crate calls LLVM itself.
//!
//! Every function here takes and returns inkwell's handles. The rules that keep those valid are at the top of [`super`]; the `SAFETY`
//! comments call them by name.

use super::traits::*;
use super::{Block, Function, Instruction, Module, ModuleError, Opcode, Type, Value, Variable};
use inkwell::builder::Builder;
use inkwell::llvm_sys::LLVMTypeKind::*;
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;
use inkwell::llvm_sys::{
    LLVMDiagnosticSeverity, comdat::*, core::*, debuginfo::*, linker::LLVMLinkModules2,
    support::LLVMParseCommandLineOptions, target::*,
};
pub use inkwell::llvm_sys::{LLVMOpcode, LLVMValueKind as ValueKind};
use inkwell::targets::TargetData;
use inkwell::types::{AnyType, AnyTypeEnum, AsTypeRef, BasicTypeEnum};
use inkwell::values::{
    AnyValue, AnyValueEnum, AsValueRef, FunctionValue, GlobalValue, InstructionValue, PointerValue,
};
use inkwell::{
    attributes::Attribute, basic_block::BasicBlock, context::Context, debug_info::DILocation,
};
use std::cell::RefCell;
use std::ffi::{CStr, c_void};
use std::mem::ManuallyDrop;

pub trait RawExt<'m>: AnyValue<'m> + Sized {
    fn kind(&self) -> ValueKind {
        // SAFETY: a value that is alive.
        unsafe { LLVMGetValueKind(self.as_value_ref()) }
    }

    fn ty(&self) -> Type {
        // SAFETY: a value that is alive; its type lives in the context.
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

    fn operand_count(&self) -> u32 {
        match self.kind() {
            ValueKind::LLVMArgumentValueKind | ValueKind::LLVMInlineAsmValueKind => 0,
            // SAFETY: a value of any other kind that inkwell has handles for has a list of operands.
            _ => unsafe { LLVMGetNumOperands(self.as_value_ref()) as u32 },
        }
    }

    /// Type of what the first index of a `getelementptr` counts.
    fn gep_type(&self) -> Type {
        assert_eq!(self.opcode(), Some(Opcode::GetElementPtr));
        // SAFETY: the operation was just checked; the type lives in the context.
        unsafe { AnyTypeEnum::new(LLVMGetGEPSourceElementType(self.as_value_ref())) }
    }

    /// Alignment of a variable, of what an alloca makes room for, or of an access.
    fn alignment_bytes(&self) -> u32 {
        use Opcode::*;
        let accesses = [Alloca, Load, Store, AtomicRMW, AtomicCmpXchg];
        let has_one = self.opcode().is_some_and(|it| accesses.contains(&it));
        assert!(has_one || self.as_variable().is_some());
        // SAFETY: a value that has an alignment (asserted).
        unsafe { LLVMGetAlignment(self.as_value_ref()) }
    }

    fn inline_assembly(&self) -> Option<(String, String)> {
        if self.kind() != ValueKind::LLVMInlineAsmValueKind {
            return None;
        }
        let (raw, mut length) = (self.as_value_ref(), 0);
        // SAFETY: the kind was just checked; LLVM lends texts that end with NUL, and they are copied at once.
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

/// Operand `index`. `None` for what is no value of the program: a block, metadata, or nothing (a function without personality).
pub fn operand<'m>(value: &impl AnyValue<'m>, index: u32) -> Option<Value<'m>> {
    let count = value.operand_count();
    assert!(index < count, "operand {index} of {count}");
    // SAFETY: the index is below the number of operands (asserted). An operand that is a value is of the same module.
    unsafe {
        let operand = LLVMGetOperand(value.as_value_ref(), index);
        let is_value = !operand.is_null()
            && !matches!(
                LLVMGetTypeKind(LLVMTypeOf(operand)),
                LLVMLabelTypeKind
                    | LLVMMetadataTypeKind
                    | LLVMTokenTypeKind
                    | LLVMTargetExtTypeKind
                    | LLVMX86_AMXTypeKind
            );
        is_value.then(|| AnyValueEnum::new(operand))
    }
}

/// The type of a value in `function`, if inkwell has no handles of such values: it panics when it meets one.
pub fn unsupported_type(function: Function) -> Option<&'static str> {
    let raw = function.as_value_ref();
    let instructions = function.get_basic_block_iter();
    let instructions = instructions.flat_map(|block| block.get_instructions());
    // SAFETY: the index stays below the number of parameters; parameters and instructions have types.
    unsafe {
        let parameters = (0..function.count_params()).map(|index| LLVMGetParam(raw, index));
        let mut values = parameters.chain(instructions.map(|it| it.as_value_ref()));
        values.find_map(|value| match LLVMGetTypeKind(LLVMTypeOf(value)) {
            LLVMTokenTypeKind => Some("token"),
            LLVMTargetExtTypeKind => Some("target"),
            LLVMX86_AMXTypeKind => Some("x86_amx"),
            _ => None,
        })
    }
}

pub fn constant_opcode<'m>(value: &impl AnyValue<'m>) -> Option<Opcode> {
    (value.kind() == ValueKind::LLVMConstantExprValueKind)
        // SAFETY: the kind was just checked.
        .then(|| unsafe { LLVMGetConstOpcode(value.as_value_ref()) }.into())
}

pub fn parameter_of<'m>(value: &impl AnyValue<'m>) -> Option<Function<'m>> {
    if value.kind() != ValueKind::LLVMArgumentValueKind {
        return None;
    }
    // SAFETY: the kind was just checked; a parameter belongs to a function as long as it lives.
    unsafe { FunctionValue::new(LLVMGetParamParent(value.as_value_ref())) }
}

/// Replaces all uses of an instruction or parameter by a value of the same type.
pub fn replace_uses<'m>(old: &impl AnyValue<'m>, new: &impl AnyValue<'m>) {
    let (old, new) = (old.as_any_value_enum(), new.as_any_value_enum());
    assert!(old != new && old.get_type() == new.get_type());
    assert!(
        [
            ValueKind::LLVMInstructionValueKind,
            ValueKind::LLVMArgumentValueKind
        ]
        .contains(&old.kind())
    );
    // SAFETY: two different values of one module and of one type (asserted). What uses an instruction or a parameter (asserted) is an
    // instruction or metadata: nothing that is *alive* is freed.
    unsafe { LLVMReplaceAllUsesWith(old.as_value_ref(), new.as_value_ref()) }
}

pub fn successors<'m>(terminator: Instruction<'m>) -> Vec<Block<'m>> {
    assert!(terminator.is_terminator());
    let raw = terminator.as_value_ref();
    // SAFETY: a terminator (asserted); the index stays below the number of its successors, which are blocks.
    unsafe {
        let indices = 0..LLVMGetNumSuccessors(raw);
        indices
            .filter_map(|index| BasicBlock::new(LLVMGetSuccessor(raw, index)))
            .collect()
    }
}

pub fn set_successor<'m>(terminator: Instruction<'m>, index: u32, block: Block<'m>) {
    assert!((index as usize) < successors(terminator).len());
    // SAFETY: a terminator and a number of one of its successors (asserted); a block of the same module.
    unsafe { LLVMSetSuccessor(terminator.as_value_ref(), index, block.as_mut_ptr()) }
}

/// A type without the lifetime of what has told it: types live in the context.
pub fn in_context<'m>(ty: &impl AnyType<'m>) -> Type {
    // SAFETY: a type of the thread's context, which is never freed.
    unsafe { AnyTypeEnum::new(ty.as_type_ref()) }
}

/// An array type, of more elements than inkwell can count.
pub fn array(element: BasicTypeEnum, count: u64) -> Type {
    // SAFETY: there are arrays of every type of which values can be in memory.
    unsafe { AnyTypeEnum::new(LLVMArrayType2(element.as_type_ref(), count)) }
}

pub fn array_length(array: inkwell::types::ArrayType) -> u64 {
    // SAFETY: an array type.
    unsafe { LLVMGetArrayLength2(array.as_type_ref()) }
}

/// The number of a pointer's address space, which inkwell keeps to itself.
pub fn address_space(pointer: inkwell::types::PointerType) -> u32 {
    // SAFETY: a pointer type.
    unsafe { LLVMGetPointerAddressSpace(pointer.as_type_ref()) }
}

pub fn undef(ty: BasicTypeEnum) -> Value<'static> {
    // SAFETY: there is such a value of every type; it lives in the context.
    unsafe { AnyValueEnum::new(LLVMGetUndef(ty.as_type_ref())) }
}

pub fn poison(ty: BasicTypeEnum) -> Value<'static> {
    // SAFETY: there is such a value of every type; it lives in the context.
    unsafe { AnyValueEnum::new(LLVMGetPoison(ty.as_type_ref())) }
}

pub fn attribute_type(attribute: Attribute) -> Type {
    assert!(attribute.is_type());
    // SAFETY: an attribute that holds a type (asserted), which lives in the thread's context.
    unsafe { AnyTypeEnum::new(LLVMGetTypeAttributeValue(attribute.as_mut_ptr())) }
}

/// The address `bytes` bytes after `pointer`, in the same object.
pub fn offset<'m>(
    builder: &Builder<'m>,
    pointer: PointerValue<'m>,
    bytes: inkwell::values::IntValue<'m>,
) -> PointerValue<'m> {
    let byte = super::context().i8_type();
    // SAFETY: one index into bytes. What inkwell warns of, that it may lead out of the object, is undefined in the program that is built,
    // not here.
    let built = unsafe { builder.build_in_bounds_gep(byte, pointer, &[bytes], "") };
    built.expect("a builder with a place")
}

pub fn gep_like<'m>(builder: &Builder<'m>, like: Value<'m>, operands: &[Value<'m>]) -> Value<'m> {
    let types = |values: &[Value]| -> Vec<Type> { values.iter().map(RawExt::ty).collect() };
    assert_eq!(constant_opcode(&like), Some(Opcode::GetElementPtr));
    assert_eq!(types(&like.operands()), types(operands));
    let mut raw: Vec<_> = operands.iter().map(AsValueRef::as_value_ref).collect();
    let (at, from, indices) = (builder.as_mut_ptr(), raw[0], &mut raw[1..]);
    let (list, count, name) = (indices.as_mut_ptr(), indices.len() as u32, c"".as_ptr());
    // SAFETY: a `getelementptr` and operands of the types of its own, of which the first is the pointer (asserted).
    unsafe {
        let ty = like.gep_type().as_type_ref();
        let flags = LLVMGEPGetNoWrapFlags(like.as_value_ref());
        let gep = LLVMBuildGEPWithNoWrapFlags(at, ty, from, list, count, name, flags);
        AnyValueEnum::new(gep)
    }
}

/// Makes a `getelementptr` promise nothing of where it leads.
pub fn drop_address_promises(gep: Instruction) {
    assert_eq!(gep.get_opcode(), Opcode::GetElementPtr);
    // SAFETY: the operation was just checked.
    unsafe { LLVMGEPSetNoWrapFlags(gep.as_value_ref(), 0) };
}

/// Removes a variable or function from its group of symbols that are linked together.
pub fn clear_comdat(global: Variable) {
    // SAFETY: functions and variables may have a group, and may have none.
    unsafe { LLVMSetComdat(global.as_value_ref(), std::ptr::null_mut()) }
}

/// The files, lines and columns of an instruction and of the calls that it is inlined into, the innermost first.
pub fn source_places(location: DILocation) -> Vec<(String, u32, u32)> {
    let mut place = location.as_mut_ptr();
    let mut found = Vec::new();
    while !place.is_null() {
        // SAFETY: a debug location, and where that is inlined, have a scope, and null follows the last; a scope has a file or null,
        // and a file lends its name, which ends with NUL and is copied at once.
        unsafe {
            let file = LLVMDIScopeGetFile(LLVMDILocationGetScope(place));
            let mut name = c"";
            if !file.is_null() {
                name = CStr::from_ptr(LLVMDIFileGetFilename(file, &mut 0));
            }
            let name = name.to_string_lossy().into_owned();
            let (line, column) = (LLVMDILocationGetLine(place), LLVMDILocationGetColumn(place));
            found.push((name, line, column));
            place = LLVMDILocationGetInlinedAt(place);
        }
    }
    found
}

/// Has LLVM give no names to values in functions from now on, as Clang does.
pub fn discard_names() {
    // SAFETY: the context is alive.
    unsafe { LLVMContextSetDiscardValueNames(super::context().raw(), 1) }
}

/// Chooses for all modules of this process whether libdevice rounds square roots in single precision correctly (`__CUDA_PREC_SQRT`).
pub fn round_roots(exactly: bool) {
    let value = if exactly {
        c"-nvvm-reflect-add=__CUDA_PREC_SQRT=1"
    } else {
        c"-nvvm-reflect-add=__CUDA_PREC_SQRT=0"
    };
    let arguments = [c"superstep-instrument".as_ptr(), value.as_ptr()];
    // SAFETY: both texts end with NUL and live longer than the call, which copies them; LLVM 22 knows the option, so it returns.
    unsafe { LLVMParseCommandLineOptions(2, arguments.as_ptr(), std::ptr::null()) }
}

/// Whether the module carries a mark: named metadata, which survives every pass, linking and writing.
pub fn is_marked(module: &inkwell::module::Module, name: &str) -> bool {
    // SAFETY: a module that is alive; the name's length is given.
    let found =
        unsafe { LLVMGetNamedMetadata(module.as_mut_ptr(), name.as_ptr().cast(), name.len()) };
    !found.is_null()
}

pub fn mark(module: &inkwell::module::Module, name: &str) {
    // SAFETY: a module that is alive; the name's length is given.
    unsafe { LLVMGetOrInsertNamedMetadata(module.as_mut_ptr(), name.as_ptr().cast(), name.len()) };
}

pub fn clear_metadata(instruction: Instruction, kind: u32) {
    // SAFETY: an instruction that is alive; LLVM takes no metadata as the request to drop that of the kind.
    unsafe { LLVMSetMetadata(instruction.as_value_ref(), kind, std::ptr::null_mut()) }
}

/// Sets a module flag to what it is in `model`, where both have it.
pub fn copy_flag(module: &inkwell::module::Module, model: &inkwell::module::Module, name: &str) {
    const FLAGS: &str = "llvm.module.flags";
    for flag in module.get_global_metadata(FLAGS) {
        let parts = flag.get_node_values().unwrap_or_default();
        let [_, key, _] = parts[..] else { continue };
        let is_wanted = key.is_metadata_value()
            && key.into_metadata_value().get_string_value() == Some(name.as_bytes());
        if let Some(value) = model.get_flag(name).filter(|_| is_wanted) {
            let (flag, value) = (flag.as_value_ref(), value.as_value_ref());
            // SAFETY: a node with three operands, of which the last is the flag's value, and another such value of the same context.
            unsafe { LLVMReplaceMDNodeOperandWith(flag, 2, LLVMValueAsMetadata(value)) }
        }
    }
}

/// The module's own data layout.
pub fn layout(module: &inkwell::module::Module) -> ManuallyDrop<TargetData> {
    // SAFETY: the module lends its layout and frees it itself, for which reason the handle does not.
    ManuallyDrop::new(unsafe { TargetData::new(LLVMGetModuleDataLayout(module.as_mut_ptr())) })
}

thread_local! {
    static LAST_ERROR: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps errors in `context` for [`link`]; warnings go to standard error, as in LLVM itself. Without this LLVM ends the process.
pub fn keep_errors(context: &Context) {
    extern "C" fn handle(diagnostic: LLVMDiagnosticInfoRef, _: *mut c_void) {
        // SAFETY: LLVM calls this with a valid diagnostic and hands its text over, which ends with NUL, is copied and freed once.
        let (severity, text) = unsafe {
            let lent = LLVMGetDiagInfoDescription(diagnostic);
            let text = CStr::from_ptr(lent).to_string_lossy().into_owned();
            LLVMDisposeMessage(lent);
            (LLVMGetDiagInfoSeverity(diagnostic), text)
        };
        match severity {
            LLVMDiagnosticSeverity::LLVMDSError => LAST_ERROR.set(text),
            LLVMDiagnosticSeverity::LLVMDSWarning => eprintln!("warning: {text}"),
            _ => {}
        }
    }
    // SAFETY: the context is alive; the handler is a function without data of its own.
    unsafe { LLVMContextSetDiagnosticHandler(context.raw(), Some(handle), std::ptr::null_mut()) }
}

/// Links `other`, of the source `unit`, into `module`. inkwell's own function leaves a handler behind that writes to a place of its stack.
pub fn link(
    module: &mut inkwell::module::Module,
    other: inkwell::module::Module,
    unit: String,
) -> Result<(), ModuleError> {
    let other = ManuallyDrop::new(other);
    // SAFETY: two modules of one context. No handle of either exists, for this one is borrowed by `&mut` and the other is given up; the
    // linker frees it.
    let failed = unsafe { LLVMLinkModules2(module.as_mut_ptr(), other.as_mut_ptr()) != 0 };
    let mut reason = LAST_ERROR.take();
    if !failed {
        return Ok(());
    }
    if reason.is_empty() {
        reason = "LLVM does not say why".to_owned();
    }
    Err(ModuleError::Link { unit, reason })
}

impl Module {
    /// Deletes the function or variable that `find` finds, which nothing uses.
    pub(super) fn delete(&mut self, find: impl FnOnce(&Module) -> Option<Value<'_>>) {
        let Some(global) = find(self) else { return };
        assert!(global.users().is_empty(), "it is used");
        // SAFETY: a global of this module that nothing uses (asserted). No other handle of it or of what it holds exists: the module is
        // borrowed by `&mut`, so that what `find` returns is all there is.
        unsafe {
            match global.kind() {
                ValueKind::LLVMFunctionValueKind => LLVMDeleteFunction(global.as_value_ref()),
                ValueKind::LLVMGlobalVariableValueKind => LLVMDeleteGlobal(global.as_value_ref()),
                other => panic!("{other:?} is no global"),
            }
        }
    }
}
