//! Collective operations of a warp or a CTA, and operations that end a thread.

use super::Code;
use crate::ir::{Opcode::*, Type, Value, traits::*};
use crate::ptx::{Class, Kind, Operand};
use anyhow::Result;

pub fn build(code: &mut Code) -> Result<()> {
    let word = Kind::U32;
    let instruction = code.instruction;
    match (instruction.opcode.as_str(), &instruction.operands[..]) {
        ("shfl", [to, _, _, _, rest @ ..]) => {
            let mode = code.one_of(&["up", "down", "bfly", "idx"])?;
            let mask = mask(code, rest.first())?;
            let mut arguments = code.values(&instruction.operands[1..4], word)?;
            arguments.push(mask);
            code.with_predicate(&format!("shfl_{mode}"), to, &arguments)
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
            let mode = code.one_of(&["all", "any"])?;
            code.with_predicate(&format!("match_{mode}"), to, &[value, mask])
        }
        ("redux", [to, _, _]) => {
            let operation = code.one_of(&["add", "min", "max", "and", "or", "xor"])?;
            let (_, kind) = code.kinds()?;
            code.require(kind.register_bits() == 32 && !kind.is_float())?;
            let unsigned = kind.class == Class::Unsigned && ["min", "max"].contains(&operation);
            let sign = if unsigned { "u" } else { "" };
            let name = format!("redux_sync_{sign}{operation}");
            let total = code.intrinsic(&name, Type::int(32), &code.inputs(word)?);
            code.define(to, total, false)
        }
        ("activemask", [to]) => {
            let mask = code.intrinsic("activemask", Type::int(32), &[]);
            code.define(to, mask, false)
        }
        ("elect", [to, _]) => code.with_predicate("elect", to, &code.inputs(word)?),
        ("bar" | "barrier", operands) => barrier(code, operands),
        ("nanosleep", [time]) => code.act("nanosleep", &[code.operand(time, word)?]),
        ("exit", []) => code.act("exit", &[]),
        ("trap", []) => {
            code.call_named("__superstep_trap", Type::void(), &[]);
            Ok(())
        }
        ("brkpt" | "pmevent" | "griddepcontrol" | "setmaxnreg", _) => Ok(()),
        _ => code.unknown(),
    }
}

/// Returns the mask of participating lanes; instructions without `.sync` have no mask and involve all lanes.
fn mask<'m>(code: &Code<'m, '_>, operand: Option<&Operand>) -> Result<Value<'m>> {
    match operand {
        Some(mask) => code.operand(mask, Kind::U32),
        None if !code.has("sync") => Ok(code.number(32, u64::MAX)),
        None => code.unknown(),
    }
}

impl<'m> Code<'m, '_> {
    /// Calls a function whose 64-bit result contains a 32-bit integer and, in its upper half, a predicate.
    fn with_predicate(&mut self, name: &str, to: &Operand, arguments: &[Value<'m>]) -> Result<()> {
        let result = self.support(name, Type::int(64), arguments);
        let (number, predicate) = match to {
            Operand::Pair(number, predicate) => (&**number, &**predicate),
            number => (number, &Operand::Sink),
        };
        self.define(number, self.integer(result, 32, false), false)?;
        let high = self.binary(LShr, result, self.number(64, 32));
        self.define(predicate, self.integer(high, 1, false), false)
    }
}

fn barrier(code: &mut Code, operands: &[Operand]) -> Result<()> {
    let word = Kind::U32;
    if code.has("cluster") {
        if code.has("wait") {
            code.act("barrier_cluster_wait", &[])?;
        }
        // A cluster consists of one CTA, so arriving is only a fence.
        return code.act("membar_sys", &[]);
    }
    if code.has("warp") {
        let [mask] = code.exactly(operands)?;
        return code.act("bar_warp_sync", &[code.operand(mask, word)?]);
    }
    // The operands are the barrier's ID and, optionally, the number of threads.
    let form = |words: &[Value]| match words.len() {
        1 => Ok("all"),
        2 => Ok("count"),
        _ => code.unknown(),
    };
    if code.has("red") {
        let [to, rest @ .., predicate] = operands else {
            return code.unknown();
        };
        let mut arguments = code.values(rest, word)?;
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
    let arguments = code.values(operands, word)?;
    let name = format!("barrier_cta_{operation}_{}", form(&arguments)?);
    code.act(&name, &arguments)
}
