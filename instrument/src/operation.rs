//! Instructions that access memory: the set *MOp* (Rieber 2017, definition 5.1), extended to all LLVM instructions.

use crate::ir::{
    AtomicRMWBinOp as Rmw, Call, Instruction, Module, Opcode::*, Type, Value, traits::*,
};
use crate::space::{Analysis, Fact, Space};
use anyhow::{Result, anyhow};
use superstep_trace::Op;
use superstep_trace::matrix::{MatrixOperation, Tile};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width<'m> {
    Fixed(u32),
    /// Known only at run time.
    Varies(Value<'m>),
}

impl Width<'_> {
    pub fn known_bytes(self) -> u32 {
        match self {
            Width::Fixed(bytes) => bytes,
            Width::Varies(_) => 0,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct MemoryOperation<'m> {
    pub pointer: Value<'m>,
    pub op: Op,
    pub width: Width<'m>,
    pub offset_bytes: i64,
    /// Condition of the access; unconditional if `None`.
    pub guard: Option<Guard<'m>>,
    /// Whether the instruction itself specifies a global-memory address.
    pub is_explicitly_global: bool,
    /// Set if the warp loads or stores a matrix: `pointer` is its start, in all lanes, and the width is that of a
    /// lane's piece.
    pub lines: Option<Lines<'m>>,
}

#[derive(Clone, Copy, Debug)]
pub struct Lines<'m> {
    pub tile: Tile,
    /// Number of elements between the starts of two lines; by default, lines are contiguous.
    pub stride: Option<Value<'m>>,
}

/// Condition in inline PTX: the value must be nonzero or, if `zero` is set, zero.
#[derive(Clone, Copy, Debug)]
pub struct Guard<'m> {
    pub value: Value<'m>,
    pub zero: bool,
}

impl<'m> MemoryOperation<'m> {
    pub fn new(pointer: Value<'m>, op: Op, width: Width<'m>) -> Self {
        MemoryOperation {
            pointer,
            op,
            width,
            offset_bytes: 0,
            guard: None,
            is_explicitly_global: false,
            lines: None,
        }
    }

    pub fn fact(&self, analysis: &Analysis<'m>) -> Fact {
        if self.is_explicitly_global {
            Fact::Is(Space::Global)
        } else {
            analysis.fact(self.pointer)
        }
    }
}

fn unsupported(call: Call, what: &str, hint: &str) -> anyhow::Error {
    anyhow!(
        "{}: `{what}` in {} accesses memory in a way that Superstep cannot trace yet; {hint}",
        call.location(),
        call.parent_function().name()
    )
}

/// Prefixes, without `llvm.`, of intrinsics that accept pointers but access no memory, or only shared memory (such as
/// `ldmatrix`).
const HARMLESS: &str = "assume dbg. experimental.noalias fake.use invariant. is.constant launder. lifetime. \
    nvvm.cp.async.bulk.prefetch.L2 nvvm.getctarank nvvm.isspacep. nvvm.ldmatrix. nvvm.mapa \
    nvvm.mbarrier nvvm.prefetch nvvm.stmatrix. objectsize prefetch ptr.annotation ptrmask \
    stackrestore strip. threadlocal.address var.annotation va_ nvvm.applypriority nvvm.discard \
    nvvm.ptr.";

/// Returns the memory accesses of an instruction, in order.
pub fn memory_operations<'m>(
    module: &Module,
    instruction: Instruction<'m>,
    allow_opaque_assembly: bool,
) -> Result<Vec<MemoryOperation<'m>>> {
    let bytes_of = |value: Value| Width::Fixed(module.store_size_bytes(value.ty()) as u32);
    let single = |pointer: u32, op, value: Value| {
        let pointer = instruction.operand(pointer);
        Ok(vec![MemoryOperation::new(pointer, op, bytes_of(value))])
    };
    match instruction.get_opcode() {
        Load => single(0, Op::Load, instruction.value()),
        Store => single(1, Op::Store, instruction.operand(0)),
        AtomicRMW => {
            let op = atomic_op(instruction.get_atomic_rmw_bin_op());
            single(0, op, instruction.operand(1))
        }
        AtomicCmpXchg => single(0, Op::AtomicCas, instruction.operand(1)),
        _ => match instruction.as_call() {
            Some(call) => call_operations(module, call, allow_opaque_assembly),
            None => Ok(Vec::new()),
        },
    }
}

