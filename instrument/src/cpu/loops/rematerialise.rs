//! Recomputes values after a barrier if keeping them in the frame would cost more. This is possible for values that
//! depend only on the thread's coordinates and the kernel's parameters. Values that are equal for all threads move out
//! of the region's loop; others are recomputed only if that is cheap. This also makes the loop's addresses regular.

use super::body::Ids;
use super::waits_for_cta;
use crate::ir::Opcode::{self, *};
use crate::ir::{Builder, Function, Instruction, Value, traits::*};
use std::collections::{HashMap, HashSet};

/// Maximum cost of a value that differs between threads.
const MAX_VARYING: u32 = 12;
const MAX_UNIFORM: u32 = 200;

/// Prefixes, without `llvm.`, of cheap intrinsics that depend only on their arguments.
const CHEAP_INTRINSICS: &str = "fma. fabs. smin. smax. umin. umax. abs.";

#[derive(Clone, Copy, Default)]
struct Cost {
    uniform: u32,
    varying: u32,
    varies: bool,
}

pub fn run(function: Function) {
    let mut places = Places::new(function);
    let ids = Ids::of(function);
    let mut costs = Costs {
        known: HashMap::new(),
        varying: ids.groups[0].into_iter().chain([ids.thread]).collect(),
    };
    for value in function.instructions() {
        if costs.of(value.value()).is_none() || value.get_opcode() == Alloca {
            continue;
        }
        let home = places.segment[&value];
        for user in value.using_instructions() {
            for (index, operand) in user.indexed_operands() {
                if operand != value.value() {
                    continue;
                }
                // A phi uses an incoming value at the end of its incoming block.
                let segment = if user.get_opcode() == Phi {
                    let (_, from) = user.incoming()[index as usize];
                    from.get_terminator().and_then(|t| places.segment.get(&t))
                } else {
                    places.segment.get(&user)
                };
                if let Some(&segment) = segment.filter(|segment| **segment != home) {
                    let recomputed = places.compute(value.value(), segment);
                    user.set_operand(index, recomputed.basic());
                }
            }
        }
    }
}

struct Places<'m> {
    segment: HashMap<Instruction<'m>, usize>,
    first: Vec<Instruction<'m>>,
    computed: HashMap<(usize, Instruction<'m>), Value<'m>>,
}

impl<'m> Places<'m> {
    fn new(function: Function<'m>) -> Self {
        let (mut segment, mut first) = (HashMap::new(), Vec::new());
        for block in function.get_basic_blocks() {
            let mut is_start = true;
            for instruction in block.instructions() {
                let is_phi = instruction.get_opcode() == Phi;
                if is_start && !is_phi {
                    first.push(instruction);
                    is_start = false;
                }
                // Phis come before the first instruction of their segment.
                let number = first.len() - usize::from(!is_phi || !is_start);
                segment.insert(instruction, number);
                is_start |= waits_for_cta(instruction);
            }
        }
        Places {
            segment,
            first,
            computed: HashMap::new(),
        }
    }

    fn compute(&mut self, value: Value<'m>, segment: usize) -> Value<'m> {
        let instruction = value.as_instruction();
        let Some(instruction) = instruction.filter(|i| i.get_opcode() != Alloca) else {
            return value;
        };
        if let Some(done) = self.computed.get(&(segment, instruction)) {
            return *done;
        }
        let operands: Vec<Value> = (value.operands().into_iter())
            .map(|operand| self.compute(operand, segment))
            .collect();
        let copy = Builder::before(self.first[segment]).repeat(instruction);
        for (index, operand) in (0..).zip(operands) {
            copy.set_operand(index, operand.basic());
        }
        self.computed.insert((segment, instruction), copy.value());
        copy.value()
    }
}

struct Costs<'m> {
    known: HashMap<Value<'m>, Option<Cost>>,
    varying: HashSet<Value<'m>>,
}

impl<'m> Costs<'m> {
    /// Returns the cost of recomputing `value`, or `None` if that is impossible or too expensive.
    fn of(&mut self, value: Value<'m>) -> Option<Cost> {
        let Some(instruction) = value.as_instruction() else {
            let varies = self.varying.contains(&value);
            return Some(Cost {
                varies,
                ..Cost::default()
            });
        };
        if let Some(known) = self.known.get(&value) {
            return *known;
        }
        // This terminates: cycles pass through phis, which are not recomputed.
        let cost = self.instruction_cost(instruction);
        self.known.insert(value, cost);
        cost
    }

    fn instruction_cost(&mut self, value: Instruction<'m>) -> Option<Cost> {
        let mut total = Cost::default();
        if value.get_opcode() == Alloca {
            total.varies = true;
            return Some(total);
        }
        let own_cost = operation_cost(value)?;
        for operand in value.operands() {
            let operand_cost = self.of(operand)?;
            total.uniform += operand_cost.uniform;
            total.varying += operand_cost.varying;
            total.varies |= operand_cost.varies;
        }
        if total.varies {
            total.varying += own_cost;
        } else {
            total.uniform += own_cost;
        }
        (total.varying <= MAX_VARYING && total.uniform <= MAX_UNIFORM).then_some(total)
    }
}

/// Returns the cost of the operation itself, in units of one addition, or `None` if it must not be repeated elsewhere.
fn operation_cost(value: Instruction) -> Option<u32> {
    const DIVISION: u32 = 8;
    Some(match value.get_opcode() {
        Add | Sub | Mul | Shl | LShr | AShr | And | Or | Xor | ICmp | FCmp | Select
        | GetElementPtr | Trunc | ZExt | SExt | BitCast | AddrSpaceCast | PtrToInt | IntToPtr
        | FAdd | FSub | FMul | FNeg | FPExt | FPTrunc | SIToFP | UIToFP | FPToSI | FPToUI => 1,
        FDiv => DIVISION,
        // Division by 0 or -1 may fault, which must not happen at a point where the program does not divide.
        UDiv | URem | SDiv | SRem => {
            let divisor = value.operand(1).constant_integer()? as u32;
            if divisor == 0 || divisor == u32::MAX {
                return None;
            }
            3
        }
        Opcode::Call => {
            let name = value.as_call()?.function_name();
            let name = name.strip_prefix("llvm.")?;
            let mut cheap = CHEAP_INTRINSICS.split(' ');
            cheap.find(|prefix| name.starts_with(prefix)).map(|_| 1)?
        }
        _ => return None,
    })
}
