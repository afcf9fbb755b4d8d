//! The machines that code is made for.

use super::{ModuleError, c_string, message};
use llvm_sys::target::*;
use llvm_sys::target_machine::*;

/// A machine that code is optimised for.
pub struct Machine(LLVMTargetMachineRef);

impl Machine {
    pub(super) fn raw(&self) -> LLVMTargetMachineRef {
        self.0
    }

    /// An NVIDIA GPU such as `sm_90`.
    pub fn nvptx(gpu: &str) -> Result<Self, ModuleError> {
        // SAFETY: these register functions with LLVM, once or again.
        unsafe {
            LLVMInitializeNVPTXTargetInfo();
            LLVMInitializeNVPTXTarget();
            LLVMInitializeNVPTXTargetMC();
        }
        Self::new("nvptx64-nvidia-cuda", gpu)
    }

    /// An x86-64 processor of LLVM's name `cpu`, such as `x86-64-v3`.
    pub fn x86(cpu: &str) -> Result<Self, ModuleError> {
        // SAFETY: these register functions with LLVM, once or again.
        unsafe {
            LLVMInitializeX86TargetInfo();
            LLVMInitializeX86Target();
            LLVMInitializeX86TargetMC();
        }
        Self::new("x86_64-pc-linux-gnu", cpu)
    }

    fn new(triple: &str, cpu: &str) -> Result<Self, ModuleError> {
        let (c_triple, c_cpu) = (c_string(triple), c_string(cpu));
        let (mut target, mut error) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: LLVM fills in the target or an error, which is ours then; texts end with a NUL. The machine is never
        // disposed.
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
            assert!(!machine.is_null(), "LLVM has no machine {triple} {cpu}");
            Ok(Machine(machine))
        }
    }
}
