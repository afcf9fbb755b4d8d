//! Which instructions touch memory, and how: the set *MOp* (Rieber 2017, definition 5.1), extended to all that LLVM has.

use crate::ir::{Function, Module, Opcode, Value};
use crate::mutation;
use crate::space::{Analysis, Fact, Space};
use inkwell::llvm_sys::{LLVMAtomicRMWBinOp as Rmw, LLVMTypeKind};
use superstep_trace::Op;
use thiserror::Error;

/// How many bytes an operation touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Always this many.
    Fixed(u32),
    /// As many as the value says when the program runs.
    Varies(Value),
}

/// One access that an instruction makes to memory. A copy makes two: a load and a store.
#[derive(Clone, Copy, Debug)]
pub struct MemoryOperation {
    /// Where it goes.
    pub pointer: Value,
    /// What it does there.
    pub op: Op,
    /// To how many bytes.
    pub width: Width,
    /// How far behind `pointer`, in bytes.
    pub offset_bytes: i64,
    /// Whether it happens at all; always without.
    pub guard: Option<Guard>,
    /// Whether the instruction itself says that the address is one of global memory.
    pub says_global: bool,
}

/// A condition of inline PTX: a number that must be other than zero, or must be zero.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// The number.
    pub value: Value,
    /// Whether it must be zero.
    pub zero: bool,
}

impl MemoryOperation {
    /// An access that always happens, right at `pointer`.
    pub fn new(pointer: Value, op: Op, width: Width) -> Self {
        MemoryOperation {
            pointer,
            op,
            width,
            offset_bytes: 0,
            guard: None,
            says_global: false,
        }
    }

    /// Into which memory the access goes, with what `analysis` knows.
    pub fn fact(&self, analysis: &Analysis) -> Fact {
        if self.says_global {
            Fact::Is(Space::Global)
        } else if self.pointer.ty().is_pointer() {
            analysis.fact(self.pointer)
        } else {
            Fact::Mixed // an address that inline PTX gets as a number
        }
    }
}

/// An instruction that touches memory in a way that cannot be traced.
#[derive(Debug, Error)]
#[error(
    "{location}: `{what}` in {function} touches memory in a way that Superstep cannot trace yet; {mend}"
)]
pub struct Unsupported {
    location: crate::ir::Location,
    what: String,
    function: String,
    mend: &'static str,
}

/// Intrinsics that take pointers and neither read nor write what they point to (or touch shared memory only, as the matrix
/// loads of `ldmatrix` do).
const HARMLESS: &[&str] = &[
    "llvm.assume",
    "llvm.dbg.",
    "llvm.experimental.noalias",
    "llvm.fake.use",
    "llvm.invariant.",
    "llvm.is.constant",
    "llvm.launder.",
    "llvm.lifetime.",
    "llvm.nvvm.cp.async.bulk.prefetch.L2",
    "llvm.nvvm.isspacep.",
    "llvm.nvvm.ldmatrix.",
    "llvm.nvvm.mapa",
    "llvm.nvvm.mbarrier",
    "llvm.nvvm.prefetch",
    "llvm.nvvm.stmatrix.",
    "llvm.objectsize",
    "llvm.prefetch",
    "llvm.ptr.annotation",
    "llvm.ptrmask",
    "llvm.stackrestore",
    "llvm.strip.",
    "llvm.threadlocal.address",
    "llvm.var.annotation",
    "llvm.va_",
    "llvm.vaend",
    "llvm.vastart",
    "llvm.vacopy",
    "llvm.nvvm.applypriority",
    "llvm.nvvm.discard",
    "llvm.nvvm.ptr.",
];

