//! The module that is transformed: reading, linking, checking, passes, writing.

use super::{Function, Type, Value, c_string, diagnostic, message, text};
pub use inkwell::llvm_sys::LLVMLinkage as Linkage;
use inkwell::llvm_sys::{
    LLVMUnnamedAddr,
    analysis::{LLVMVerifierFailureAction, LLVMVerifyModule},
    bit_writer::LLVMWriteBitcodeToFile,
    comdat::LLVMSetComdat,
    core::*,
    error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage},
    ir_reader::LLVMParseIRInContext2,
    linker::LLVMLinkModules2,
    prelude::{LLVMContextRef, LLVMModuleRef},
    target::LLVMSetModuleDataLayout,
    target_machine::*,
    transforms::pass_builder::*,
};
use inkwell::targets::{InitializationConfig, Target};
use std::ffi::{CStr, CString, c_uint};
use std::path::Path;
use thiserror::Error;

/// What can go wrong with a module as a whole.
#[derive(Debug, Error)]
pub enum ModuleError {
    /// The file cannot be read.
    #[error("failed to read {path}: {reason}")]
    Read {
        /// The file.
        path: String,
        /// LLVM's or the system's words.
        reason: String,
    },
    /// Two modules do not fit together.
    #[error(
        "failed to link the device code of {unit} with that of the other units: {reason}; make one of the two static, or leave out \
         -fgpu-rdc if no unit uses device code of another"
    )]
    Link {
        /// The source of what was to be linked in.
        unit: String,
        /// LLVM's words.
        reason: String,
    },
    /// LLVM's verifier refuses the module.
    #[error("{stage} produced IR that LLVM refuses: {reason}")]
    Invalid {
        /// What had just been done.
        stage: &'static str,
        /// LLVM's words.
        reason: String,
    },
    /// A pass pipeline failed.
    #[error("failed to run the passes {passes}: {reason}")]
    Passes {
        /// The pipeline in LLVM's notation.
        passes: String,
        /// LLVM's words.
        reason: String,
    },
    /// The output cannot be written.
    #[error("failed to write {path}: check that the folder exists and that the disk has room")]
    Write {
        /// The file.
        path: String,
    },
    /// LLVM lacks the target.
    #[error(
        "this LLVM cannot generate code for {triple}: {reason}; repair it with `cargo xtask setup`"
    )]
    Target {
        /// The target triple.
        triple: String,
        /// LLVM's words.
        reason: String,
    },
}

/// A module and its context. Both live until the program ends.
pub struct Module {
    raw: LLVMModuleRef,
    context: LLVMContextRef,
}

impl Module {
    /// Reads bitcode or IR text.
    pub fn read(path: &Path) -> Result<Self, ModuleError> {
        // SAFETY: a new context that is never disposed.
        let context = unsafe { LLVMContextCreate() };
        diagnostic::keep(context);
        Ok(Module {
            raw: Self::parse(context, path)?,
            context,
        })
    }

    fn parse(context: LLVMContextRef, path: &Path) -> Result<LLVMModuleRef, ModuleError> {
        let failed = |reason: String| ModuleError::Read {
            path: path.display().to_string(),
            reason,
        };
        let name =
            CString::new(path.as_os_str().as_encoded_bytes()).map_err(|e| failed(e.to_string()))?;
        let (mut buffer, mut module) = (std::ptr::null_mut(), std::ptr::null_mut());
        let mut error = std::ptr::null_mut();
        // SAFETY: out-pointers are valid; the parser copies from the buffer, which is freed; so is the message.
        unsafe {
            if LLVMCreateMemoryBufferWithContentsOfFile(name.as_ptr(), &mut buffer, &mut error) != 0
            {
                return Err(failed(message(error).trim().to_owned()));
            }
            let bad = LLVMParseIRInContext2(context, buffer, &mut module, &mut error) != 0;
            LLVMDisposeMemoryBuffer(buffer);
            if bad {
                Err(failed(message(error).trim().to_owned()))
            } else {
                Ok(module)
            }
        }
    }

    pub(super) fn raw(&self) -> LLVMModuleRef {
        self.raw
    }

    pub(super) fn context(&self) -> LLVMContextRef {
        self.context
    }

    /// Name of the source file that the module was compiled from; of the first, when several were linked.
    pub fn source(&self) -> String {
        let mut length = 0;
        // SAFETY: valid module; the text is copied at once.
        let pointer = unsafe { LLVMGetSourceFileName(self.raw, &mut length) };
        text(pointer, length)
    }

    /// Reads another module, to be linked into this one.
    pub fn read_other(&self, path: &Path) -> Result<Self, ModuleError> {
        Ok(Module {
            raw: Self::parse(self.context, path)?,
            context: self.context,
        })
    }

    /// Links another module, read by [`Module::read_other`], into this one.
    pub fn link(&self, other: Module) -> Result<(), ModuleError> {
        let unit = other.source();
        // SAFETY: two modules of one context; the linker consumes the second.
        if unsafe { LLVMLinkModules2(self.raw, other.raw) } != 0 {
            let reason = diagnostic::take_last();
            return Err(ModuleError::Link { unit, reason });
        }
        Ok(())
    }

