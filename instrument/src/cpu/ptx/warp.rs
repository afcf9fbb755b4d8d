//! Collective operations of a warp or a CTA, and operations that end a thread.

use super::{Code, memory};
use crate::ir::{Opcode::*, Type, Value, traits::*};
use crate::ptx::{Class, Kind, Operand};
use anyhow::Result;

pub fn build(code: &mut Code) -> Result<()> {
    let void = Type::void();
    let word = Kind::U32;
    let instruction = code.instruction;
    match (instruction.opcode.as_str(), &instruction.operands[..]) {
        ("shfl", [to, value, lane, clamp, rest @ ..]) => {
            let mode = code.one_of(&["up", "down", "bfly", "idx"])?;
            let mask = mask(code, rest.first())?;
            let [value, lane, clamp] = [value, lane, clamp].map(|input| code.operand(input, word));
            both(
                code,
                &format!("shfl_{mode}"),
                to,
                &[value?, lane?, clamp?, mask],
            )
        }
        ("vote", [to, predicate, rest @ ..]) => {
            let mask = mask(code, rest.first())?;
            let predicate = code.operand(predicate, Kind::PREDICATE)?;
            let mode = code.one_of(&["all", "any", "uni", "ballot"])?;
            let ty = Type::int(if mode == "ballot" { 32 } else { 1 });
            let votes = code.intrinsic(&format!("vote_{mode}_sync"), ty, &[mask, predicate]);
            code.define(to, votes, false)
        }
        ("match", [to, value, mask]) => {
            let (_, kind) = code.kinds()?;
            let value = code.integer(code.operand(value, kind)?, 64, false);
            let mask = code.operand(mask, word)?;
            let name = if code.has("all") {
                "match_all"
            } else {
                "match_any"
            };
            both(code, name, to, &[value, mask])
        }
        ("redux", [to, value, mask]) => {
            let operation = code.one_of(&["add", "min", "max", "and", "or", "xor"])?;
            let kind = code.instruction.kinds().last().copied().unwrap_or(word);
            if kind.register_bits() != 32 || kind.is_float() {
                return code.unknown();
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
        ("bar" | "barrier", operands) => barrier(code, operands),
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
        _ => code.unknown(),
    }
}

/// Returns the mask of participating lanes; instructions without `.sync` have no mask, and include all lanes.
fn mask<'m>(code: &Code<'m, '_>, operand: Option<&Operand>) -> Result<Value<'m>> {
    match operand {
        Some(mask) => code.operand(mask, Kind::U32),
        None if !code.has("sync") => Ok(code.number(32, u64::MAX)),
        None => code.unknown(),
    }
}

/// Calls a function that returns a 32-bit number and, in the upper half, a predicate.
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
    code.define(number, code.integer(result, 32, false), false)?;
    let high = code.binary(LShr, result, code.number(64, 32));
    code.define(predicate, code.integer(high, 1, false), false)
}

fn barrier(code: &mut Code, operands: &[Operand]) -> Result<()> {
    let void = Type::void();
    if code.has("cluster") {
        if code.has("wait") {
            code.intrinsic("barrier_cluster_wait", void, &[]);
        }
        // A cluster consists of one CTA, so arriving is only a fence.
        memory::fence(code);
        return Ok(());
    }
    if code.has("warp") {
        let [mask] = code.exactly(operands)?;
        let mask = code.operand(mask, Kind::U32)?;
        code.intrinsic("bar_warp_sync", void, &[mask]);
        return Ok(());
    }
    let words = |operands: &[Operand]| -> Result<Vec<Value>> {
        let words = operands.iter().map(|word| code.operand(word, Kind::U32));
        words.collect()
    };
    // The barrier's id and, optionally, the number of threads.
    let form = |words: &[Value]| match words.len() {
        1 => Ok("all"),
        2 => Ok("count"),
        _ => code.unknown(),
    };
    if code.has("red") {
        let [to, rest @ .., predicate] = operands else {
            return code.unknown();
        };
        let mut arguments = words(rest)?;
        let form = form(&arguments)?;
        arguments.push(code.operand(predicate, Kind::PREDICATE)?);
        let operation = match (code.has("popc"), code.has("and")) {
            (true, _) => "popc",
            (_, true) => "and",
            _ => "or",
        };
        let ty = Type::int(if operation == "popc" { 32 } else { 1 });
        let name = format!("barrier_cta_red_{operation}_{form}");
        return code.define(to, code.intrinsic(&name, ty, &arguments), false);
    }
    let operation = code.one_of(&["sync", "arrive"])?;
    let arguments = words(operands)?;
    let name = format!("barrier_cta_{operation}_{}", form(&arguments)?);
    code.intrinsic(&name, void, &arguments);
    Ok(())
}
