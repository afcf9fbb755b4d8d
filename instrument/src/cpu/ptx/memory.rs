//! Loads, stores, atomics and fences.

use super::Code;
use crate::cpu::alignment;
use crate::cpu::polls::{POLLS, YIELD};
use crate::ir::{Builder, Type, Value, traits::*};
use crate::operation::named_atomic_op;
use crate::ptx::{Class, Instruction, Kind, Operand, is_strong};
use anyhow::Result;

pub fn build(code: &mut Code, instruction: &Instruction) -> Result<()> {
    match instruction.opcode.as_str() {
        "ld" | "ldu" => load(code, instruction),
        "st" => store(code, instruction),
        "atom" | "red" => atomic(code, instruction),
        "membar" | "fence" => {
            fence(code);
            Ok(())
        }
        "createpolicy" => {
            let policy = code.number(64, 0);
            code.define(&instruction.operands[0], policy, false)
        }
        // Hints for caches.
        _ => Ok(()),
    }
}

/// All fences are the strongest one.
pub fn fence(code: &Code) {
    code.intrinsic("membar_sys", Type::void(), &[]);
}

/// The generic pointer that a number of 32 or 64 bits is, as an address of shared memory.
pub fn shared_pointer<'m>(code: &Code<'m, '_>, number: Value<'m>) -> Value<'m> {
    let number = code.integer(number, 64, false);
    code.support("shared_pointer", Type::pointer(0), &[number])
}

/// The generic pointer to what an operand in brackets names.
pub fn pointer<'m>(
    code: &mut Code<'m, '_>,
    instruction: &Instruction,
    address: &Operand,
    is_shared: bool,
) -> Result<Value<'m>> {
    let Operand::Address(base, offset, rest) = address else {
        return code.unknown(instruction);
    };
    if !rest.is_empty() {
        return code.unknown(instruction);
    }
    let base = match &**base {
        Operand::Register(register) => match code.argument(*register) {
            Some(pointer) if pointer.ty().is_pointer_type() => code.builder.to_generic(pointer),
            _ => {
                let number = code.read(*register);
                match is_shared {
                    true => shared_pointer(code, number),
                    false => code.builder.to_generic(code.integer(number, 64, false)),
                }
            }
        },
        _ => return code.unknown(instruction),
    };
    if **offset == Operand::Integer(0) {
        return Ok(base);
    }
    let offset = match &**offset {
        Operand::Register(register) => code.integer(code.read(*register), 64, true),
        other => code.operand(other, Kind::new(Class::Signed, 64))?,
    };
    Ok(code.builder.offset_by(base, offset))
}

/// Has addresses that must be multiples of `bytes`, a power of two, checked.
pub fn check<'m>(code: &Code<'m, '_>, addresses: &[Value<'m>], bytes: u64) {
    let place = code.call.location();
    for address in addresses.iter().filter(|_| bytes > 1) {
        alignment::add(code.module, &code.builder, &place, *address, bytes);
    }
}

/// Alignment that an access of `count` numbers of this kind needs.
fn alignment_bytes(kind: Kind, count: usize) -> u64 {
    (u64::from(kind.register_bits() / 8) * count as u64).next_power_of_two()
}

/// The type of each number, and how many there are.
fn elements(instruction: &Instruction) -> Option<(Kind, usize)> {
    let kind = *instruction.kinds().last()?;
    let count = |m: &String| m.strip_prefix('v')?.parse::<usize>().ok();
    let count = instruction.modifiers.iter().find_map(count);
    Some((kind, count.unwrap_or(1)))
}

/// The registers of an operand, one or several.
pub fn registers(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Vector(elements) => elements,
        one => std::slice::from_ref(one),
    }
}

/// For `count` numbers of this kind, what one access moves: other threads see all of them or none, as on a GPU, where CTAs rely on
/// that. `None` for accesses that no one looks at, and where x86 has none of that size.
fn whole(instruction: &Instruction, kind: Kind, count: usize) -> Option<Type> {
    let bits = kind.register_bits() * count as u32;
    match bits {
        _ if !is_strong(instruction) => None,
        128 => Some(Type::int(64).vector(2)),
        8 | 16 | 32 | 64 if count > 1 => Some(Type::int(bits)),
        _ => None,
    }
}

/// Memory of the calling thread for such an access.
fn slot<'m>(code: &Code<'m, '_>, ty: Type) -> Value<'m> {
    let entry = Builder::at_entry(code.call.parent_function());
    entry.alloca(ty).value()
}

