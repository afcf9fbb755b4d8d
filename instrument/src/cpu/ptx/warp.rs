//! What the threads of a warp or a CTA do together, and what ends a thread.

use super::{Code, memory};
use crate::ir::{Opcode::*, Type, Value, traits::*};
use crate::ptx::{Class, Instruction, Kind, Operand};
use anyhow::Result;

pub fn build(code: &mut Code, instruction: &Instruction) -> Result<()> {
    let void = Type::void();
    let word = Kind::U32;
    let operands = &instruction.operands;
    let has = |word| instruction.has(word);
    match (instruction.opcode.as_str(), &operands[..]) {
        ("shfl", [to, value, lane, clamp, rest @ ..]) => {
            let modes = ["up", "down", "bfly", "idx"];
            let Some(mode) = modes.into_iter().find(|mode| has(mode)) else {
                return code.unknown(instruction);
            };
            let mask = mask(code, instruction, rest.first())?;
            let inputs = [value, lane, clamp].map(|operand| code.operand(operand, word));
            let [value, lane, clamp] = inputs;
            let name = format!("shfl_{mode}");
            let arguments = [value?, lane?, clamp?, mask];
            both(code, &name, to, &arguments)
        }
        ("vote", [to, predicate, rest @ ..]) => {
            let mask = mask(code, instruction, rest.first())?;
            let predicate = code.operand(predicate, Kind::PREDICATE)?;
            let modes = ["all", "any", "uni", "ballot"];
            let Some(mode) = modes.into_iter().find(|mode| has(mode)) else {
                return code.unknown(instruction);
            };
            let ty = Type::int(if mode == "ballot" { 32 } else { 1 });
            let votes = code.intrinsic(&format!("vote_{mode}_sync"), ty, &[mask, predicate]);
            code.define(to, votes, false)
        }
        ("match", [to, value, mask]) => {
            let Some(&kind) = instruction.kinds().last() else {
                return code.unknown(instruction);
            };
            let value = code.operand(value, kind)?;
            let value = code.integer(value, 64, false);
            let mask = code.operand(mask, word)?;
            let name = if has("all") { "match_all" } else { "match_any" };
            both(code, name, to, &[value, mask])
        }
        ("redux", [to, value, mask]) => {
            let operations = ["add", "min", "max", "and", "or", "xor"];
            let Some(operation) = operations.into_iter().find(|word| has(word)) else {
                return code.unknown(instruction);
            };
            let kind = instruction.kinds().last().copied().unwrap_or(word);
            if kind.register_bits() != 32 || kind.is_float() {
                return code.unknown(instruction);
            }
            let unsigned = kind.class == Class::Unsigned && ["min", "max"].contains(&operation);
            let sign = if unsigned { "u" } else { "" };
            let (value, mask) = (code.operand(value, word)?, code.operand(mask, word)?);
            let name = format!("redux_sync_{sign}{operation}");
            let total = code.intrinsic(&name, Type::int(32), &[value, mask]);
            code.define(to, total, false)
        }
        ("activemask", [to]) => {
            let mask = code.intrinsic("activemask", Type::int(32), &[]);
            code.define(to, mask, false)
        }
        ("elect", [to, mask]) => {
            let mask = code.operand(mask, word)?;
            both(code, "elect", to, &[mask])
        }
        ("bar" | "barrier", operands) => barrier(code, instruction, operands),
        ("nanosleep", [time]) => {
            let time = code.operand(time, word)?;
            code.intrinsic("nanosleep", void, &[time]);
            Ok(())
        }
        ("exit", []) => {
            code.intrinsic("exit", void, &[]);
            Ok(())
        }
        ("trap", []) => {
            code.call_named("__superstep_trap", void, &[]);
            Ok(())
        }
        ("brkpt" | "pmevent" | "griddepcontrol" | "setmaxnreg", _) => Ok(()),
        _ => code.unknown(instruction),
    }
}

/// The lanes that take part: all of them, where the instruction is of the time before masks.
fn mask<'m>(
    code: &mut Code<'m, '_>,
    instruction: &Instruction,
    operand: Option<&Operand>,
) -> Result<Value<'m>> {
    match operand {
        Some(mask) => code.operand(mask, Kind::U32),
        None if !instruction.has("sync") => Ok(code.number(32, u64::MAX)),
        None => code.unknown(instruction),
    }
}

/// Calls a function that gives a number, and a predicate above it.
fn both<'m>(
    code: &mut Code<'m, '_>,
    name: &str,
    to: &Operand,
    arguments: &[Value<'m>],
) -> Result<()> {
    let result = code.support(name, Type::int(64), arguments);
    let (number, predicate) = match to {
        Operand::Both(number, predicate) => (&**number, &**predicate),
        number => (number, &Operand::Sink),
    };
    let low = code.integer(result, 32, false);
    code.define(number, low, false)?;
    let high = code.binary(LShr, result, code.number(64, 32));
    let high = code.integer(high, 1, false);
    code.define(predicate, high, false)
}

fn barrier(code: &mut Code, instruction: &Instruction, operands: &[Operand]) -> Result<()> {
    let has = |word| instruction.has(word);
    let void = Type::void();
    if has("cluster") {
        if has("wait") {
            code.intrinsic("barrier_cluster_wait", void, &[]);
        }
        // A cluster is one CTA here; an arrival shows when it waits.
        memory::fence(code);
        return Ok(());
    }
    if has("warp") {
        let [mask] = operands else {
            return code.unknown(instruction);
        };
        let mask = code.operand(mask, Kind::U32)?;
        code.intrinsic("bar_warp_sync", void, &[mask]);
        return Ok(());
    }
    if has("red") {
        let ([to, id, rest @ ..], Some(predicate)) = (operands, operands.last()) else {
            return code.unknown(instruction);
        };
        let id = code.operand(id, Kind::U32)?;
        let predicate = code.operand(predicate, Kind::PREDICATE)?;
        let operation = match (has("popc"), has("and")) {
            (true, _) => "popc",
            (_, true) => "and",
            _ => "or",
        };
        let ty = Type::int(if has("popc") { 32 } else { 1 });
        let result = match rest {
            [_] => {
                let name = format!("barrier_cta_red_{operation}_all");
                code.intrinsic(&name, ty, &[id, predicate])
            }
            [count, _] => {
                let count = code.operand(count, Kind::U32)?;
                let name = format!("barrier_cta_red_{operation}_count");
                code.intrinsic(&name, ty, &[id, count, predicate])
            }
            _ => return code.unknown(instruction),
        };
        return code.define(to, result, false);
    }
    let operation = match (has("sync"), has("arrive")) {
        (true, _) => "sync",
        (_, true) => "arrive",
        _ => return code.unknown(instruction),
    };
    let mut arguments = Vec::new();
    for operand in operands {
        arguments.push(code.operand(operand, Kind::U32)?);
    }
    let form = match arguments.len() {
        1 => "all",
        2 => "count",
        _ => return code.unknown(instruction),
    };
    let name = format!("barrier_cta_{operation}_{form}");
    code.intrinsic(&name, void, &arguments);
    Ok(())
}
