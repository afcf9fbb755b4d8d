//! Threads that a region singles out by their column (such as `threadIdx.x == 0`: the edge of a tile, or the thread
//! that stores a sum).
//!
//! They run outside the loops over the other threads of their row, for which the condition is known to be false.
//! Otherwise, a store by a single thread would turn into a scatter in each iteration, or prevent vectorisation. The
//! order of the threads does not change.

use super::body::Ids;
use super::regions::Region;
use crate::ir::{
    Function, Instruction, IntPredicate::*, Module, Opcode, Type, Value, duplicate, traits::*,
};

const MAX_COLUMNS: usize = 3;
const MAX_INSTRUCTIONS: usize = 400;

pub struct Columns<'m> {
    /// Columns that run the original region.
    pub special: Vec<u32>,
    pub others: Function<'m>,
}

/// Creates a version of a region for the threads that it does not single out. Returns `None` if the region singles out
/// no column or too many, or is too large.
pub fn split<'m>(module: &'m Module, region: &Region<'m>) -> Option<Columns<'m>> {
    let function = region.function;
    let instructions = function.instructions();
    if instructions.len() > MAX_INSTRUCTIONS {
        return None;
    }
    let column = Ids::of(function).groups[0][0];
    let tests = instructions.into_iter();
    let tests = tests.filter_map(|instruction| Some((instruction, test(instruction, column)?)));
    let tests: Vec<(Instruction, (u32, bool))> = tests.collect();
    let mut special: Vec<u32> = tests.iter().map(|(_, (column, _))| *column).collect();
    special.sort_unstable();
    special.dedup();
    if special.is_empty() || special.len() > MAX_COLUMNS {
        return None;
    }
    let name = format!("{}.others", function.name());
    let (others, copies) = duplicate(function, module, &name);
    for (instruction, (_, outcome_elsewhere)) in tests {
        let outcome = Type::int(1).constant(u64::from(outcome_elsewhere));
        copies[&instruction.value()].replace_uses_with(outcome);
    }
    Some(Columns { special, others })
}

/// For a comparison that has the same outcome in all columns except one, returns that column and the outcome in the
/// others.
fn test<'m>(instruction: Instruction<'m>, column: Value<'m>) -> Option<(u32, bool)> {
    let outcome_elsewhere = match instruction.get_icmp_predicate()? {
        EQ => false,
        NE => true,
        _ => return None,
    };
    let compared = instruction.operand(0);
    let mut number = instruction.operand(1).constant_integer()? as u32;
    if compared != column {
        // Even with overflow, the sum equals the constant in only one column.
        if compared.opcode() != Some(Opcode::Add) || compared.operand(0) != column {
            return None;
        }
        number = number.wrapping_sub(compared.operand(1).constant_integer()? as u32);
    }
    Some((number, outcome_elsewhere))
}
