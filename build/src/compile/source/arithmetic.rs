//! Differences between nvcc and Clang in device arithmetic.

use crate::manifest::Flags;

/// nvcc's `-prec-sqrt=false`, which Clang lacks. By default, single-precision square roots are rounded correctly; with
/// this flag, libdevice approximates them.
pub(crate) const INEXACT_ROOTS: &str = "-mllvm=-nvvm-reflect-add=__CUDA_PREC_SQRT=0";

pub(crate) fn is_set(flags: &Flags, name: &str) -> bool {
    let mut flags = flags.all.iter().chain(&flags.device);
    flags.any(|flag| flag == name)
}

/// nvcc's `-prec-div=false`, without and with `-use_fast_math`. Clang stores the value in a function attribute, which
/// the instrumenter reads (`instrument/src/semantics/approximate.rs`).
pub(crate) const FULL_DIVISIONS: &str = "-mrecip=divf";
pub(crate) const FAST_DIVISIONS: &str = "-mrecip=divf:0";

pub(crate) fn division_flag(flags: &Flags) -> Option<&'static str> {
    let mut flags = flags.all.iter().chain(&flags.device).rev();
    flags.find_map(|flag| match flag.as_str() {
        FAST_DIVISIONS => Some("-nvptx-prec-divf32=0"),
        FULL_DIVISIONS => Some("-nvptx-prec-divf32=1"),
        _ => None,
    })
}

pub(crate) const FLUSH: &str = "-fgpu-flush-denormals-to-zero";
pub(crate) const FAST_FUNCTIONS: &str = "-fgpu-approx-transcendentals";

/// Clang's headers with overloads of `pow` for a float or double and an integer. nvcc converts both to double.
pub(crate) const POWER_HEADERS: [&str; 2] = [
    "__clang_cuda_cmath.h",
    "__clang_cuda_math_forward_declares.h",
];

pub(crate) fn without_integer_powers(text: &str) -> String {
    let functions = [
        "pow(float __base, int ",
        "pow(double __base, int ",
        "pow(float, int)",
        "pow(double, int)",
    ];
    functions.iter().fold(text.to_owned(), |text, function| {
        text.replace(&format!(" {function}"), &format!(" superstep_{function}"))
    })
}

/// Clang's header with the functions that `-use_fast_math` replaces.
pub(crate) const MATH_HEADER: &str = "__clang_cuda_math.h";

pub(crate) fn with_fast_functions(text: &str) -> String {
    let functions = ["expf", "exp10f", "log10f", "powf", "tanf"];
    functions.iter().fold(text.to_owned(), |text, name| {
        let fast = format!("return __FAST_OR_SLOW(__nv_fast_{name}, __nv_{name})(");
        text.replace(&format!("return __nv_{name}("), &fast)
    })
}
