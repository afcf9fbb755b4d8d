//! Generated CUDA C++: accesses through structures, lambdas, function pointers, virtual calls, recursion and ternaries,
//! as compiled by Clang, must be traced as exactly as accesses in generated IR.
//!
//! The sources include no CUDA headers, so that Clang starts in milliseconds; many kernels share a file. Like the IR,
//! each file is compiled twice: once with calls to the oracle, and once to be traced.

mod statements;

use super::program;
use super::recipe::Recipe;
use super::scope::Mode;
use super::tool::compile;
use statements::Body;
use std::fmt::Write as _;
use std::path::Path;
use superstep_trace::Op;

const PRELUDE: &str = include_str!("prelude.cuh");

/// Everything that a program's functions can refer to.
pub struct Program {
    /// Index of the program, used in the prefix of all its names.
    pub number: usize,
    /// Whether addresses outside global memory may be converted to numbers or stored in memory.
    pub free: bool,
    /// Whether the program has function pointers and virtual calls.
    pub indirect: bool,
    /// Number of functions with the common signature.
    pub functions: usize,
    /// Number of functions that accept a structure by value.
    pub by_value: usize,
}

/// Writes a file with one kernel per program; program `n` has the kernel `p<n>_k0`.
pub fn text(programs: &[program::Program]) -> String {
    let operations = [
        ("LOAD", Op::Load),
        ("STORE", Op::Store),
        ("ATOMIC_ADD", Op::AtomicAdd),
        ("ATOMIC_SUB", Op::AtomicSub),
        ("ATOMIC_EXCH", Op::AtomicExch),
        ("ATOMIC_MIN", Op::AtomicMin),
        ("ATOMIC_MAX", Op::AtomicMax),
        ("ATOMIC_AND", Op::AtomicAnd),
        ("ATOMIC_OR", Op::AtomicOr),
        ("ATOMIC_XOR", Op::AtomicXor),
        ("ATOMIC_CAS", Op::AtomicCas),
        ("ATOMIC_INC", Op::AtomicInc),
    ];
    let mut text = String::new();
    for (name, op) in operations {
        writeln!(text, "enum {{ {name} = {} }};", op as u8).unwrap();
    }
    text += PRELUDE;
    for (number, (recipe, mode)) in programs.iter().enumerate() {
        text += &source(recipe, matches!(mode, Mode::Free | Mode::Smuggling), number);
    }
    text
}

fn source(recipe: &Recipe, free: bool, number: usize) -> String {
    let program = Program {
        number,
        free,
        indirect: recipe.memory[0] % 2 == 1,
        functions: recipe.functions.len(),
        by_value: recipe.by_value.len(),
    };
    let p = format!("p{number}");
    let mut text = format!(
        "__device__ alignas(16) int {p}_g0[32] = {{1, 2, 3}};\n\
         __device__ alignas(16) int {p}_g1[32];\n\
         __constant__ alignas(16) int {p}_c0[32] = {{9, 8}};\n\
         __device__ int *{p}_t0[4] = {{{p}_g0, {p}_g1, {p}_g0 + 16, {p}_g1 + 16}};\n\
         __constant__ int *const {p}_t4[4] = {{{p}_g1, {p}_g0, {p}_g1 + 16, {p}_g0 + 16}};\n"
    );
    let signature = "(int *a, int *b, int **t, u64 x, int depth)";
    for position in 0..program.functions {
        writeln!(text, "NOINLINE int *{p}_f{position}{signature};").unwrap();
    }
    for position in 0..program.by_value {
        writeln!(
            text,
            "NOINLINE int *{p}_v{position}(Pair s, int *a, u64 x, int depth);"
        )
        .unwrap();
    }
    if program.indirect {
        let list: Vec<String> = (0..4)
            .map(|i| format!("{p}_f{}", i % program.functions))
            .collect();
        writeln!(
            text,
            "__device__ Function {p}_functions1[4] = {{{}}};",
            list.join(", ")
        )
        .unwrap();
    }
    for (position, steps) in recipe.functions.iter().enumerate() {
        let body = Body::function(&program).write(steps, true);
        writeln!(
            text,
            "NOINLINE int *{p}_f{position}{signature} {{\n{body}}}"
        )
        .unwrap();
    }
    for (position, steps) in recipe.by_value.iter().enumerate() {
        let body = Body::by_value(&program).write(steps, true);
        writeln!(
            text,
            "NOINLINE int *{p}_v{position}(Pair s, int *a, u64 x, int depth) {{\n{body}}}"
        )
        .unwrap();
    }
    for (position, steps) in recipe.kernels.iter().enumerate() {
        let body = Body::kernel(&program).write(steps, false);
        writeln!(
            text,
            "extern \"C\" __global__ void {p}_k{position}(int *a, int *b, int *c, int **t, Pair s, u64 x) {{\n  constexpr int depth = 3;\n{body}}}"
        )
        .unwrap();
    }
    text
}

/// Compiles `source` to device IR in the same way as Superstep does.
pub fn device_ir(source: &Path, oracle: bool, output: &Path) -> Result<(), String> {
    let mut arguments: Vec<&str> = "-x cuda -nocudainc -nocudalib --cuda-feature=+ptx80 --cuda-device-only --cuda-gpu-arch=sm_90 \
                                    -std=c++17 -O2 -g1 -c -emit-llvm"
        .split_whitespace()
        .collect();
    if oracle {
        arguments.push("-DORACLE");
    }
    let files = [source, Path::new("-o"), output];
    let arguments = arguments.into_iter().map(AsRef::<std::ffi::OsStr>::as_ref);
    compile(arguments.chain(files.map(AsRef::as_ref)))
}
