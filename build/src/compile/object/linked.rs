//! Separate device compilation: programs with kernels that call other units' device functions or use their variables.
//!
//! nvcc compiles these units with `-rdc=true` and links their binaries with `nvlink`. Superstep links their device IR
//! into one module before the analysis, which therefore sees both the caller and the callee of every call; the module
//! becomes one binary. On the host side, Clang's `-fgpu-rdc` gives kernels and variables the same names in every unit
//! and lists them in a section; the linker concatenates these sections, and `linked.c` reads them at program start.

use crate::manifest::Flags;

pub(crate) const FLAG: &str = "-fgpu-rdc";

/// Clang's and nvcc's flags for separate device compilation. Clang accepts only the first.
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

#[cfg(test)]
mod tests;