fn load(code: &mut Code, instruction: &Instruction) -> Result<()> {
    let (Some((kind, count)), [to, address, ..]) =
        (elements(instruction), &instruction.operands[..])
    else {
        return code.unknown(instruction);
    };
    let registers = registers(to);
    if registers.len() != count {
        return code.unknown(instruction);
    }
    let polls = code.call.text_attribute(POLLS).is_some();
    if crate::ptx::waits(instruction) && !polls {
        // Whoever loads so waits for somebody, most often in a loop: let the other threads of the CTA run.
        code.call_named(YIELD, Type::void(), &[]);
    }
    let mut address = pointer(code, instruction, address, instruction.has("shared"))?;
    check(code, &[address], alignment_bytes(kind, count));
    let bytes = u64::from(kind.register_bits() / 8);
    let ty = Type::int(kind.register_bits());
    let whole = whole(instruction, kind, count);
    if let Some(whole) = whole {
        let value = code.builder.load(whole, address);
        if let Some(load) = value.as_instruction() {
            load.make_volatile();
            load.set_alignment_bytes(bytes as u32);
            load.add_sites(&code.call.sites());
        }
        address = slot(code, whole);
        code.builder.store(value, address);
    }
    let is_seen = is_strong(instruction) || polls;
    let mut values = Vec::new();
    for index in 0..count {
        let place = code.builder.offset(address, index as u64 * bytes);
        let value = code.builder.load(ty, place);
        if let Some(load) = (value.as_instruction()).filter(|_| whole.is_none()) {
            load.add_sites(&code.call.sites());
            if is_seen {
                load.make_volatile();
            }
        }
        values.push(value);
    }
    for (register, value) in registers.iter().zip(values) {
        code.define(register, value, kind.is_signed())?;
    }
    if instruction.has("acquire") {
        fence(code);
    }
    Ok(())
}

fn store(code: &mut Code, instruction: &Instruction) -> Result<()> {
    let (Some((kind, count)), [address, from, ..]) =
        (elements(instruction), &instruction.operands[..])
    else {
        return code.unknown(instruction);
    };
    let registers = registers(from);
    if registers.len() != count || instruction.has("async") || instruction.has("bulk") {
        return code.unknown(instruction);
    }
    if instruction.has("release") {
        fence(code);
    }
    let address = pointer(code, instruction, address, instruction.has("shared"))?;
    check(code, &[address], alignment_bytes(kind, count));
    let bytes = u64::from(kind.register_bits() / 8);
    let whole = whole(instruction, kind, count);
    let parts = whole.map_or(address, |whole| slot(code, whole));
    for (index, register) in registers.iter().enumerate() {
        let value = code.operand(register, kind)?;
        let value = code.bits_of(value);
        let place = code.builder.offset(parts, index as u64 * bytes);
        let store = code.builder.store(value, place);
        if whole.is_none() {
            store.add_sites(&code.call.sites());
            if is_strong(instruction) {
                store.make_volatile();
            }
        }
    }
    if let Some(whole) = whole {
        let value = code.builder.load(whole, parts);
        let store = code.builder.store(value, address);
        store.make_volatile();
        store.set_alignment_bytes(bytes as u32);
        store.add_sites(&code.call.sites());
    }
    Ok(())
}

/// A function of the support library, named after operation and type. The order and scope that is asked for are met by all
/// of them.
fn atomic(code: &mut Code, instruction: &Instruction) -> Result<()> {
    let Some((kind, count)) = elements(instruction) else {
        return code.unknown(instruction);
    };
    let mut modifiers = instruction.modifiers.iter();
    let operation = modifiers.find(|word| named_atomic_op(word).is_some());
    let is_atom = instruction.opcode == "atom";
    let operands = &instruction.operands[usize::from(is_atom)..];
    let (Some(operation), [address, inputs @ ..]) = (operation, operands) else {
        return code.unknown(instruction);
    };
    let wanted = if operation == "cas" { 2 } else { 1 };
    // Behind the inputs there may be a cache policy.
    let Some(inputs) = inputs.get(..wanted) else {
        return code.unknown(instruction);
    };
    if kind.bits == 128 || instruction.has("async") {
        return code.unknown(instruction);
    }
    let address = pointer(code, instruction, address, instruction.has("shared"))?;
    check(code, &[address], alignment_bytes(kind, count));
    let ty = super::type_of(kind);
    let name = format!("atom_{operation}_{}", kind.name());
    let bytes = u64::from(kind.register_bits() / 8);
    for index in 0..count {
        let mut arguments = vec![code.builder.offset(address, index as u64 * bytes)];
        for input in inputs {
            let Some(input) = registers(input).get(index) else {
                return code.unknown(instruction);
            };
            arguments.push(code.operand(input, kind)?);
        }
        let old = code.access(&name, ty, &arguments);
        if is_atom {
            let Some(to) = registers(&instruction.operands[0]).get(index) else {
                return code.unknown(instruction);
            };
            code.define(to, old, kind.is_signed())?;
        }
    }
    Ok(())
}
