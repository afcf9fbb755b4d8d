//! Asynchronous copies, and the barriers in shared memory that count them. Copies run synchronously, so there is
//! nothing to wait for.

use super::{Code, memory};
use crate::ir::{Type, traits::*};
use crate::ptx::{Kind, Operand};
use anyhow::Result;

pub fn build(code: &mut Code) -> Result<()> {
    let instruction = code.instruction;
    let words: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
    let (is_bulk, words) = match (instruction.opcode.as_str(), &words[..]) {
        ("mbarrier", [operation, ..]) => return barrier(code, operation),
        ("cp", ["async", "bulk", words @ ..]) => (true, words),
        ("cp", ["async", words @ ..]) => (false, words),
        _ => return code.unknown(),
    };
    let unknown = ["tensor", "reduce", "multicast::cluster", "cp_mask"];
    match words {
        ["commit_group" | "wait_group" | "wait_all" | "prefetch", ..] => Ok(()),
        ["mbarrier", "arrive", rest @ ..] => {
            // Without `.noinc`, the arrival and its increment cancel out.
            if rest.contains(&"noinc") {
                let barrier = memory::pointer(code, &instruction.operands[0], true)?;
                let arguments = [barrier, code.number(32, 1)];
                code.support("mbarrier_arrive", Type::int(64), &arguments);
            }
            Ok(())
        }
        words if is_bulk && words.iter().any(|word| unknown.contains(word)) => code.unknown(),
        _ if is_bulk => bulk_copy(code),
        _ => copy(code),
    }
}

/// Builds `cp.async` to shared memory; bytes that are not read become zero.
fn copy(code: &mut Code) -> Result<()> {
    let ([to, from, size], rest) = code.first_operands()?;
    let to = memory::pointer(code, to, true)?;
    let from = memory::pointer(code, from, false)?;
    if let Operand::Integer(bytes @ (4 | 8 | 16)) = size {
        memory::check(code, &[to, from], *bytes);
    }
    let size = code.operand(size, Kind::U32)?;
    let read = match (rest, code.has("L2::cache_hint")) {
        ([read], false) | ([read, _], true) => code.operand(read, Kind::U32)?,
        _ => size,
    };
    code.access("copy", Type::void(), &[to, from, size, read]);
    Ok(())
}

/// Builds `cp.async.bulk`, which names the destination's space first.
fn bulk_copy(code: &mut Code) -> Result<()> {
    let spaces = &code.instruction.modifiers;
    let is_shared = |index: usize| (spaces.get(index)).is_some_and(|it| it.starts_with("shared"));
    let ([to, from, size], rest) = code.first_operands()?;
    let to = memory::pointer(code, to, is_shared(2))?;
    let from = memory::pointer(code, from, is_shared(3))?;
    memory::check(code, &[to, from], 16);
    let size = code.operand(size, Kind::U32)?;
    code.access("copy", Type::void(), &[to, from, size, size]);
    if let Some(barrier @ Operand::Address(..)) = rest.first() {
        let barrier = memory::pointer(code, barrier, true)?;
        code.support("mbarrier_complete_tx", Type::void(), &[barrier, size]);
    }
    Ok(())
}

fn barrier(code: &mut Code, operation: &str) -> Result<()> {
    let operands = &code.instruction.operands;
    let i64t = Type::int(64);
    if operation == "pending_count" {
        let [to, state] = code.exactly(operands)?;
        let state = code.operand(state, Kind::U64)?;
        let count = code.support("mbarrier_pending_count", Type::int(32), &[state]);
        return code.define(to, count, false);
    }
    let is_address = |o: &Operand| matches!(o, Operand::Address(..));
    let index = code.known(operands.iter().position(is_address))?;
    // Without a space, the address is generic.
    let barrier = memory::pointer(code, &operands[index], code.has("shared"))?;
    memory::check(code, &[barrier], 8);
    let count = match operands.get(index + 1) {
        Some(count) if !["test_wait", "try_wait"].contains(&operation) => {
            code.operand(count, Kind::U32)?
        }
        _ => code.number(32, 1),
    };
    let name = format!("mbarrier_{operation}");
    match operation {
        "inval" => {}
        "init" | "expect_tx" | "complete_tx" => {
            code.support(&name, Type::void(), &[barrier, count]);
        }
        "arrive" | "arrive_drop" => {
            let mut arrivals = count;
            if code.has("expect_tx") {
                code.support("mbarrier_expect_tx", Type::void(), &[barrier, count]);
                arrivals = code.number(32, 1);
            }
            let state = code.support(&name, i64t, &[barrier, arrivals]);
            if index > 0 {
                code.define(&operands[0], state, false)?;
            }
        }
        "test_wait" | "try_wait" => {
            code.require(index == 1)?;
            let state = code.known(operands.get(2))?;
            let (name, kind) = if code.has("parity") {
                ("mbarrier_test_parity", Kind::U32)
            } else {
                ("mbarrier_test", Kind::U64)
            };
            let state = code.operand(state, kind)?;
            let is_complete = code.support(name, Type::int(1), &[barrier, state]);
            code.define(&operands[0], is_complete, false)?;
        }
        _ => return code.unknown(),
    }
    Ok(())
}
