//! Separate device compilation: programs whose kernels call device functions of other units, or use their variables.
//!
//! nvcc compiles such units with `-rdc=true` and links their binaries with `nvlink`. Here the units' device IR is linked
//! into one module before the analysis, which so sees every call with both ends, and one binary comes out. On the host's
//! side Clang's `-fgpu-rdc` gives kernels and variables names that are the same in every unit, and lists them in a section
//! that the linker joins; `linked.c` reads it when the program starts.

use crate::manifest::Flags;

pub(super) const FLAG: &str = "-fgpu-rdc";

/// Clang's and nvcc's flags for separate device compilation, of which Clang knows the first only.
const FLAGS: [&str; 5] = [
    FLAG,
    "-rdc=true",
    "--relocatable-device-code=true",
    "-dc",
    "--device-c",
];

/// Whether a flag asks for separate device compilation.
pub(super) fn asks(flag: &str) -> bool {
    FLAGS.contains(&flag)
}

/// Whether a program's flags ask for separate device compilation.
pub(super) fn asked(flags: &Flags) -> bool {
    flags.all.iter().chain(&flags.device).any(|flag| asks(flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_compilers_words_are_understood() {
        let flags = |flag: &str| Flags {
            device: vec!["-O3".into(), flag.into()],
            ..Flags::default()
        };
        assert!(FLAGS.iter().all(|flag| asked(&flags(flag))));
        assert!(!asked(&flags("-rdc=false")));
        assert!(!asked(&Flags::default()));
    }
}