fn call_operations<'m>(
    module: &Module,
    call: Call<'m>,
    allow_opaque_assembly: bool,
) -> Result<Vec<MemoryOperation<'m>>> {
    if let Some((template, constraints)) = call.callee().inline_assembly() {
        return match crate::ptx::memory::operations(call, &template, &constraints) {
            Some(found) => Ok(found),
            None if allow_opaque_assembly => Ok(Vec::new()),
            None => {
                let text = template.replace('\n', "\\n").replace('\t', "\\t");
                let hint = "rewrite it with a CUDA function, or accept it untraced with --allow-opaque-asm";
                Err(unsupported(call, &format!("asm \"{text}\""), hint))
            }
        };
    }
    let name = call.function_name();
    if name.starts_with("llvm.") {
        intrinsic(module, call, &name)
    } else {
        Ok(copied_arguments(module, call))
    }
}

/// Whether an instruction is inline PTX whose accesses cannot be determined.
pub fn is_opaque(instruction: Instruction) -> bool {
    instruction.as_call().is_some_and(|call| {
        (call.callee().inline_assembly()).is_some_and(|(template, constraints)| {
            crate::ptx::memory::operations(call, &template, &constraints).is_none()
        })
    })
}

/// Returns the loads of a call's by-value arguments: Clang passes the original's address where it can, and code
/// generation copies from that address.
fn copied_arguments<'m>(module: &Module, call: Call<'m>) -> Vec<MemoryOperation<'m>> {
    (0..)
        .zip(call.arguments())
        .filter_map(|(index, pointer)| {
            let ty = call.by_value_type(index)?;
            let width = Width::Fixed(module.store_size_bytes(ty) as u32);
            Some(MemoryOperation::new(pointer, Op::Load, width))
        })
        .collect()
}

