//! Loads, stores, atomics and fences.

use super::Code;
use crate::cpu::alignment;
use crate::cpu::polls::{POLLS, YIELD};
use crate::ir::{Builder, Type, Value, traits::*};
use crate::operation::named_atomic_op;
use crate::ptx::{Class, Kind, Operand, is_strong};
use anyhow::Result;

pub fn build(code: &mut Code) -> Result<()> {
    match code.instruction.opcode.as_str() {
        "ld" | "ldu" => load(code),
        "st" => store(code),
        "atom" | "red" => atomic(code),
        "membar" | "fence" => code.act("membar_sys", &[]),
        "createpolicy" => code.define(code.to()?, code.number(64, 0), false),
        // The remaining instructions are cache hints.
        _ => Ok(()),
    }
}

/// Converts a shared-memory address, a 32-bit or 64-bit integer, to a generic pointer.
pub fn shared_pointer<'m>(code: &Code<'m, '_>, number: Value<'m>) -> Value<'m> {
    let number = code.integer(number, 64, false);
    code.support("shared_pointer", Type::pointer(0), &[number])
}

pub fn pointer<'m>(code: &Code<'m, '_>, address: &Operand, is_shared: bool) -> Result<Value<'m>> {
    let (base, offset) = match address {
        Operand::Address(base, offset, rest) if rest.is_empty() => (base, offset),
        _ => return code.unknown(),
    };
    let Operand::Register(register) = **base else {
        return code.unknown();
    };
    let base = match code.argument(register) {
        Some(pointer) if pointer.ty().is_pointer_type() => code.builder.to_generic(pointer),
        _ if is_shared => shared_pointer(code, code.read(register)),
        _ => (code.builder).to_generic(code.integer(code.read(register), 64, false)),
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

/// Adds run-time checks that addresses are multiples of `bytes`, a power of two.
pub fn check<'m>(code: &Code<'m, '_>, addresses: &[Value<'m>], bytes: u64) {
    let location = code.call.location();
    for address in addresses.iter().filter(|_| bytes > 1) {
        alignment::add(code.module, &code.builder, &location, *address, bytes);
    }
}

pub fn registers(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Vector(elements) => elements,
        scalar => std::slice::from_ref(scalar),
    }
}

struct Access {
    kind: Kind,
    count: usize,
    /// Size of each element.
    bytes: u64,
    /// Type of a single access that moves all elements at once, so that other threads never see only some of them.
    /// `None` if the access is not strong, or if x86 has no access of that size.
    whole: Option<Type>,
}

impl Access {
    fn parse(code: &Code) -> Result<Self> {
        let (_, kind) = code.kinds()?;
        let count = |m: &String| m.strip_prefix('v')?.parse::<usize>().ok();
        let count = code.instruction.modifiers.iter().find_map(count);
        let count = count.unwrap_or(1);
        let bits = kind.register_bits();
        let whole = match bits * count as u32 {
            _ if !is_strong(code.instruction) => None,
            128 => Some(Type::int(64).vector(2)),
            bits @ (8 | 16 | 32 | 64) if count > 1 => Some(Type::int(bits)),
            _ => None,
        };
        let bytes = u64::from(bits / 8);
        Ok(Access {
            kind,
            count,
            bytes,
            whole,
        })
    }

    fn pointer<'m>(&self, code: &Code<'m, '_>, address: &Operand) -> Result<Value<'m>> {
        let pointer = pointer(code, address, code.has("shared"))?;
        let bytes = self.bytes * self.count as u64;
        check(code, &[pointer], bytes.next_power_of_two());
        Ok(pointer)
    }

    fn mark_whole<'m>(&self, code: &Code, access: impl InstructionExt<'m>) {
        access.make_volatile();
        access.set_alignment_bytes(self.bytes as u32);
        access.add_sites(&code.call.sites());
    }
}