/// The accesses to memory that an instruction makes, in the order in which it makes them.
pub fn memory_operations(
    module: &Module,
    instruction: Value,
    allow_opaque_assembly: bool,
) -> Result<Vec<MemoryOperation>, Unsupported> {
    let bytes_of = |value: Value| {
        let mut ty = value.ty();
        if ty.kind() == LLVMTypeKind::LLVMVectorTypeKind && mutation::active("vector-width") {
            ty = ty.element();
        }
        Width::Fixed(module.store_size_bytes(ty) as u32)
    };
    let one = |pointer, op, width| vec![MemoryOperation::new(pointer, op, width)];
    Ok(match instruction.opcode() {
        Some(Opcode::LLVMLoad) => one(instruction.operand(0), Op::Load, bytes_of(instruction)),
        Some(Opcode::LLVMStore) => one(
            instruction.operand(1),
            if mutation::active("store-as-load") {
                Op::Load
            } else {
                Op::Store
            },
            bytes_of(instruction.operand(0)),
        ),
        Some(Opcode::LLVMAtomicRMW) if mutation::active("forget-atomicrmw") => Vec::new(),
        Some(Opcode::LLVMAtomicRMW) => one(
            instruction.operand(0),
            if mutation::active("atomic-as-load") {
                Op::Load
            } else {
                atomic_op(instruction.atomic_operation())
            },
            bytes_of(instruction.operand(1)),
        ),
        Some(Opcode::LLVMAtomicCmpXchg) if mutation::active("forget-cmpxchg") => Vec::new(),
        Some(Opcode::LLVMAtomicCmpXchg) => one(
            instruction.operand(0),
            Op::AtomicCas,
            bytes_of(instruction.operand(1)),
        ),
        Some(Opcode::LLVMCall) => {
            let callee = instruction.callee();
            if callee.inline_assembly().is_some() && mutation::active("forget-inline-ptx") {
                Vec::new()
            } else if let Some((template, constraints)) = callee.inline_assembly() {
                crate::assembly::memory_operations(instruction, &template, &constraints).or_else(|| {
                    allow_opaque_assembly.then(Vec::new)
                }).ok_or_else(|| Unsupported {
                    location: instruction.location(),
                    what: format!("asm \"{}\"", template.replace('\n', "\\n").replace('\t', "\\t")),
                    function: instruction.parent_function().name(),
                    mend: "rewrite it with a CUDA function, or let it pass untraced with --allow-opaque-asm",
                })?
            } else {
                match callee.as_function() {
                    Some(function) if function.name().starts_with("llvm.") => {
                        intrinsic(module, instruction, function)?
                    }
                    _ => copied_arguments(module, instruction),
                }
            }
        }
        _ => Vec::new(),
    })
}

/// Whether an instruction is inline PTX that touches memory in a way that its text does not show.
pub fn is_opaque(instruction: Value) -> bool {
    instruction.opcode() == Some(Opcode::LLVMCall)
        && (instruction.callee().inline_assembly()).is_some_and(|(template, constraints)| {
            crate::assembly::memory_operations(instruction, &template, &constraints).is_none()
        })
}

/// How many pieces of inline PTX a module has that touch memory in a way that their text does not show.
pub fn count_opaque(module: &Module) -> u32 {
    let functions = module.defined_functions().into_iter();
    let instructions = functions.flat_map(Function::instructions);
    instructions.filter(|i| is_opaque(*i)).count() as u32
}

/// What a call reads to pass it by value: Clang hands on the address of the original where it can, and code generation
/// copies from there.
fn copied_arguments(module: &Module, call: Value) -> Vec<MemoryOperation> {
    (0..)
        .zip(call.arguments())
        .filter(|_| !mutation::active("forget-by-value-call"))
        .filter_map(|(index, pointer)| {
            let ty = call.by_value_type(index)?;
            let width = Width::Fixed(module.store_size_bytes(ty) as u32);
            Some(MemoryOperation::new(pointer, Op::Load, width))
        })
        .collect()
}

fn intrinsic(
    module: &Module,
    call: Value,
    function: Function,
) -> Result<Vec<MemoryOperation>, Unsupported> {
    let name = function.name();
    let arguments = call.arguments();
    let access = MemoryOperation::new;
    let length = |value: Value| match value.constant_integer() {
        Some(bytes) => Width::Fixed(u32::try_from(bytes).unwrap_or(u32::MAX)),
        None if mutation::active("length-as-width") => Width::Fixed(8),
        None => Width::Varies(value),
    };
    // Of a pointer whose type names another space, nothing has to be asked.
    let may_be_global =
        |a: &Value| a.ty().holds_pointer() && !(a.ty().is_pointer() && a.ty().address_space() > 1);
    let result_bytes = || Width::Fixed(module.store_size_bytes(call.ty()) as u32);
    let is = |prefix: &str| name.starts_with(prefix);
    let found = if is("llvm.memcpy.") || is("llvm.memmove.") {
        let width = length(arguments[2]);
        let (source, target) = (
            access(arguments[1], Op::Load, width),
            access(arguments[0], Op::Store, width),
        );
        if mutation::active("forget-copy-source") {
            vec![target]
        } else if mutation::active("forget-copy-target") {
            vec![source]
        } else if mutation::active("copy-reversed") {
            vec![target, source]
        } else {
            vec![source, target]
        }
    } else if is("llvm.memset.") && mutation::active("forget-memset") {
        Vec::new()
    } else if is("llvm.memset.") {
        vec![access(arguments[0], Op::Store, length(arguments[2]))]
    } else if is("llvm.nvvm.ldg.global.") || is("llvm.nvvm.ldu.global.") {
        vec![access(arguments[0], Op::Load, result_bytes())]
    } else if let Some(rest) = name.strip_prefix("llvm.nvvm.atomic.") {
        vec![access(arguments[0], named_atomic_op(rest), result_bytes())]
    } else if is("llvm.nvvm.cp.async.ca.shared.global.")
        || is("llvm.nvvm.cp.async.cg.shared.global.")
    {
        // The optional third argument is the number of bytes really read; the rest is filled with zeroes.
        let copied = name
            .split('.')
            .find_map(|part| part.parse().ok())
            .unwrap_or(0);
        vec![access(
            arguments[1],
            Op::Load,
            arguments
                .get(2)
                .map_or(Width::Fixed(copied), |bytes| length(*bytes)),
        )]
    } else if is("llvm.masked.load.")
        && let Some(bytes) = bytes_through_last(module, call)
    {
        vec![access(arguments[0], Op::Load, Width::Fixed(bytes))]
    } else if is("llvm.nvvm.cp.async.bulk.global.to.shared.")
        || is("llvm.nvvm.cp.async.bulk.shared.cta.to.global")
    {
        let op = if is("llvm.nvvm.cp.async.bulk.shared.") {
            Op::Store
        } else {
            Op::Load
        };
        let in_global = |a: &&Value| a.ty().is_pointer() && a.ty().address_space() == 1;
        let bytes = arguments.iter().find(|a| a.ty() == module.int(32));
        match (arguments.iter().find(in_global), bytes) {
            (Some(pointer), Some(bytes)) => vec![access(*pointer, op, length(*bytes))],
            _ => Vec::new(),
        }
    } else if HARMLESS.iter().any(|prefix| is(prefix)) || !arguments.iter().any(may_be_global) {
        Vec::new()
    } else {
        let of_matrices = ["llvm.nvvm.wmma.", "llvm.nvvm.cp.async.bulk."];
        let mend = if of_matrices.iter().any(|prefix| is(prefix)) {
            "PTX leaves open which lane of a warp reads what of a matrix or tensor; load it with plain accesses, or through shared memory"
        } else {
            "please report it with the program"
        };
        return Err(Unsupported {
            location: call.location(),
            what: name.clone(),
            function: call.parent_function().name(),
            mend,
        });
    };
    Ok(found
        .into_iter()
        .filter(|o| o.width != Width::Fixed(0))
        .collect())
}