fn intrinsic<'m>(module: &Module, call: Call<'m>, name: &str) -> Result<Vec<MemoryOperation<'m>>> {
    let arguments = call.arguments();
    let access = MemoryOperation::new;
    let length = |value: Value<'m>| match value.constant_integer() {
        Some(bytes) => Width::Fixed(u32::try_from(bytes).unwrap_or(u32::MAX)),
        None => Width::Varies(value),
    };
    // The types of some pointers specify another address space.
    let may_be_global = |a: &Value| {
        a.ty().pointers() > 0 && !(a.ty().is_pointer_type() && a.ty().address_space() > 1)
    };
    let result_bytes = || Width::Fixed(module.store_size_bytes(call.ty()) as u32);
    let is = |prefix: &str| name.starts_with(prefix);
    let suffix = name.strip_prefix("llvm.").unwrap_or(name);
    let is_harmless = HARMLESS.split(' ').any(|prefix| suffix.starts_with(prefix));
    let mut found = if is("llvm.memcpy.") || is("llvm.memmove.") {
        let width = length(arguments[2]);
        let load = access(arguments[1], Op::Load, width);
        vec![load, access(arguments[0], Op::Store, width)]
    } else if is("llvm.memset.") {
        vec![access(arguments[0], Op::Store, length(arguments[2]))]
    } else if is("llvm.nvvm.ldg.global.") || is("llvm.nvvm.ldu.global.") {
        vec![access(arguments[0], Op::Load, result_bytes())]
    } else if let Some(rest) = name.strip_prefix("llvm.nvvm.atomic.") {
        let op = rest.split('.').next().and_then(named_atomic_op);
        let op = op.unwrap_or(Op::AtomicOther);
        vec![access(arguments[0], op, result_bytes())]
    } else if is("llvm.nvvm.cp.async.ca.shared.global.")
        || is("llvm.nvvm.cp.async.cg.shared.global.")
    {
        // The optional third argument is the number of bytes read; the remaining bytes are filled with zeros.
        let width = match arguments.get(2) {
            Some(bytes) => length(*bytes),
            None => {
                let number = name.split('.').find_map(|part| part.parse().ok());
                Width::Fixed(number.unwrap_or(0))
            }
        };
        vec![access(arguments[1], Op::Load, width)]
    } else if let Some(operation) = crate::matrix::parse_intrinsic(name) {
        let stride = (arguments.last().copied()).filter(|_| name.contains(".stride."));
        let (op, tile) = match operation {
            MatrixOperation::Load(tile) => (Op::Load, tile),
            MatrixOperation::Store(tile) => (Op::Store, tile),
            _ => return Ok(Vec::new()),
        };
        let lines = Some(Lines { tile, stride });
        let piece = access(arguments[0], op, Width::Fixed(tile.piece_bytes()));
        vec![MemoryOperation { lines, ..piece }]
    } else if is("llvm.masked.load.")
        && let Some(bytes) = bytes_through_last(module, call)
    {
        vec![access(arguments[0], Op::Load, Width::Fixed(bytes))]
    } else if is("llvm.nvvm.cp.async.bulk.global.to.shared.")
        || is("llvm.nvvm.cp.async.bulk.shared.cta.to.global")
    {
        let stores = is("llvm.nvvm.cp.async.bulk.shared.");
        let op = if stores { Op::Store } else { Op::Load };
        let bytes = arguments.iter().find(|a| a.ty() == Type::int(32));
        match (arguments.iter().find(|a| a.ty() == Type::pointer(1)), bytes) {
            (Some(pointer), Some(bytes)) => vec![access(*pointer, op, length(*bytes))],
            _ => Vec::new(),
        }
    } else if is_harmless || !arguments.iter().any(may_be_global) {
        Vec::new()
    } else {
        let hint = if is("llvm.nvvm.cp.async.bulk.") {
            "the addresses of a tensor copy are in its tensor map, not in the program; load the tensor with plain accesses"
        } else {
            "please report this, and include the program"
        };
        return Err(unsupported(call, name, hint));
    };
    found.retain(|it| it.width != Width::Fixed(0));
    Ok(found)
}

/// Returns the size of a masked load up to its last enabled element, or `None` if the mask is not constant. The
/// vectorizer creates masked loads from adjacent loads with a gap, and the device loads the gap too.
fn bytes_through_last(module: &Module, call: Call) -> Option<u32> {
    let mask = call.arguments().get(1)?.operands().into_iter();
    let enabled: Option<Vec<u64>> = mask.map(|lane| lane.constant_integer()).collect();
    let last = enabled?.iter().rposition(|lane| *lane != 0)?;
    let elements = last as u64 + 1;
    let bytes = elements * module.store_size_bytes(call.ty().element());
    u32::try_from(bytes).ok()
}

fn atomic_op(operation: Option<Rmw>) -> Op {
    operation.map_or(Op::AtomicOther, |operation| match operation {
        Rmw::Add | Rmw::FAdd => Op::AtomicAdd,
        Rmw::Sub | Rmw::FSub => Op::AtomicSub,
        Rmw::Xchg => Op::AtomicExch,
        Rmw::Min | Rmw::UMin | Rmw::FMin => Op::AtomicMin,
        Rmw::Max | Rmw::UMax | Rmw::FMax => Op::AtomicMax,
        Rmw::UIncWrap => Op::AtomicInc,
        Rmw::UDecWrap => Op::AtomicDec,
        Rmw::And => Op::AtomicAnd,
        Rmw::Or => Op::AtomicOr,
        Rmw::Xor => Op::AtomicXor,
        _ => Op::AtomicOther,
    })
}

pub fn named_atomic_op(name: &str) -> Option<Op> {
    let all = Op::ALL.into_iter();
    all.filter(|op| *op != Op::AtomicOther)
        .find(|op| op.name().strip_prefix("atomic_") == Some(name))
}
