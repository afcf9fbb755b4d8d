//! Which part of the lowering an instruction belongs to.

use super::{Code, barriers, compare, convert, float, integer, matrix, memory, moves, video, warp};
use crate::ptx::Instruction;
use anyhow::Result;

pub fn build<'t>(code: &mut Code<'_, 't>, instruction: &'t Instruction) -> Result<()> {
    let is_float = instruction
        .kinds()
        .last()
        .is_some_and(|kind| kind.is_float());
    match instruction.opcode.as_str() {
        "mov" | "selp" | "slct" | "cvta" | "isspacep" | "mapa" | "getctarank" => {
            moves::build(code, instruction)
        }
        "set" | "setp" | "testp" => compare::build(code, instruction),
        "cvt" => convert::build(code, instruction),
        "ld" | "ldu" | "st" | "atom" | "red" | "prefetch" | "prefetchu" | "discard"
        | "applypriority" | "createpolicy" | "membar" | "fence" => memory::build(code, instruction),
        "cp" | "mbarrier" => barriers::build(code, instruction),
        "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" | "bar" | "barrier"
        | "nanosleep" | "exit" | "trap" | "brkpt" | "pmevent" | "griddepcontrol" | "setmaxnreg" => {
            warp::build(code, instruction)
        }
        "mma" | "wmma" | "ldmatrix" | "stmatrix" => matrix::build(code, instruction),
        name if name.starts_with('v') => video::build(code, instruction),
        "fma" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" | "copysign" => {
            float::build(code, instruction)
        }
        _ if is_float => float::build(code, instruction),
        _ => integer::build(code, instruction),
    }
}
