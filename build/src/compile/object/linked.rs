//! Separate device compilation: programs with kernels that call other units' device functions or use their variables.
//!
//! nvcc compiles these units with `-rdc=true` and links their binaries with `nvlink`. Superstep links their device IR
//! into one module before the analysis, which therefore sees both the caller and the callee of every call; the module
//! becomes one binary. On the host side, Clang's `-fgpu-rdc` gives kernels and variables the same names in every unit
//! and lists them in a section; the linker concatenates these sections, and `linked.c` reads them at program start.

use std::collections::BTreeSet;

use crate::manifest::Flags;

pub(crate) const FLAG: &str = "-fgpu-rdc";

/// Clang's and nvcc's flags for separate device compilation. Clang has only the first.
const FLAGS: [&str; 5] = [
    FLAG,
    "-rdc=true",
    "--relocatable-device-code=true",
    "-dc",
    "--device-c",
];

pub(crate) fn is_flag(flag: &str) -> bool {
    FLAGS.contains(&flag)
}

pub(crate) fn is_requested(flags: &Flags) -> bool {
    (flags.all.iter().chain(&flags.device)).any(|flag| is_flag(flag))
}

/// Returns a header for a linked unit. It adds an entry that refers to `symbol` in front of the unit's own entries.
pub(crate) fn mark(symbol: &str) -> String {
    let lines = [
        ".pushsection llvm_offload_entries,\\\"aw\\\",@progbits",
        ".p2align 3",
        // Reserved, version, kind (`linked.c`), flags, address.
        ".quad 0",
        ".short 1, 0x5353",
        ".long 0",
        &format!(".hidden {symbol}"),
        &format!(".quad {symbol}"),
        ".quad 0, 0, 0, 0",
        ".popsection",
    ];
    assembly(&lines)
}

pub(crate) fn definitions(symbols: impl Iterator<Item = String>) -> String {
    let symbols: BTreeSet<String> = symbols.collect();
    let define = |name: &String| format!(".globl {name}\\n.hidden {name}\\n{name}: .byte 0");
    let each: Vec<String> = symbols.iter().map(define).collect();
    let lines = [
        ".pushsection .rodata",
        "superstep_units:",
        &each.join("\\n"),
        "superstep_units_end:",
        ".popsection",
    ];
    assembly(&lines)
}

fn assembly(lines: &[&str]) -> String {
    format!("__asm__(\"{}\");\n", lines.join("\\n"))
}

#[cfg(test)]
mod tests;
