//! The module that is transformed: reading, linking, checking, passes, writing.

use super::{
    Function, Global, Machine, Type, Value, Variable, c_string, context, diagnostic, message, text,
};
pub use llvm_sys::LLVMLinkage as Linkage;
use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyFunction, LLVMVerifyModule};
use llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use llvm_sys::{
    LLVMUnnamedAddr,
    bit_writer::LLVMWriteBitcodeToFile,
    core::*,
    error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage},
    ir_reader::LLVMParseIRInContext2,
    linker::LLVMLinkModules2,
    target::*,
    target_machine::{LLVMCreateTargetDataLayout, LLVMGetTargetMachineTriple},
    transforms::pass_builder::*,
};
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString};
use std::path::Path;
use thiserror::Error;

/// What can go wrong with a module as a whole.
#[derive(Debug, Error)]
pub enum ModuleError {
    #[error("failed to read {path}: {reason}")]
    Read { path: String, reason: String },
    #[error(
        "failed to link the device code of {unit} with that of the other units: {reason}; make one of the two static, or leave out \
         -fgpu-rdc if no unit uses device code of another"
    )]
    Link {
        /// The source of what was to be linked in.
        unit: String,
        reason: String,
    },
    #[error("{stage} produced IR that LLVM refuses: {reason}")]
    Invalid { stage: &'static str, reason: String },
    #[error("failed to run the passes {passes}: {reason}")]
    Passes {
        /// The pipeline in LLVM's notation.
        passes: String,
        reason: String,
    },
    #[error("failed to write {path}: check that the folder exists and that the disk has room")]
    Write { path: String },
    #[error(
        "this LLVM cannot generate code for {triple}: {reason}; repair it with `cargo xtask setup`"
    )]
    Target { triple: String, reason: String },
}

/// The thread's module. It lives as long as the thread.
pub struct Module {
    pub(super) raw: LLVMModuleRef,
    /// Functions and variables that nothing is to use any more, and what stands in their place.
    superseded: RefCell<Vec<(LLVMValueRef, LLVMValueRef)>>,
}

impl Module {
    /// Reads bitcode or IR text, once in a thread.
    pub fn read(path: &Path) -> Result<Self, ModuleError> {
        thread_local! {
            static READ: Cell<bool> = const { Cell::new(false) };
        }
        assert!(!READ.replace(true), "a thread reads one module");
        Self::parse(path)
    }

    fn parse(path: &Path) -> Result<Self, ModuleError> {
        let failed = |reason: String| ModuleError::Read {
            path: path.display().to_string(),
            reason: reason.trim().to_owned(),
        };
        let name =
            CString::new(path.as_os_str().as_encoded_bytes()).map_err(|e| failed(e.to_string()))?;
        let (mut buffer, mut module) = (std::ptr::null_mut(), std::ptr::null_mut());
        let mut error = std::ptr::null_mut();
        // SAFETY: LLVM fills in the buffer, the module or an error, which is ours then. The parser copies from the buffer.
        unsafe {
            if LLVMCreateMemoryBufferWithContentsOfFile(name.as_ptr(), &mut buffer, &mut error) != 0
            {
                return Err(failed(message(error)));
            }
            let bad = LLVMParseIRInContext2(context(), buffer, &mut module, &mut error) != 0;
            LLVMDisposeMemoryBuffer(buffer);
            if bad {
                return Err(failed(message(error)));
            }
        }
        Ok(Module {
            raw: module,
            superseded: RefCell::default(),
        })
    }

    /// Name of the source file that the module was compiled from; of the first, when several were linked.
    pub fn source(&self) -> String {
        let mut length = 0;
        // SAFETY: a module that is alive lends its source's name and says how long it is.
        unsafe { text(LLVMGetSourceFileName(self.raw, &mut length), length) }
    }

