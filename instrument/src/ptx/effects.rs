//! Side effects of inline PTX.

use super::{Instruction, Template, is_strong};

/// Effect of an instruction; later variants restrict a compiler more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// The instruction only computes its results from its operands.
    None,
    /// The instruction reads memory that may change.
    Reads,
    /// The instruction writes memory, or has another effect.
    Acts,
}

impl Effect {
    /// Returns the effect of a template. A template that cannot be parsed may do anything.
    pub fn of(template: &str) -> Self {
        let parsed = Template::parse(template);
        parsed.map_or(Effect::Acts, |template| {
            let effects = template.instructions().map(effect);
            effects.max().unwrap_or(Effect::None)
        })
    }
}

fn effect(instruction: &Instruction) -> Effect {
    let first = instruction.modifiers.first().map(String::as_str);
    let opcode = instruction.opcode.as_str();
    // `vadd2` and `vadd4` are `vadd` on packed integers.
    let base = match opcode.strip_prefix('v') {
        Some(_) => opcode.trim_end_matches(['2', '4']),
        None => opcode,
    };
    match (base, first) {
        ("ld", _) if is_strong(instruction) => Effect::Acts,
        ("ld", _) if instruction.has_any(&["nc", "const", "param"]) => Effect::None,
        ("ld" | "ldu" | "ldmatrix" | "suld", _) | ("wmma", Some("load")) => Effect::Reads,
        ("wmma", Some("mma"))
        | ("mbarrier", Some("pending_count"))
        | ("clusterlaunchcontrol", Some("query_cancel")) => Effect::None,
        // As with nvcc, votes and texture reads only compute: a kernel must not change a texture while reading it.
        (
            "abs" | "activemask" | "add" | "addc" | "and" | "bfe" | "bfi" | "bfind" | "bmsk"
            | "bra" | "brev" | "clz" | "cnot" | "copysign" | "cos" | "createpolicy" | "cvt"
            | "cvta" | "div" | "dp2a" | "dp4a" | "elect" | "ex2" | "fma" | "fns" | "getctarank"
            | "isspacep" | "istypep" | "lg2" | "lop3" | "mad" | "mad24" | "madc" | "mapa" | "match"
            | "max" | "min" | "mma" | "mov" | "mul" | "mul24" | "neg" | "not" | "or" | "popc"
            | "prmt" | "rcp" | "redux" | "rem" | "rsqrt" | "sad" | "selp" | "set" | "setp" | "shf"
            | "shfl" | "shl" | "shr" | "sin" | "slct" | "sqrt" | "sub" | "subc" | "suq" | "szext"
            | "tanh" | "testp" | "tex" | "tld4" | "txq" | "vabsdiff" | "vadd" | "vavrg" | "vmad"
            | "vmax" | "vmin" | "vote" | "vset" | "vshl" | "vshr" | "vsub" | "xor",
            _,
        ) => Effect::None,
        _ => Effect::Acts,
    }
}

#[cfg(test)]
mod tests;
