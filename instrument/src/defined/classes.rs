//! Instruction classes, by the names that probes use.

use crate::ir::Opcode::{self, *};
use crate::ir::{Call, Instruction, Value, space, traits::*};
use crate::reach::reach;
use superstep_trace::probe::At;

/// Returns the class of an instruction, or `None` if it does not become a machine instruction (phis, pointer casts) or
/// if probes have a separate place for it (branches, barriers, function calls, accesses to global memory).
pub fn class_of(instruction: Instruction) -> Option<At> {
    match instruction.get_opcode() {
        Add | Sub | Mul | UDiv | SDiv | URem | SRem | Shl | LShr | AShr | And | Or | Xor | ICmp => {
            Some(At::Integer)
        }
        GetElementPtr => has_variable_index(instruction.value()).then_some(At::Integer),
        FAdd | FSub | FMul | FDiv | FRem | FNeg | FCmp => Some(At::Float),
        Trunc | ZExt | SExt | FPToUI | FPToSI | UIToFP | SIToFP | FPTrunc | FPExt => {
            Some(At::Conversion)
        }
        Load => memory_class(instruction.operand(0)),
        Store => memory_class(instruction.operand(1)),
        AtomicRMW | AtomicCmpXchg => memory_class(instruction.operand(0)),
        Opcode::Call => operation_class(instruction.as_call()?),
        _ => None,
    }
}

fn has_variable_index(address: Value) -> bool {
    (1..address.operand_count()).any(|index| !address.operand(index).is_known())
}

/// Classifies an access to non-global memory by its address space, or else by the variable accessed.
fn memory_class(pointer: Value) -> Option<At> {
    match pointer.ty().address_space() {
        space::SHARED => Some(At::Shared),
        space::CONSTANT | space::PARAMETER => Some(At::Constant),
        space::LOCAL => Some(At::Local),
        _ => is_local(pointer).then_some(At::Local),
    }
}

fn is_local(pointer: Value) -> bool {
    let mut is_local = true;
    reach([pointer], |value| match value.opcode() {
        Some(Alloca) => Vec::new(),
        Some(GetElementPtr | BitCast | AddrSpaceCast) => vec![value.operand(0)],
        Some(Phi) => value.operands(),
        Some(Select) => vec![value.operand(1), value.operand(2)],
        _ => {
            is_local = false;
            Vec::new()
        }
    });
    is_local
}

/// Machine operations that are intrinsics in LLVM: prefixes of names after `llvm.` and after `llvm.nvvm.`. Operations
/// in the last row count as integer operations if the result is an integer.
const OPERATIONS: [(At, &str, &str); 4] = [
    (At::Texture, "", "tex. tld4. suld. sust."),
    (
        At::Special,
        "sqrt. sin. cos. exp log pow tanh. tan.",
        "sqrt. rsqrt. rcp. sin. cos. ex2. lg2. tanh",
    ),
    (
        At::Conversion,
        "fptosi. fptoui.",
        "f2 d2 i2 ui2 ll2 ull2 ff2 h2",
    ),
    (
        At::Float,
        "fma. fmuladd. fabs. minnum. maxnum. minimum maximum copysign floor. ceil. trunc. rint. nearby round \
         abs. smin. smax. umin. umax. ctpop. ctlz. cttz. bswap. bitrev fshl. fshr. sadd. uadd. ssub. usub. smul. umul.",
        "f mul add. div. idp sad prmt ceil floor round trunc saturate brev clz popc",
    ),
];

fn operation_class(call: Call) -> Option<At> {
    let name = call.function_name();
    let name = name.strip_prefix("llvm.")?;
    let machine = name.strip_prefix("nvvm.");
    if machine.is_some_and(|name| name.starts_with("fence")) {
        return None;
    }
    let (class, ..) = OPERATIONS.iter().find(|(_, llvm, nvvm)| {
        let (name, prefixes) = machine.map_or((name, *llvm), |name| (name, *nvvm));
        let mut prefixes = prefixes.split_whitespace();
        prefixes.any(|prefix| name.starts_with(prefix))
    })?;
    let ty = call.ty();
    let is_integer = *class == At::Float && !ty.is_float_type() && !ty.is_vector_type();
    Some(if is_integer { At::Integer } else { *class })
}
