//! Memory accesses in inline PTX.

use super::{Instruction, Kind, Operand, Register, Statement, Template};
use crate::ir::{Call, Type, traits::*};
use crate::operation::{Guard, Lines, MemoryOperation, Width, named_atomic_op};
use superstep_trace::Op;
use superstep_trace::matrix::{MatrixOperation, Tile};

/// Returns the accesses of inline PTX to global or generic addresses, or `None` if they cannot be determined.
///
/// Supports instructions without memory operands, operations on shared, local, parameter and constant space, and `ld`,
/// `st`, `atom`, `red`, `wmma`, `cp.async` and `cp.async.bulk` on `.global` or generic addresses that are an operand of
/// the call plus a constant. An access may be guarded by a predicate that a `setp` in the template sets by comparing an
/// operand with zero.
pub fn operations<'m>(
    call: Call<'m>,
    template: &str,
    constraints: &str,
) -> Option<Vec<MemoryOperation<'m>>> {
    let Ok(parsed) = Template::parse(template) else {
        // Without brackets, there is no address.
        return (!template.contains('[')).then(Vec::new);
    };
    let constraints = constraints.split(',');
    // The numbering of `$n` starts with the results.
    let outputs = constraints.filter(|c| c.starts_with('=')).count();
    let argument = |operand: usize| {
        let index = operand.checked_sub(outputs)?;
        call.arguments().get(index).copied()
    };
    let number = |operand| argument(operand).filter(|value| value.ty().is_int_type());
    let mut found = Vec::new();
    let instructions: Vec<&Instruction> = parsed.instructions().collect();
    for (index, instruction) in instructions.iter().enumerate() {
        let before = &instructions[..index];
        let Some(access) = access(before, instruction)? else {
            continue;
        };
        let guard = match instruction.guard {
            Some(guard) => {
                let (operand, zero) = comparison_with_zero(before, guard.predicate)?;
                let (value, zero) = (number(operand)?, zero != guard.negated);
                Some(Guard { value, zero })
            }
            None => None,
        };
        let mut lines = None;
        if let Some((tile, stride)) = access.lines {
            let stride = match stride {
                Some(Number::Fixed(elements)) => Some(Type::int(64).constant(elements.into())),
                Some(Number::Operand(operand)) => Some(number(operand)?),
                None => None,
            };
            lines = Some(Lines { tile, stride });
        }
        found.push(MemoryOperation {
            pointer: argument(access.place.operand)?,
            op: access.op,
            width: match access.bytes {
                Number::Fixed(bytes) => Width::Fixed(bytes),
                Number::Operand(operand) => Width::Varies(argument(operand)?),
            },
            offset_bytes: access.place.offset_bytes,
            guard,
            is_explicitly_global: access.place.is_explicitly_global,
            lines,
        });
    }
    // A branch may skip or repeat an access.
    let mut statements = parsed.statements.iter();
    let branches = statements.any(|it| matches!(it, Statement::Label(_)));
    (found.is_empty() || !branches).then_some(found)
}

/// Returns the last instruction in `before` that writes a register, and its index, or `None` if it is guarded.
fn definition<'t>(
    before: &[&'t Instruction],
    register: Register,
) -> Option<(&'t Instruction, usize)> {
    let defines = |it: &&Instruction| (it.operands.first()).is_some_and(|to| writes(to, register));
    let index = before.iter().rposition(defines)?;
    (before[index].guard.is_none()).then_some((before[index], index))
}

fn writes(result: &Operand, register: Register) -> bool {
    match result {
        Operand::Register(to) => *to == register,
        Operand::Vector(parts) => parts.iter().any(|part| writes(part, register)),
        Operand::Pair(first, second) => writes(first, register) || writes(second, register),
        _ => false,
    }
}