    /// Has LLVM check the module; `stage` says what was just done.
    pub fn verify(&self, stage: &'static str) -> Result<(), ModuleError> {
        let mut error = std::ptr::null_mut();
        // SAFETY: valid module; the message is freed by `message`.
        let (bad, reason) = unsafe {
            let bad = LLVMVerifyModule(
                self.raw,
                LLVMVerifierFailureAction::LLVMReturnStatusAction,
                &mut error,
            );
            (bad != 0, message(error))
        };
        if bad {
            Err(ModuleError::Invalid {
                stage,
                reason: reason.trim().to_owned(),
            })
        } else {
            Ok(())
        }
    }

    /// Functions, in the module's order.
    pub fn functions(&self) -> Vec<Function> {
        let mut list = Vec::new();
        // SAFETY: the list is not changed while it is walked.
        unsafe {
            let mut next = LLVMGetFirstFunction(self.raw);
            while !next.is_null() {
                list.push(Function(next));
                next = LLVMGetNextFunction(next);
            }
        }
        list
    }

    /// Functions with a body, in the module's order.
    pub fn defined_functions(&self) -> Vec<Function> {
        self.functions()
            .into_iter()
            .filter(|f| !f.is_declaration())
            .collect()
    }

    /// Global variables, in the module's order.
    pub fn globals(&self) -> Vec<Value> {
        let mut list = Vec::new();
        // SAFETY: the list is not changed while it is walked.
        unsafe {
            let mut next = LLVMGetFirstGlobal(self.raw);
            while !next.is_null() {
                list.push(Value(next));
                next = LLVMGetNextGlobal(next);
            }
        }
        list
    }

    /// The function of that name.
    pub fn function(&self, name: &str) -> Option<Function> {
        let name = c_string(name);
        // SAFETY: valid module; null when there is none.
        let raw = unsafe { LLVMGetNamedFunction(self.raw, name.as_ptr()) };
        (!raw.is_null()).then_some(Function(raw))
    }

    /// The global variable of that name.
    pub fn global(&self, name: &str) -> Option<Value> {
        let name = c_string(name);
        // SAFETY: valid module; null when there is none.
        Value::from_raw(unsafe { LLVMGetNamedGlobal(self.raw, name.as_ptr()) })
    }

    /// Adds a function without a body.
    pub fn add_function(&self, name: &str, ty: Type) -> Function {
        let name = c_string(name);
        // SAFETY: valid handles.
        Function(unsafe { LLVMAddFunction(self.raw, name.as_ptr(), ty.0) })
    }

    /// The function of that name, declared when it is not there yet.
    pub fn declare(&self, name: &str, ty: Type) -> Function {
        self.function(name)
            .unwrap_or_else(|| self.add_function(name, ty))
    }

    /// Whether the module carries a mark (named metadata, which survives every pass, linking and writing).
    pub fn is_marked(&self, name: &str) -> bool {
        // SAFETY: valid handle; the name's length is given.
        unsafe { !LLVMGetNamedMetadata(self.raw, name.as_ptr().cast(), name.len()).is_null() }
    }

    /// Marks the module.
    pub fn mark(&self, name: &str) {
        // SAFETY: as above.
        unsafe { LLVMGetOrInsertNamedMetadata(self.raw, name.as_ptr().cast(), name.len()) };
    }

    /// Adds a global variable.
    pub fn add_global(&self, name: &str, ty: Type, address_space: u32) -> Value {
        let name = c_string(name);
        // SAFETY: valid handles.
        Value(unsafe { LLVMAddGlobalInAddressSpace(self.raw, ty.0, name.as_ptr(), address_space) })
    }

    /// Adds a private constant and returns its address.
    pub fn add_constant(&self, name: &str, value: Value) -> Value {
        let global = self.add_global(name, value.ty(), 0);
        global.set_initializer(value);
        global.set_constant(true);
        self.set_linkage(global, Linkage::LLVMPrivateLinkage);
        // SAFETY: valid handle of a global.
        unsafe { LLVMSetUnnamedAddress(global.0, LLVMUnnamedAddr::LLVMGlobalUnnamedAddr) };
        global
    }

    /// A private NUL-terminated string and its address.
    pub fn add_string(&self, name: &str, bytes: &[u8]) -> Value {
        // SAFETY: LLVM copies `len` bytes and appends the NUL.
        let value = Value(unsafe {
            LLVMConstStringInContext2(self.context, bytes.as_ptr().cast(), bytes.len(), 0)
        });
        self.add_constant(name, value)
    }

    /// Linkage of a function or global variable.
    pub fn linkage(&self, value: Value) -> Linkage {
        // SAFETY: valid handle of a global value.
        unsafe { LLVMGetLinkage(value.0) }
    }

