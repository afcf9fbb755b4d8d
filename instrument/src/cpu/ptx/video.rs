//! Video instructions: arithmetic on small integers packed in one register, or on one integer with a second operation.

use super::Code;
use crate::ir::{Type, traits::*};
use crate::ptx::Kind;
use anyhow::Result;

/// Operations, in the order that the support library uses (`support_video.c`).
const OPERATIONS: [&str; 8] = [
    "vadd", "vsub", "vabsdiff", "vavrg", "vmin", "vmax", "vshl", "vshr",
];
const COMPARISONS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const FIRST_COMPARISON: usize = 16;

pub fn build(code: &mut Code) -> Result<()> {
    let opcode = code.instruction.opcode.as_str();
    let lanes = match opcode.chars().last() {
        Some('2') => 2,
        Some('4') => 4,
        _ => 1,
    };
    let name = opcode.trim_end_matches(['2', '4']);
    let position = |names: &[&str]| names.iter().position(|known| code.has(known));
    let operation = match name {
        "vset" => position(&COMPARISONS).map(|index| FIRST_COMPARISON + index),
        name => OPERATIONS.iter().position(|known| *known == name),
    };
    let operation = code.known(operation)?;
    // A comparison specifies only the types of its sources.
    let (result, sources) = match code.instruction.kinds()[..] {
        [result, a, b] => (result, [a, b]),
        [a, b] => (Kind::U32, [a, b]),
        _ => return code.unknown(),
    };
    let is_shift = ["vshl", "vshr"].contains(&name);
    code.require(code.instruction.operands.len() >= 3 && !(is_shift && lanes > 1))?;
    let mut values = code.inputs(Kind::U32)?;
    values.resize(3, code.number(32, 0));
    let flags = [
        sources[0].is_signed(),
        sources[1].is_signed(),
        result.is_signed(),
        code.has("sat"),
        code.has("wrap"),
    ];
    let flags = (0..)
        .zip(flags)
        .map(|(bit, is_set)| u64::from(is_set) << bit);
    // No comparison has the same name as a second operation.
    let second = position(&["add", "min", "max"]).map_or(0, |index| index as u64 + 1);
    let constants = [operation as u64, lanes, flags.sum(), second];
    values.extend(constants.map(|constant| code.number(32, constant)));
    let value = code.support("video", Type::int(32), &values);
    code.define(&code.instruction.operands[0], value, result.is_signed())
}
