//! Single-precision divisions that nvcc's `-prec-div=false` or `-use_fast_math` allows to be inexact. Clang has neither
//! option: the build passes `-mrecip` instead, and the value of this option becomes an attribute of each function.

use crate::ir::{Builder, Instruction, Module, Opcode, Type, traits::*};

/// Clang's attribute for `-mrecip`, and its values for divisions.
const ATTRIBUTE: &str = "reciprocal-estimates";
const FULL: &str = "divf";
const FAST: &str = "divf:0";

/// Replaces the divisions with PTX's inexact divisions. They stay exact on a CPU, because NVIDIA does not document how
/// a GPU rounds inexact divisions.
pub fn lower(module: &Module, for_gpu: bool) {
    for function in module.defined_functions() {
        let value = function.text_attribute(ATTRIBUTE).unwrap_or_default();
        let mut last_first = value.rsplit(',');
        let division = last_first.find(|part| [FULL, FAST].contains(part));
        function.remove_string_attributes(|name| name == ATTRIBUTE);
        if let Some(division) = division.filter(|_| for_gpu) {
            let flushes = function.flushes_denormals();
            (function.instructions().into_iter())
                .filter(|i| i.get_opcode() == Opcode::FDiv && i.ty() == Type::float())
                .for_each(|fdiv| lower_division(module, fdiv, division, flushes));
        }
    }
}

fn lower_division<'m>(module: &'m Module, fdiv: Instruction<'m>, division: &str, flushes: bool) {
    let (dividend, divisor) = (fdiv.operand(0), fdiv.operand(1));
    let builder = Builder::before(fdiv);
    let result = if flushes && dividend.constant_number() == Some(1.0) {
        // This single instruction is equivalent to either division.
        let reciprocal = module.intrinsic("llvm.nvvm.rcp.approx.ftz.f", &[]);
        builder.call(reciprocal, &[divisor])
    } else {
        let name = match (division, flushes) {
            (FULL, false) => "llvm.nvvm.div.full",
            (FULL, true) => "llvm.nvvm.div.full.ftz",
            (_, false) => "llvm.nvvm.div.approx.f",
            (_, true) => "llvm.nvvm.div.approx.ftz.f",
        };
        let divide = module.intrinsic(name, &[]);
        builder.call(divide, &[dividend, divisor])
    };
    fdiv.replace_with(result.value());
}