    /// Links the module in a file into this one, after `prepare` has seen it. `stage` says what was just done to this one.
    pub fn link(
        &mut self,
        stage: &'static str,
        path: &Path,
        prepare: impl FnOnce(&Module),
    ) -> Result<(), ModuleError> {
        self.verify(stage)?;
        let mut other = Self::parse(path)?;
        prepare(&other);
        other.take_flag(self, "nvvm-reflect-ftz");
        other.verify("reading the input")?;
        let unit = other.source();
        // SAFETY: two modules of one context that the verifier accepts. No handle of either exists, for this one is borrowed
        // by `&mut` and the other is known here only; the linker takes the other one over.
        if unsafe { LLVMLinkModules2(self.raw, other.raw) } != 0 {
            let reason = diagnostic::take_last();
            return Err(ModuleError::Link { unit, reason });
        }
        Ok(())
    }

    /// Sets a module flag to what it is in `model`, where both have it. What a unit was compiled with is in its code already: units
    /// with and without `-use_fast_math` go together as they do for nvcc.
    fn take_flag(&mut self, model: &Module, name: &str) {
        // SAFETY: two modules of one context that are alive. The array has room for as many nodes as there are; each is a node of
        // three operands (checked), of which the second is the flag's name.
        unsafe {
            let value = LLVMGetModuleFlag(model.raw, name.as_ptr().cast(), name.len());
            if value.is_null() {
                return;
            }
            let count = LLVMGetNamedMetadataNumOperands(self.raw, c"llvm.module.flags".as_ptr());
            let mut flags = vec![std::ptr::null_mut(); count as usize];
            let list = c"llvm.module.flags".as_ptr();
            LLVMGetNamedMetadataOperands(self.raw, list, flags.as_mut_ptr());
            for flag in flags {
                let mut parts = [std::ptr::null_mut(); 3];
                if LLVMGetMDNodeNumOperands(flag) == 3 {
                    LLVMGetMDNodeOperands(flag, parts.as_mut_ptr());
                    let mut length = 0;
                    let key = LLVMGetMDString(parts[1], &mut length);
                    if text(key, length as usize) == name {
                        LLVMReplaceMDNodeOperandWith(flag, 2, value);
                    }
                }
            }
        }
    }

