//! Which class of instructions one belongs to, as probes name them.

use crate::ir::{Call, Instruction, Opcode, Value};
use std::collections::HashSet;
use superstep_trace::probe::At;

/// Shared, constant and local memory, and that of a kernel's parameters, in the numbering of NVPTX.
const SHARED: u32 = 3;
const CONSTANT: u32 = 4;
const LOCAL: u32 = 5;
const PARAMETERS: u32 = 101;

/// The class of an instruction; `None` for those that are none in the machine (phis, casts of pointers) or have a word of their own
/// (branches, barriers, calls of functions, accesses to global memory).
pub fn class_of(instruction: Instruction) -> Option<At> {
    use Opcode::*;
    match instruction.operation() {
        LLVMAdd | LLVMSub | LLVMMul | LLVMUDiv | LLVMSDiv | LLVMURem | LLVMSRem | LLVMShl
        | LLVMLShr | LLVMAShr | LLVMAnd | LLVMOr | LLVMXor | LLVMICmp => Some(At::Integer),
        LLVMGetElementPtr => moves(instruction.value()).then_some(At::Integer),
        LLVMFAdd | LLVMFSub | LLVMFMul | LLVMFDiv | LLVMFRem | LLVMFNeg | LLVMFCmp => {
            Some(At::Float)
        }
        LLVMTrunc | LLVMZExt | LLVMSExt | LLVMFPToUI | LLVMFPToSI | LLVMUIToFP | LLVMSIToFP
        | LLVMFPTrunc | LLVMFPExt => Some(At::Conversion),
        LLVMLoad => of_memory(instruction.operand(0)),
        LLVMStore => of_memory(instruction.operand(1)),
        LLVMAtomicRMW | LLVMAtomicCmpXchg => of_memory(instruction.operand(0)),
        LLVMCall => of_operation(instruction.as_call()?),
        _ => None,
    }
}

/// Whether an address calculation has anything to calculate at run time.
fn moves(address: Value) -> bool {
    (1..address.operand_count()).any(|index| !address.operand(index).is_constant())
}

/// Memory that is not global: by its address space, and local memory by the variable that it is.
fn of_memory(pointer: Value) -> Option<At> {
    match pointer.ty().address_space() {
        SHARED => Some(At::Shared),
        CONSTANT | PARAMETERS => Some(At::Constant),
        LOCAL => Some(At::Local),
        _ => is_local(pointer).then_some(At::Local),
    }
}

/// Whether a generic pointer leads to a variable of the function, whatever way it takes through address calculations.
fn is_local(pointer: Value) -> bool {
    let (mut seen, mut pending) = (HashSet::new(), vec![pointer]);
    while let Some(value) = pending.pop() {
        if !seen.insert(value) {
            continue;
        }
        match value.opcode() {
            Some(Opcode::LLVMAlloca) => {}
            Some(Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast | Opcode::LLVMAddrSpaceCast) => {
                pending.push(value.operand(0))
            }
            Some(Opcode::LLVMPHI) => pending.extend(value.operands()),
            Some(Opcode::LLVMSelect) => pending.extend([value.operand(1), value.operand(2)]),
            _ => return false,
        }
    }
    true
}

/// Operations of the machine that LLVM has as functions.
fn of_operation(call: Call) -> Option<At> {
    let name = call.function_name();
    let name = name.strip_prefix("llvm.")?;
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if begins(&["nvvm.tex.", "nvvm.tld4.", "nvvm.suld.", "nvvm.sust."]) {
        return Some(At::Texture);
    }
    if begins(&[
        "sqrt.",
        "sin.",
        "cos.",
        "exp",
        "log",
        "pow",
        "nvvm.sqrt.",
        "nvvm.rsqrt.",
        "nvvm.rcp.",
        "nvvm.sin.",
        "nvvm.cos.",
        "nvvm.ex2.",
        "nvvm.lg2.",
        "nvvm.tanh",
        "tanh.",
        "tan.",
    ]) {
        return Some(At::Special);
    }
    if begins(&[
        "nvvm.f2",
        "nvvm.d2",
        "nvvm.i2",
        "nvvm.ui2",
        "nvvm.ll2",
        "nvvm.ull2",
        "nvvm.ff2",
        "nvvm.h2",
        "fptosi.",
        "fptoui.",
    ]) {
        return Some(At::Conversion);
    }
    let works = begins(&[
        "fma.",
        "fmuladd.",
        "fabs.",
        "minnum.",
        "maxnum.",
        "minimum",
        "maximum",
        "copysign.",
        "floor.",
        "ceil.",
        "trunc.",
        "rint.",
        "nearbyint.",
        "round",
        "abs.",
        "smin.",
        "smax.",
        "umin.",
        "umax.",
        "ctpop.",
        "ctlz.",
        "cttz.",
        "bswap.",
        "bitreverse.",
        "fshl.",
        "fshr.",
        "sadd.",
        "uadd.",
        "ssub.",
        "usub.",
        "smul.",
        "umul.",
        "nvvm.f",
        "nvvm.mul",
        "nvvm.add.",
        "nvvm.div.",
        "nvvm.idp",
        "nvvm.sad",
        "nvvm.prmt",
        "nvvm.ceil",
        "nvvm.floor",
        "nvvm.round",
        "nvvm.trunc",
        "nvvm.saturate",
        "nvvm.brev",
        "nvvm.clz",
        "nvvm.popc",
    ]);
    if !works || name.starts_with("nvvm.fence") {
        return None;
    }
    let ty = call.ty();
    Some(if ty.is_floating_point() || ty.is_vector() {
        At::Float
    } else {
        At::Integer
    })
}