/// Parses a definition such as `setp.ne.b32 p, $n, 0`: returns the operand, and whether the predicate is true for zero.
fn comparison_with_zero(before: &[&Instruction], predicate: Register) -> Option<(usize, bool)> {
    let (test, _) = definition(before, predicate)?;
    let zero = match (test.opcode.as_str(), test.modifiers.first()?.as_str()) {
        ("setp", "ne") => false,
        ("setp", "eq") => true,
        _ => return None,
    };
    match (Number::parse(test.operands.get(1)?)?, &test.operands[2..]) {
        (Number::Operand(operand), [Operand::Integer(0)]) => Some((operand, zero)),
        _ => None,
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Access {
    op: Op,
    bytes: Number,
    place: Place,
    /// Matrix, and the distance in elements between the starts of its lines.
    lines: Option<(Tile, Option<Number>)>,
}

/// A number in a template: a constant, or an operand of the call.
#[derive(Debug, PartialEq, Eq)]
enum Number {
    Fixed(u32),
    Operand(usize),
}

impl Number {
    fn parse(operand: &Operand) -> Option<Self> {
        match operand {
            Operand::Integer(number) => Some(Number::Fixed(u32::try_from(*number).ok()?)),
            Operand::Register(Register::Argument(operand)) => Some(Number::Operand(*operand)),
            _ => None,
        }
    }
}

/// Returns the access of an instruction, `Some(None)` if it does not access global memory, or `None` if that is
/// unknown.
fn access(before: &[&Instruction], instruction: &Instruction) -> Option<Option<Access>> {
    let is_address = |operand: &&Operand| matches!(operand, Operand::Address(..));
    let addresses: Vec<&Operand> = instruction.operands.iter().filter(is_address).collect();
    if addresses.is_empty() {
        return Some(None);
    }
    let op = match instruction.opcode.as_str() {
        "cp" => return copy(before, instruction, &addresses),
        "wmma" => return matrix(before, instruction, addresses[0]),
        // The last two access only shared memory.
        "prefetch" | "prefetchu" | "mbarrier" | "mov" | "cvta" | "discard" | "applypriority"
        | "ldmatrix" | "stmatrix" => return Some(None),
        _ if instruction.has_any(&["shared", "local", "param", "const"]) => return Some(None),
        "ld" | "ldu" => Op::Load,
        "st" => Op::Store,
        "atom" | "red" => {
            let mut modifiers = instruction.modifiers.iter();
            let op = modifiers.find_map(|word| named_atomic_op(word));
            op.unwrap_or(Op::AtomicOther)
        }
        _ => return None,
    };
    let vector = |m: &String| m.strip_prefix('v')?.parse::<u32>().ok();
    let vector = instruction.modifiers.iter().find_map(vector).unwrap_or(1);
    let kind: Kind = *instruction.kinds().last()?;
    Some(Some(Access {
        op,
        bytes: Number::Fixed(vector * kind.register_bits() / 8),
        place: place(before, instruction, addresses[0])?,
        lines: None,
    }))
}

fn matrix(
    before: &[&Instruction],
    instruction: &Instruction,
    address: &Operand,
) -> Option<Option<Access>> {
    let words = instruction.modifiers.iter().map(String::as_str);
    let (op, tile) = match crate::matrix::read("wmma", words)? {
        _ if instruction.has("shared") => return Some(None),
        MatrixOperation::Load(tile) => (Op::Load, tile),
        MatrixOperation::Store(tile) => (Op::Store, tile),
        _ => return None,
    };
    let stride = match instruction.operands.get(2) {
        None => None,
        Some(stride) => Some(Number::parse(stride)?),
    };
    Some(Some(Access {
        op,
        bytes: Number::Fixed(tile.piece_bytes()),
        place: place(before, instruction, address)?,
        lines: Some((tile, stride)),
    }))
}

fn copy(
    before: &[&Instruction],
    instruction: &Instruction,
    addresses: &[&Operand],
) -> Option<Option<Access>> {
    let modifiers: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
    if modifiers.starts_with(&["async", "mbarrier"]) {
        return Some(None);
    }
    let bulk = modifiers.get(1) == Some(&"bulk");
    let unknown = |m: &&str| matches!(*m, "tensor" | "reduce" | "L2");
    if modifiers.first() != Some(&"async") || bulk && modifiers.iter().any(unknown) {
        return match modifiers[..] {
            // This only prefetches into the cache.
            ["async", "bulk", "prefetch", "L2", ..] => Some(None),
            _ => None,
        };
    }
    // The destination's space comes first.
    let Some(space) = modifiers.iter().position(|m| *m == "global") else {
        // This is a copy between the CTAs of a cluster.
        let mut spaces = modifiers.iter();
        return (spaces.any(|it| it.starts_with("shared"))).then_some(None);
    };
    let from_global = modifiers[..space].iter().any(|m| m.starts_with("shared"));
    let address = addresses.get(usize::from(from_global))?;
    let is_number = |o: &&Operand| !matches!(o, Operand::Address(..));
    let numbers: Vec<&Operand> = instruction.operands.iter().filter(is_number).collect();
    // The optional last number of `cp.async` is the number of bytes read.
    let size = match (bulk, &numbers[..]) {
        (true, [size, ..]) | (false, [size] | [_, size]) => *size,
        _ => return None,
    };
    let op = if from_global { Op::Load } else { Op::Store };
    Some(Some(Access {
        op,
        bytes: Number::parse(size)?,
        place: place(before, instruction, address)?,
        lines: None,
    }))
}

/// An address: an operand of the call plus a constant.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    operand: usize,
    offset_bytes: i64,
    is_explicitly_global: bool,
}

/// Follows an address through registers to an operand of the call.
fn place(before: &[&Instruction], instruction: &Instruction, address: &Operand) -> Option<Place> {
    let (base, offset) = match address {
        Operand::Address(base, offset, rest) if rest.is_empty() => (base, offset),
        _ => return None,
    };
    let Operand::Integer(offset) = **offset else {
        return None;
    };
    let mut place = Place {
        operand: 0,
        offset_bytes: offset as i64,
        is_explicitly_global: instruction.has("global"),
    };
    let (mut base, mut before) = (&**base, before);
    while let Operand::Register(register) = base {
        if let Register::Argument(operand) = register {
            place.operand = *operand;
            return Some(place);
        }
        let (definition, index) = definition(before, *register)?;
        before = &before[..index];
        base = match (definition.opcode.as_str(), &definition.operands[1..]) {
            ("mov", [from]) => from,
            ("cvta", [from]) if definition.has("global") => {
                place.is_explicitly_global = true;
                from
            }
            ("add", [from, Operand::Integer(offset)]) => {
                place.offset_bytes = place.offset_bytes.wrapping_add(*offset as i64);
                from
            }
            _ => return None,
        };
    }
    None
}

#[cfg(test)]
mod tests;