fn slot<'m>(code: &Code<'m, '_>, ty: Type) -> Value<'m> {
    let entry = Builder::at_entry(code.call.parent_function());
    entry.alloca(ty).value()
}

fn load(code: &mut Code) -> Result<()> {
    let access = Access::parse(code)?;
    let ([to, address], _) = code.first_operands()?;
    let registers = registers(to);
    code.require(registers.len() == access.count)?;
    let polls = code.call.text_attribute(POLLS).is_some();
    if crate::ptx::waits(code.instruction) && !polls {
        // A load like this usually polls in a loop: let the other threads of the CTA run.
        code.call_named(YIELD, Type::void(), &[]);
    }
    let mut address = access.pointer(code, address)?;
    let ty = Type::int(access.kind.register_bits());
    if let Some(whole) = access.whole {
        let value = code.builder.load(whole, address);
        if let Some(load) = value.as_instruction() {
            access.mark_whole(code, load);
        }
        address = slot(code, whole);
        code.builder.store(value, address);
    }
    let is_volatile = is_strong(code.instruction) || polls;
    let mut values = Vec::new();
    for index in 0..access.count as u64 {
        let element = code.builder.offset(address, index * access.bytes);
        let value = code.builder.load(ty, element);
        if let Some(load) = (value.as_instruction()).filter(|_| access.whole.is_none()) {
            load.add_sites(&code.call.sites());
            if is_volatile {
                load.make_volatile();
            }
        }
        values.push(value);
    }
    code.define_all(registers, values, access.kind.is_signed())?;
    if code.has("acquire") {
        code.act("membar_sys", &[])?;
    }
    Ok(())
}

fn store(code: &Code) -> Result<()> {
    let access = Access::parse(code)?;
    let ([address, from], _) = code.first_operands()?;
    let registers = registers(from);
    code.require(registers.len() == access.count && !code.has("async") && !code.has("bulk"))?;
    if code.has("release") {
        code.act("membar_sys", &[])?;
    }
    let address = access.pointer(code, address)?;
    let parts = access.whole.map_or(address, |whole| slot(code, whole));
    for (register, index) in registers.iter().zip(0..) {
        let value = code.bits_of(code.operand(register, access.kind)?);
        let element = code.builder.offset(parts, index * access.bytes);
        let store = code.builder.store(value, element);
        if access.whole.is_none() {
            store.add_sites(&code.call.sites());
            if is_strong(code.instruction) {
                store.make_volatile();
            }
        }
    }
    if let Some(whole) = access.whole {
        let value = code.builder.load(whole, parts);
        access.mark_whole(code, code.builder.store(value, address));
    }
    Ok(())
}

/// Calls the support-library function for the operation and type. These functions satisfy every memory order and scope.
fn atomic(code: &mut Code) -> Result<()> {
    let access = Access::parse(code)?;
    let mut modifiers = code.instruction.modifiers.iter();
    let operation = code.known(modifiers.find(|word| named_atomic_op(word).is_some()))?;
    let results = usize::from(code.instruction.opcode == "atom");
    let (results, operands) = code.instruction.operands.split_at(results);
    let (address, inputs) = code.known(operands.split_first())?;
    let input_count = if operation == "cas" { 2 } else { 1 };
    // A cache policy may follow the inputs.
    let inputs = code.known(inputs.get(..input_count))?;
    code.require(access.kind.bits != 128 && !code.has("async"))?;
    let address = access.pointer(code, address)?;
    let ty = super::type_of(access.kind);
    let name = format!("atom_{operation}_{}", access.kind.name());
    for index in 0..access.count {
        let mut arguments = vec![code.builder.offset(address, index as u64 * access.bytes)];
        for input in inputs {
            let input = code.known(registers(input).get(index))?;
            arguments.push(code.operand(input, access.kind)?);
        }
        let old = code.access(&name, ty, &arguments);
        for to in results {
            let to = code.known(registers(to).get(index))?;
            code.define(to, old, access.kind.is_signed())?;
        }
    }
    Ok(())
}