    /// Sets the linkage of a function or global variable; local ones lose what only visible symbols may have.
    pub fn set_linkage(&self, value: Value, linkage: Linkage) {
        // SAFETY: valid handle of a global value.
        unsafe {
            LLVMSetLinkage(value.0, linkage);
            if matches!(
                linkage,
                Linkage::LLVMInternalLinkage | Linkage::LLVMPrivateLinkage
            ) {
                LLVMSetComdat(value.0, std::ptr::null_mut());
            }
        }
    }

    /// Runs a pass pipeline in LLVM's notation for the machine.
    pub fn run_passes(&self, passes: &str, machine: &Machine) -> Result<(), ModuleError> {
        let pipeline = c_string(passes);
        // SAFETY: valid handles; options and error message are freed after use.
        unsafe {
            let options = LLVMCreatePassBuilderOptions();
            let error = LLVMRunPasses(self.raw, pipeline.as_ptr(), machine.0, options);
            LLVMDisposePassBuilderOptions(options);
            self.outcome(passes, error)
        }
    }

    /// Runs a pipeline of function passes on one function.
    pub fn run_function_passes(
        &self,
        function: Function,
        passes: &str,
        machine: &Machine,
    ) -> Result<(), ModuleError> {
        let pipeline = c_string(passes);
        // SAFETY: valid handles of this module; options and error message are freed after use.
        unsafe {
            let options = LLVMCreatePassBuilderOptions();
            let error = LLVMRunPassesOnFunction(function.0, pipeline.as_ptr(), machine.0, options);
            LLVMDisposePassBuilderOptions(options);
            self.outcome(passes, error)
        }
    }

    /// Takes over the error that passes returned.
    unsafe fn outcome(&self, passes: &str, error: LLVMErrorRef) -> Result<(), ModuleError> {
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: an error that is not null and not taken yet; its message is copied and freed.
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

    /// Makes the module one for `machine`: its triple and its data layout.
    pub fn set_target(&self, machine: &Machine) {
        // SAFETY: valid handles; the layout is copied into the module.
        unsafe {
            let triple = LLVMGetTargetMachineTriple(machine.0);
            LLVMSetTarget(self.raw, triple);
            LLVMDisposeMessage(triple);
            let layout = LLVMCreateTargetDataLayout(machine.0);
            LLVMSetModuleDataLayout(self.raw, layout);
        }
    }

    /// Writes bitcode.
    pub fn write(&self, path: &Path) -> Result<(), ModuleError> {
        let failed = || ModuleError::Write {
            path: path.display().to_string(),
        };
        let name = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| failed())?;
        // SAFETY: valid module and NUL-terminated path.
        if unsafe { LLVMWriteBitcodeToFile(self.raw, name.as_ptr()) } != 0 {
            Err(failed())
        } else {
            Ok(())
        }
    }

    /// The module as IR text.
    pub fn print(&self) -> String {
        // SAFETY: valid module; LLVM hands over the message.
        message(unsafe { LLVMPrintModuleToString(self.raw) })
    }

    /// The declaration of the intrinsic `name` for these overloaded types.
    pub fn intrinsic(&self, name: &str, overloads: &[Type]) -> Function {
        let mut types: Vec<_> = overloads.iter().map(|t| t.0).collect();
        // SAFETY: valid handles; the name is one of LLVM's (the callers are constants of this crate).
        Function(unsafe {
            let id: c_uint = LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
            LLVMGetIntrinsicDeclaration(self.raw, id, types.as_mut_ptr(), types.len())
        })
    }
}

/// A machine that code is optimised for.
pub struct Machine(LLVMTargetMachineRef);

impl Machine {
    /// An NVIDIA GPU such as `sm_90`.
    pub fn nvptx(gpu: &str) -> Result<Self, ModuleError> {
        Target::initialize_nvptx(&InitializationConfig::default());
        Self::new("nvptx64-nvidia-cuda", gpu)
    }

    /// An x86-64 processor of LLVM's name `cpu`, such as `x86-64-v3`.
    pub fn x86(cpu: &str) -> Result<Self, ModuleError> {
        Target::initialize_x86(&InitializationConfig::default());
        Self::new("x86_64-pc-linux-gnu", cpu)
    }

    fn new(triple: &str, cpu: &str) -> Result<Self, ModuleError> {
        let (c_triple, c_cpu) = (c_string(triple), c_string(cpu));
        let (mut target, mut error) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: out-pointers are valid; strings are NUL-terminated; the machine is never disposed.
        unsafe {
            if LLVMGetTargetFromTriple(c_triple.as_ptr(), &mut target, &mut error) != 0 {
                return Err(ModuleError::Target {
                    triple: triple.into(),
                    reason: message(error),
                });
            }
            let machine = LLVMCreateTargetMachine(
                target,
                c_triple.as_ptr(),
                c_cpu.as_ptr(),
                c"".as_ptr(),
                LLVMCodeGenOptLevel::LLVMCodeGenLevelAggressive,
                LLVMRelocMode::LLVMRelocPIC,
                LLVMCodeModel::LLVMCodeModelDefault,
            );
            Ok(Machine(machine))
        }
    }
}
