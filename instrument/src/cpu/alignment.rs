//! Alignment checks: a GPU reports `cudaErrorMisalignedAddress`, whereas x86 accepts most misaligned accesses.
//!
//! [`mark`] inserts a call to [`ALIGNED`] before each access whose alignment is not known, as does the lowering of
//! inline PTX. The call usually checks the start of an array, which is the same for all threads, so LLVM hoists it out
//! of the loops over the threads. [`resolve`] replaces the calls with code that stops the thread if the check fails.

use crate::ir::{
    Builder, Call, Instruction, IntPredicate::EQ, Location, Module, Opcode::*, Type, Value,
    traits::*,
};
use std::collections::HashSet;

/// `void (ptr address, i64 mask, ptr file, i32 line)`, which requires `address & mask` to be 0.
pub const ALIGNED: &str = "superstep.aligned";
/// Runtime function that ends the launch; its parameters are the same.
const MISALIGNED: &str = "__superstep_misaligned";
const MAX_BYTES: u64 = 16;
/// Maximum number of steps from an address back to its base.
const MAX_DEPTH: u32 = 12;

pub fn mark(module: &Module) {
    for function in module.defined_functions() {
        let mut at_entry = HashSet::new();
        for (number, block) in function.get_basic_blocks().into_iter().enumerate() {
            let mut known = at_entry.clone();
            for instruction in block.instructions() {
                for (pointer, bytes) in accesses(module, instruction) {
                    if let Some(checked) = unknown_part(module, pointer, bytes)
                        && known.insert((checked, bytes))
                    {
                        let builder = Builder::before(instruction);
                        add(module, &builder, &instruction.location(), checked, bytes);
                    }
                }
            }
            // The first block dominates all others.
            if number == 0 {
                at_entry = known;
            }
        }
    }
}

/// Adds a check that the address is a multiple of `bytes`, a power of two; the error names the source position
/// `location`.
pub fn add<'m>(
    module: &'m Module,
    builder: &Builder<'m>,
    location: &Location,
    pointer: Value<'m>,
    bytes: u64,
) {
    let name = format!("superstep.file.{}", location.file);
    let known = module.variable(&name);
    let file = known.unwrap_or_else(|| module.add_string(&name, location.file.as_bytes()));
    let address = builder.to_generic(pointer);
    if address != pointer {
        address.rename("superstep.address");
    }
    let arguments = [
        address,
        Type::int(64).constant(bytes - 1),
        file.value(),
        Type::int(32).constant(u64::from(location.line)),
    ];
    builder.call_named(module, ALIGNED, Type::void(), &arguments);
}

fn accesses<'m>(module: &Module, instruction: Instruction<'m>) -> Vec<(Value<'m>, u64)> {
    let natural = |ty| MAX_BYTES.min(module.store_size_bytes(ty).next_power_of_two());
    let (pointer, value) = match instruction.get_opcode() {
        Load => (0, instruction.value()),
        Store => (1, instruction.operand(0)),
        AtomicRMW | AtomicCmpXchg => (0, instruction.operand(1)),
        _ => {
            let call = instruction.as_call();
            let found = call.and_then(|call| intrinsic_accesses(call, &natural));
            return found.unwrap_or_default();
        }
    };
    let bytes = natural(value.ty()).min(u64::from(instruction.alignment_bytes()));
    Vec::from_iter((bytes > 1).then(|| (instruction.operand(pointer), bytes)))
}

fn intrinsic_accesses<'m>(
    call: Call<'m>,
    natural: &dyn Fn(Type) -> u64,
) -> Option<Vec<(Value<'m>, u64)>> {
    let name = call.function_name();
    let is = |prefix: &str| name.starts_with(prefix);
    if is("llvm.memcpy.") || is("llvm.memmove.") || is("llvm.memset.") {
        // For a copy of unknown length, the compiler chooses the accesses.
        let length = call.operand(2).constant_integer()?;
        let pointers = if is("llvm.memset.") { 1 } else { 2 };
        let parts = (0..pointers).filter_map(|index| {
            let promised = call.promised_alignment_bytes(index)?;
            let bytes = promised.min(MAX_BYTES).min(1 << length.checked_ilog2()?);
            (bytes > 1).then_some((call.operand(index), bytes))
        });
        Some(parts.collect())
    } else if is("llvm.nvvm.ldg.global.") || is("llvm.nvvm.ldu.global.") || is("llvm.nvvm.atomic.")
    {
        Some(vec![(call.operand(0), natural(call.ty()))])
    } else if is("llvm.nvvm.cp.async.c") {
        let bytes = name.split('.').find_map(|part| part.parse().ok())?;
        Some(vec![(call.operand(0), bytes), (call.operand(1), bytes)])
    } else {
        None
    }
}