    /// Puts `new` wherever `old` is used, at once in instructions, and deletes `old` when no handle can point to it.
    pub fn supersede<'m>(&'m self, old: Global<'m>, new: Global<'m>) {
        assert!(old != new && old.ty() == new.ty());
        let mut superseded = self.superseded.borrow_mut();
        let gone = |global: Global| superseded.iter().any(|(old, _)| *old == global.raw());
        assert!(!gone(old) && !gone(new), "superseded already");
        for user in old.using_instructions() {
            user.replace_operand(old.value(), new.value());
        }
        superseded.push((old.raw(), new.raw()));
    }

    /// Deletes what others supersede, which constants may still name.
    pub(super) fn settle(&mut self) {
        for (old, new) in self.superseded.take() {
            // SAFETY: two different globals of one type, both of this module and neither deleted before (`supersede`). No handle
            // exists, of the old one or of constants that name it: the module is borrowed by `&mut`.
            unsafe {
                LLVMReplaceAllUsesWith(old, new);
                if LLVMIsAFunction(old).is_null() {
                    LLVMDeleteGlobal(old);
                } else {
                    LLVMDeleteFunction(old);
                }
            }
        }
    }

    /// Deletes the function of that name, which nothing uses.
    pub fn delete_function(&mut self, name: &str) {
        self.settle();
        if let Some(function) = self.function(name) {
            assert!(function.users().is_empty(), "{name} is used");
            // SAFETY: a function of this module that nothing uses (asserted). No other handle of it or of what it holds
            // exists: the module is borrowed by `&mut`, and the one here ends.
            unsafe { LLVMDeleteFunction(function.raw()) }
        }
    }

    /// Has LLVM check the module; `stage` says what was just done.
    pub fn verify(&mut self, stage: &'static str) -> Result<(), ModuleError> {
        self.settle();
        let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
        let mut error = std::ptr::null_mut();
        // SAFETY: a module that is alive; the message is ours.
        let (bad, reason) = unsafe {
            let bad = LLVMVerifyModule(self.raw, action, &mut error) != 0;
            (bad, message(error))
        };
        if bad {
            let reason = reason.trim().to_owned();
            return Err(ModuleError::Invalid { stage, reason });
        }
        Ok(())
    }

    /// Functions, in the module's order.
    pub fn functions(&self) -> Vec<Function<'_>> {
        // SAFETY: a module that is alive; its list holds functions and does not change here.
        unsafe {
            super::list(
                LLVMGetFirstFunction(self.raw),
                LLVMGetNextFunction,
                Function::new,
            )
        }
    }

    /// Functions with a body, in the module's order.
    pub fn defined_functions(&self) -> Vec<Function<'_>> {
        let functions = self.functions().into_iter();
        functions.filter(|f| !f.is_declaration()).collect()
    }

    /// Kernels with a body, in the module's order.
    pub fn kernels(&self) -> Vec<Function<'_>> {
        let functions = self.defined_functions().into_iter();
        functions.filter(|f| f.is_kernel()).collect()
    }

    /// Global variables, in the module's order.
    pub fn variables(&self) -> Vec<Variable<'_>> {
        // SAFETY: a module that is alive; its list holds variables and does not change here.
        unsafe {
            super::list(
                LLVMGetFirstGlobal(self.raw),
                LLVMGetNextGlobal,
                Variable::new,
            )
        }
    }

    pub fn function(&self, name: &str) -> Option<Function<'_>> {
        let name = c_string(name);
        // SAFETY: a module that is alive, and a name that ends with a NUL; null when there is none.
        unsafe { super::optional(LLVMGetNamedFunction(self.raw, name.as_ptr()), Function::new) }
    }

    pub fn variable(&self, name: &str) -> Option<Variable<'_>> {
        let name = c_string(name);
        // SAFETY: a module that is alive, and a name that ends with a NUL; null when there is none.
        unsafe { super::optional(LLVMGetNamedGlobal(self.raw, name.as_ptr()), Variable::new) }
    }

    pub fn add_function(&self, name: &str, signature: Type) -> Function<'_> {
        signature.parameters();
        let name = c_string(name);
        // SAFETY: a module that is alive, a type of functions (`parameters` refuses others), a name that ends with a NUL.
        unsafe { Function::new(LLVMAddFunction(self.raw, name.as_ptr(), signature.raw())) }
    }

    /// The function of that name, declared when it is not there yet.
    pub fn declare(&self, name: &str, signature: Type) -> Function<'_> {
        self.function(name)
            .unwrap_or_else(|| self.add_function(name, signature))
    }

    /// Whether the module carries a mark (named metadata, which survives every pass, linking and writing).
    pub fn is_marked(&self, name: &str) -> bool {
        // SAFETY: a module that is alive; the name's length is given.
        unsafe { !LLVMGetNamedMetadata(self.raw, name.as_ptr().cast(), name.len()).is_null() }
    }

    pub fn mark(&self, name: &str) {
        // SAFETY: a module that is alive; the name's length is given.
        unsafe { LLVMGetOrInsertNamedMetadata(self.raw, name.as_ptr().cast(), name.len()) };
    }

    /// Adds a variable in the generic address space.
    pub fn add_variable(&self, name: &str, ty: Type) -> Variable<'_> {
        self.add_variable_in(name, ty, 0)
    }

    pub fn add_variable_in(&self, name: &str, ty: Type, address_space: u32) -> Variable<'_> {
        let name = c_string(name);
        let ty = ty.sized().raw();
        // SAFETY: a module that is alive, a type that can be in memory (asserted), a name that ends with a NUL.
        unsafe {
            let raw = LLVMAddGlobalInAddressSpace(self.raw, ty, name.as_ptr(), address_space);
            Variable::new(raw)
        }
    }

    /// Adds a private variable that is never written.
    pub fn add_constant<'m>(&'m self, name: &str, value: Value<'m>) -> Variable<'m> {
        let variable = self.add_variable(name, value.ty());
        variable.set_initializer(value);
        variable.set_constant(true);
        variable.set_linkage(Linkage::LLVMPrivateLinkage);
        let unnamed = LLVMUnnamedAddr::LLVMGlobalUnnamedAddr;
        // SAFETY: a variable that is alive.
        unsafe { LLVMSetUnnamedAddress(variable.raw(), unnamed) };
        variable
    }

    /// Adds a private string, to which a NUL is appended.
    pub fn add_string(&self, name: &str, bytes: &[u8]) -> Variable<'_> {
        // SAFETY: the context is alive; LLVM copies as many bytes as it is told.
        let value = unsafe {
            let (text, length) = (bytes.as_ptr().cast(), bytes.len());
            Value::new(LLVMConstStringInContext2(context(), text, length, 0))
        };
        self.add_constant(name, value)
    }

    pub fn constant_struct<'m>(&'m self, members: &[Value<'m>]) -> Value<'m> {
        assert!(members.iter().all(|v| v.is_constant()));
        let mut raw: Vec<_> = members.iter().map(|v| v.raw()).collect();
        let (list, count) = (raw.as_mut_ptr(), raw.len() as u32);
        // SAFETY: constants (asserted), of which LLVM copies as many as it is told.
        unsafe { Value::new(LLVMConstStructInContext(context(), list, count, 0)) }
    }

    pub fn constant_array<'m>(&'m self, element: Type, values: &[Value<'m>]) -> Value<'m> {
        assert!(values.iter().all(|v| v.is_constant() && v.ty() == element));
        let mut raw: Vec<_> = values.iter().map(|v| v.raw()).collect();
        let (element, count) = (element.sized().raw(), raw.len() as u64);
        // SAFETY: constants of the element's type (asserted), of which LLVM copies as many as it is told.
        unsafe { Value::new(LLVMConstArray2(element, raw.as_mut_ptr(), count)) }
    }

    /// Runs a pass pipeline in LLVM's notation. `stage` says what was just done.
    pub fn run_passes(
        &mut self,
        stage: &'static str,
        passes: &str,
        machine: &Machine,
    ) -> Result<(), ModuleError> {
        self.verify(stage)?;
        let pipeline = c_string(passes);
        // SAFETY: a module that the verifier accepts and of which no handle exists, for it is borrowed by `&mut`; the options
        // are disposed once.
        unsafe {
            let options = LLVMCreatePassBuilderOptions();
            let error = LLVMRunPasses(self.raw, pipeline.as_ptr(), machine.raw(), options);
            LLVMDisposePassBuilderOptions(options);
            outcome(passes, error)
        }
    }

    /// Runs a pipeline of function passes on the function called `name`.
    pub fn run_function_passes(
        &mut self,
        name: &str,
        passes: &str,
        machine: &Machine,
    ) -> Result<(), ModuleError> {
        self.settle();
        let Some(function) = self.function(name).filter(|f| !f.is_declaration()) else {
            return Ok(());
        };
        let pipeline = c_string(passes);
        // SAFETY: a function with a body that the verifier accepts. No handle but this one exists, for the module is borrowed
        // by `&mut`, and this one ends here. The options are disposed once.
        unsafe {
            let function = function.raw();
            let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
            if LLVMVerifyFunction(function, action) != 0 {
                return self.verify("preparing a function for passes");
            }
            let options = LLVMCreatePassBuilderOptions();
            let error =
                LLVMRunPassesOnFunction(function, pipeline.as_ptr(), machine.raw(), options);
            LLVMDisposePassBuilderOptions(options);
            outcome(passes, error)
        }
    }

    /// Makes the module one for `machine`: its triple and its data layout.
    pub fn set_target(&self, machine: &Machine) {
        // SAFETY: a module and a machine that are alive; triple and layout are copied into the module, and freed once.
        unsafe {
            let triple = LLVMGetTargetMachineTriple(machine.raw());
            LLVMSetTarget(self.raw, triple);
            LLVMDisposeMessage(triple);
            let layout = LLVMCreateTargetDataLayout(machine.raw());
            LLVMSetModuleDataLayout(self.raw, layout);
            LLVMDisposeTargetData(layout);
        }
    }

    /// Writes bitcode. `stage` says what was just done.
    pub fn write(&mut self, stage: &'static str, path: &Path) -> Result<(), ModuleError> {
        self.verify(stage)?;
        let failed = || ModuleError::Write {
            path: path.display().to_string(),
        };
        let name = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| failed())?;
        // SAFETY: a module that the verifier accepts, and a path that ends with a NUL.
        if unsafe { LLVMWriteBitcodeToFile(self.raw, name.as_ptr()) } != 0 {
            return Err(failed());
        }
        Ok(())
    }

    pub fn print(&self) -> String {
        // SAFETY: a module that is alive; LLVM hands the message over.
        unsafe { message(LLVMPrintModuleToString(self.raw)) }
    }

    pub fn intrinsic(&self, intrinsic: Intrinsic) -> Function<'_> {
        let (name, mut overloads) = match intrinsic {
            Intrinsic::Fma(ty) => {
                assert!(ty.scalar().is_floating_point());
                ("llvm.fma", vec![ty.raw()])
            }
            Intrinsic::IsGlobal => ("llvm.nvvm.isspacep.global", Vec::new()),
            Intrinsic::Plain(name) => (name, Vec::new()),
            Intrinsic::Lane => ("llvm.nvvm.read.ptx.sreg.laneid", Vec::new()),
            Intrinsic::ToSigned(to, from) => ("llvm.fptosi.sat", vec![to.raw(), from.raw()]),
            Intrinsic::ToUnsigned(to, from) => ("llvm.fptoui.sat", vec![to.raw(), from.raw()]),
            Intrinsic::ThreadLocalAddress => {
                ("llvm.threadlocal.address", vec![Type::pointer(0).raw()])
            }
        };
        // SAFETY: a module that is alive; names of intrinsics of LLVM 22 (checked) with as many types as each is overloaded for.
        unsafe {
            let id = LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
            assert_ne!(id, 0, "LLVM has no intrinsic {name}");
            let (types, count) = (overloads.as_mut_ptr(), overloads.len());
            Function::new(LLVMGetIntrinsicDeclaration(self.raw, id, types, count))
        }
    }
}

/// The functions of LLVM's own that this crate calls.
#[derive(Clone, Copy, Debug)]
pub enum Intrinsic {
    /// Multiplies and adds numbers of this floating-point type with one rounding.
    Fma(Type),
    /// Whether a generic address leads to global memory.
    IsGlobal,
    /// The thread's number within its warp.
    Lane,
    /// One that is not overloaded.
    Plain(&'static str),
    /// Casts to the first type, signed, from the second; out of range to the nearest bound, and to 0 from what is no number.
    ToSigned(Type, Type),
    /// The same, unsigned.
    ToUnsigned(Type, Type),
    /// The address that a thread-local variable has for the present thread.
    ThreadLocalAddress,
}

/// Takes over the error that passes returned.
///
/// # Safety
/// `error` is null or an error that nobody has taken yet.
unsafe fn outcome(passes: &str, error: LLVMErrorRef) -> Result<(), ModuleError> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: not null, so the caller vouches for it; its message ends with a NUL, is copied and then freed once.
    unsafe {
        let text = LLVMGetErrorMessage(error);
        let reason = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(text);
        Err(ModuleError::Passes {
            passes: passes.to_owned(),
            reason,
        })
    }
}