/// Bytes that a masked load touches, up to its last element wanted; `None` when only the running program knows the mask. The
/// vectorizer makes such loads of neighbours with a gap, and the device loads the gap too.
fn bytes_through_last(module: &Module, call: Value) -> Option<u32> {
    let mask = call.arguments().get(1)?.operands();
    let wanted = mask
        .iter()
        .map(|lane| lane.constant_integer())
        .collect::<Option<Vec<_>>>()?;
    let elements = wanted.iter().rposition(|lane| *lane != 0)? as u64 + 1;
    let bytes = elements * module.store_size_bytes(call.ty().element());
    u32::try_from(bytes).ok()
}

fn atomic_op(operation: Rmw) -> Op {
    match operation {
        Rmw::LLVMAtomicRMWBinOpAdd | Rmw::LLVMAtomicRMWBinOpFAdd => Op::AtomicAdd,
        Rmw::LLVMAtomicRMWBinOpSub if mutation::active("atomic-sub-as-add") => Op::AtomicAdd,
        Rmw::LLVMAtomicRMWBinOpSub | Rmw::LLVMAtomicRMWBinOpFSub => Op::AtomicSub,
        Rmw::LLVMAtomicRMWBinOpXchg => Op::AtomicExch,
        Rmw::LLVMAtomicRMWBinOpMin | Rmw::LLVMAtomicRMWBinOpUMin | Rmw::LLVMAtomicRMWBinOpFMin => {
            Op::AtomicMin
        }
        Rmw::LLVMAtomicRMWBinOpMax | Rmw::LLVMAtomicRMWBinOpUMax | Rmw::LLVMAtomicRMWBinOpFMax => {
            Op::AtomicMax
        }
        Rmw::LLVMAtomicRMWBinOpUIncWrap => Op::AtomicInc,
        Rmw::LLVMAtomicRMWBinOpUDecWrap => Op::AtomicDec,
        Rmw::LLVMAtomicRMWBinOpAnd => Op::AtomicAnd,
        Rmw::LLVMAtomicRMWBinOpOr => Op::AtomicOr,
        Rmw::LLVMAtomicRMWBinOpXor => Op::AtomicXor,
        _ => Op::AtomicOther,
    }
}

/// Operation of an `llvm.nvvm.atomic.*` intrinsic, whose name goes on with `rest`.
fn named_atomic_op(rest: &str) -> Op {
    match rest.split('.').next().unwrap_or_default() {
        "add" => Op::AtomicAdd,
        "exch" => Op::AtomicExch,
        "min" => Op::AtomicMin,
        "max" => Op::AtomicMax,
        "inc" => Op::AtomicInc,
        "dec" => Op::AtomicDec,
        "cas" => Op::AtomicCas,
        "and" => Op::AtomicAnd,
        "or" => Op::AtomicOr,
        "xor" => Op::AtomicXor,
        _ => Op::AtomicOther,
    }
}