/// Returns the part of an address that must be checked, such as the start of an array, or `None` if the address is
/// known to be a multiple of `bytes`. Raises the alignment of this module's variables where needed.
fn unknown_part<'m>(module: &Module, pointer: Value<'m>, bytes: u64) -> Option<Value<'m>> {
    let base = base_of(module, pointer, bytes, MAX_DEPTH);
    let is_memory = base.opcode() == Some(Alloca) || base.as_variable().is_some();
    if is_memory {
        if u64::from(base.alignment_bytes()) < bytes {
            base.set_alignment_bytes(bytes as u32);
        }
        return None;
    }
    let known = base.as_parameter().and_then(|(function, index)| {
        let ty = function.by_value_type(index)?;
        let promised = function.promised_alignment_bytes(index);
        Some(promised.unwrap_or_else(|| module.alignment_bytes(ty)))
    });
    (known.unwrap_or(1) < bytes).then_some(base)
}

/// Strips offsets that are multiples of `bytes` from an address.
fn base_of<'m>(module: &Module, pointer: Value<'m>, bytes: u64, depth: u32) -> Value<'m> {
    let Some(depth) = depth.checked_sub(1) else {
        return pointer;
    };
    match pointer.opcode() {
        Some(AddrSpaceCast | BitCast) if pointer.operand(0).ty().is_pointer_type() => {
            base_of(module, pointer.operand(0), bytes, depth)
        }
        Some(GetElementPtr) if pointer.ty().is_pointer_type() => {
            let (fixed, multiple) = offset_of(module, pointer);
            match common(fixed, multiple) % bytes {
                0 => base_of(module, pointer.operand(0), bytes, depth),
                _ => pointer,
            }
        }
        // A loop may advance the address by multiples of `bytes`.
        Some(Phi) => {
            let incoming = (pointer.as_instruction()).map_or_else(Vec::new, |phi| phi.incoming());
            let mut bases = (incoming.into_iter())
                .map(|(value, _)| base_of(module, value, bytes, depth))
                .filter(|base| *base != pointer);
            match (bases.next(), bases.next()) {
                (Some(base), None) => base,
                _ => pointer,
            }
        }
        _ => pointer,
    }
}

/// Returns the offset that a `getelementptr` adds: its constant part, and a divisor of its variable part (0 if it has
/// none).
fn offset_of(module: &Module, address: Value) -> (u64, u64) {
    let mut ty = address.gep_type();
    let (mut fixed, mut multiple) = (0u64, 0);
    for (number, index) in address.operands().into_iter().skip(1).enumerate() {
        if number > 0 && ty.is_struct_type() {
            let member = index.constant_integer().unwrap_or_default() as u32;
            fixed = fixed.wrapping_add(module.member_offset_bytes(ty, member));
            ty = ty.members()[member as usize];
            continue;
        }
        if number > 0 {
            ty = ty.element();
        }
        let stride = module.allocated_size_bytes(ty);
        let factor = |index| multiple_of(index, MAX_DEPTH);
        match index.constant_integer() {
            Some(index) => fixed = fixed.wrapping_add(stride.wrapping_mul(index)),
            None => multiple = common(multiple, stride.wrapping_mul(factor(index))),
        }
    }
    (fixed, multiple)
}

/// Returns the largest power of two that divides both numbers; 0 if both are 0.
fn common(left: u64, right: u64) -> u64 {
    let bits = left | right;
    bits & bits.wrapping_neg()
}

/// Returns a power of two that divides an integer, even if its computation overflows.
fn multiple_of(value: Value, depth: u32) -> u64 {
    if let Some(number) = value.constant_integer() {
        return common(number, 1 << 32);
    }
    let Some(depth) = depth.checked_sub(1) else {
        return 1;
    };
    let operand = |index| multiple_of(value.operand(index), depth);
    match value.opcode() {
        Some(ZExt | SExt | Trunc) => operand(0),
        Some(Add | Sub | Or) => common(operand(0), operand(1)),
        Some(Mul) => operand(0).saturating_mul(operand(1)).min(1 << 32),
        Some(And) => operand(0).max(operand(1)),
        Some(Shl) => match value.operand(1).constant_integer() {
            Some(shift @ 0..32) => (operand(0) << shift).min(1 << 32),
            _ => 1,
        },
        _ => 1,
    }
}

pub fn resolve(module: &Module) {
    let Some(aligned) = module.function(ALIGNED) else {
        return;
    };
    for call in aligned.callers().collect::<Vec<_>>() {
        let [address, mask, file, line] = call.arguments()[..] else {
            continue;
        };
        let function = call.parent_function();
        let rest = call.parent_block();
        let name = rest.name();
        let head = rest.split_before(call.instruction());
        rest.set_name("aligned");
        head.set_name(&name);
        let builder = Builder::at_end_for(head, call.instruction());
        let number = builder.cast(PtrToInt, address, Type::int(64));
        let bits = builder.binary(And, number, mask);
        let stop = function.append_block("misaligned");
        let is_fine = builder.compare(EQ, bits, Type::int(64).constant(0));
        is_fine.rename("superstep.is_aligned");
        builder.branch_if(is_fine, rest, stop);
        let builder = Builder::at_end_for(stop, call.instruction());
        let misaligned = module.declare(MISALIGNED, call.called_type());
        misaligned.set_attribute("noreturn");
        builder.call(misaligned, &[address, mask, file, line]);
        builder.unreachable();
        call.erase();
    }
}
