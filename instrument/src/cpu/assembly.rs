//! Inline PTX on the CPU: the few pieces that libdevice and CUDA's headers contain.

use super::intrinsics::{PREFIX, replace};
use crate::ir::{Builder, Module, Opcode, Value};
use anyhow::{Result, bail};

/// Replaces one call of inline assembly.
pub fn lower(module: &Module, call: Value, template: &str) -> Result<()> {
    let text = template.split_whitespace().collect::<Vec<_>>().join(" ");
    let statement = text.trim_end_matches(';').trim();
    let (mnemonic, operands) = statement.split_once(' ').unwrap_or((statement, ""));
    if text.is_empty() && call.ty().is_void() {
        call.erase(); // a barrier for the compiler only
        return Ok(());
    }
    if statement.starts_with("{ mad.lo.cc.u32 $0, $2, $3, $4; madc.hi.u32 $1, $2, $3, 0;") {
        multiply_add_wide(module, call);
        return Ok(());
    }
    if let Some(name) = support_function(mnemonic, operands) {
        replace(module, call, &name);
        return Ok(());
    }
    if let Some(rest) = mnemonic.strip_prefix("sub.") {
        // a - b as a + (-b): the library has the additions in every rounding mode.
        let rest = rest
            .replace("f32", "f")
            .replace("f64", "d")
            .replace('.', "_");
        let builder = Builder::before(module, call);
        let arguments = call.arguments();
        let ty = call.ty();
        let add = module.declare(
            &format!("{PREFIX}add_{rest}"),
            ty.function(&[ty, ty], false),
        );
        let negated = builder.negate(arguments[1]);
        call.replace_all_uses_with(builder.call(add.ty(), add.value(), &[arguments[0], negated]));
        call.erase();
        return Ok(());
    }
    if memory_access(module, call, mnemonic, operands) {
        return Ok(());
    }
    bail!(
        "{}: the CPU backend does not know the inline PTX \"{text}\"; run this program with --backend cuda",
        call.location()
    )
}

/// The support library's function for a statement with plain operands.
fn support_function(mnemonic: &str, operands: &str) -> Option<String> {
    let name = match mnemonic {
        "rcp.approx.ftz.f32" => "rcp_approx_ftz_f".to_owned(),
        "rcp.approx.ftz.f64" => "rcp_approx_ftz_d".to_owned(),
        "rsqrt.approx.ftz.f64" => "rsqrt_approx_ftz_d".to_owned(),
        "membar.gl" | "membar.cta" | "membar.sys" => mnemonic.replace('.', "_"),
        "bfind.shiftamt.u32" => "bfind_shiftamt_u32".to_owned(),
        "mov.u32" | "mov.u64" | "mov.b32" | "mov.b64" => {
            format!(
                "read_ptx_sreg_{}",
                operands
                    .strip_prefix("$0,")?
                    .trim()
                    .strip_prefix('%')?
                    .replace('.', "_")
            )
        }
        _ => return None,
    };
    Some(format!("{PREFIX}{name}"))
}

/// `{low, high} = a * b + (c, 0)`, the step of libdevice's argument reduction for large angles.
fn multiply_add_wide(module: &Module, call: Value) {
    let builder = Builder::before(module, call);
    let (i32t, i64t) = (module.int(32), module.int(64));
    let wide: Vec<Value> = call
        .arguments()
        .into_iter()
        .map(|a| builder.cast(Opcode::LLVMZExt, a, i64t))
        .collect();
    let product = builder.binary(Opcode::LLVMMul, wide[0], wide[1]);
    let sum = builder.binary(Opcode::LLVMAdd, product, wide[2]);
    let low = builder.cast(Opcode::LLVMTrunc, sum, i32t);
    let shifted = builder.binary(Opcode::LLVMLShr, sum, i64t.constant(32));
    let high = builder.cast(Opcode::LLVMTrunc, shifted, i32t);
    let pair = builder.insert(call.ty().undef(), low, 0);
    call.replace_all_uses_with(builder.insert(pair, high, 1));
    call.erase();
}

/// A single load or store with a cache hint (`__ldcg`, `__stcs`): on the CPU a plain one.
fn memory_access(module: &Module, call: Value, mnemonic: &str, operands: &str) -> bool {
    let arguments = call.arguments();
    let builder = Builder::before(module, call);
    let pointer = |value: Value| {
        if value.ty().is_pointer() {
            value
        } else {
            builder.cast(Opcode::LLVMIntToPtr, value, module.pointer(0))
        }
    };
    if mnemonic.starts_with("ld.")
        && operands == "$0, [$1]"
        && arguments.len() == 1
        && !call.ty().is_struct()
    {
        let loaded = builder.load(call.ty(), pointer(arguments[0]));
        call.replace_all_uses_with(loaded);
    } else if mnemonic.starts_with("st.") && operands == "[$0], $1" && arguments.len() == 2 {
        builder.store(arguments[1], pointer(arguments[0]));
    } else {
        return false;
    }
    call.erase();
    true
}
