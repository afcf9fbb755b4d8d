//! Parses inline PTX to find its accesses and to lower it for the CPU.

mod effects;
mod lexer;
pub mod memory;
mod parser;
mod scopes;
#[cfg(test)]
mod tests;
mod types;

pub use effects::Effect;
pub use parser::{Guard, Instruction, Operand, Register, Statement, Template};
pub use types::{Class, Kind};

/// Returns whether an instruction waits for other threads or depends on them. Includes acquire and relaxed loads, which
/// are usually part of a loop that waits.
pub fn waits(instruction: &Instruction) -> bool {
    match instruction.opcode.as_str() {
        "bar" | "barrier" | "shfl" | "vote" | "match" | "redux" | "activemask" | "elect"
        | "nanosleep" | "mma" | "wmma" | "ldmatrix" | "stmatrix" => true,
        "mbarrier" => instruction.has_any(&["test_wait", "try_wait"]),
        "ld" => instruction.has_any(&["acquire", "relaxed"]),
        _ => false,
    }
}

pub fn is_strong(instruction: &Instruction) -> bool {
    instruction.has_any(&["volatile", "relaxed", "acquire", "release", "mmio", "cv"])
}

/// Returns whether a template only computes, loads and stores, and depends neither on its thread nor on other threads.
pub fn only_computes(template: &str) -> bool {
    let depends_on_thread = |operand: &Operand| matches!(operand, Operand::Special(_));
    let computes = |instruction: &Instruction| {
        let excluded = [
            "atom", "red", "membar", "fence", "cp", "mbarrier", "trap", "exit", "isspacep", "brkpt",
        ];
        !(waits(instruction)
            || excluded.contains(&instruction.opcode.as_str())
            || is_strong(instruction)
            || instruction.operands.iter().any(depends_on_thread))
    };
    Template::parse(template).is_ok_and(|template| template.instructions().all(computes))
}

/// Returns whether a template's first result is a generic address in shared memory.
pub fn returns_shared_address(template: &str) -> bool {
    let is_conversion = |instruction: &Instruction| {
        instruction.opcode == "cvta"
            && instruction.has("shared")
            && !instruction.has("to")
            && instruction.operands.first() == Some(&Operand::Register(Register::Argument(0)))
    };
    Template::parse(template).is_ok_and(|template| template.instructions().any(is_conversion))
}
