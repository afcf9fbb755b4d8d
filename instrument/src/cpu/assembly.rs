//! Inline PTX on the CPU: the few pieces that libdevice and CUDA's headers contain.

use super::intrinsics::{PREFIX, PTX_PREFIX, replace};
use super::straight_line;
use crate::assembly::type_bits;
use crate::ir::{Builder, Call, Module, Opcode, Type};
use crate::operation::named_atomic_op;
use anyhow::{Result, bail};

/// Replaces one call of inline assembly.
pub fn lower<'m>(module: &'m Module, call: Call<'m>, template: &str) -> Result<()> {
    let text = template.split_whitespace().collect::<Vec<_>>().join(" ");
    let statement = text.trim_end_matches(';').trim();
    let (mnemonic, operands) = statement.split_once(' ').unwrap_or((statement, ""));
    if text.is_empty() && call.ty().is_void() {
        call.erase(); // a barrier for the compiler only
        return Ok(());
    }
    if straight_line::lower(module, call, template) {
        return Ok(());
    }
    if let Some(name) = support_function(mnemonic, operands) {
        replace(module, call, &name);
        return Ok(());
    }
    if let Some(rest) = mnemonic.strip_prefix("sub.") {
        // a - b as a + (-b): the library has the additions in every rounding mode.
        let rest = rest.replace("f32", "f").replace("f64", "d");
        let rest = rest.replace('.', "_");
        let builder = Builder::before(*call);
        let arguments = call.arguments();
        let ty = call.ty();
        let add = module.declare(&format!("{PREFIX}add_{rest}"), ty.function(&[ty, ty]));
        let negated = builder.negate(arguments[1]);
        let sum = builder.call(add, &[arguments[0], negated]);
        call.replace_all_uses_with(sum.value());
        call.erase();
        return Ok(());
    }
    if memory_access(module, call, mnemonic, operands)
        || atomic_access(module, call, mnemonic, operands)
    {
        return Ok(());
    }
    if reserved_shared(&text) {
        if call.users().is_empty() {
            call.erase(); // most groups never need theirs
            return Ok(());
        }
        replace(module, call, &format!("{PTX_PREFIX}reserved_shared"));
        return Ok(());
    }
    if is_plain(operands, call) {
        // Whether the library has it shows when it is linked; a missing one is an error that names it.
        let name = format!("{PTX_PREFIX}{}", mnemonic.replace('.', "_"));
        replace(module, call, &name);
        return Ok(());
    }
    bail!(
        "{}: the CPU backend does not know the inline PTX \"{text}\"; run this program with --backend cuda",
        call.location()
    )
}

/// Whether the operands are `$0, $1, …` in order: a result and what it is computed from.
fn is_plain(operands: &str, call: Call) -> bool {
    let count = call.arguments().len() + usize::from(!call.ty().is_void());
    let expected = (0..count).map(|i| format!("${i}"));
    !call.ty().is_struct() && operands.split(',').map(str::trim).eq(expected)
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
            let register = operands.strip_prefix("$0,")?.trim().strip_prefix('%')?;
            format!("read_ptx_sreg_{}", register.replace('.', "_"))
        }
        _ => return None,
    };
    Some(format!("{PREFIX}{name}"))
}

/// A single load or store, also of a vector, with a cache hint (`__ldcg`, `__stcs`): on the CPU a plain one. Bytes and half words
/// lie in wider registers.
fn memory_access<'m>(module: &'m Module, call: Call<'m>, mnemonic: &str, operands: &str) -> bool {
    let modifiers: Vec<&str> = mnemonic.split('.').collect();
    let Some(bits) = modifiers.last().and_then(|ty| type_bits(ty)) else {
        return false;
    };
    let signed = modifiers.last().is_some_and(|ty| ty.starts_with('s'));
    let arguments = call.arguments();
    let builder = Builder::before(*call);
    let operands = without_blanks(operands);
    // `$0`, or `{$0,$1}`.
    let registers = |first: usize, count: usize| {
        let names: Vec<String> = (first..first + count).map(|i| format!("${i}")).collect();
        match modifiers.iter().any(|word| ["v2", "v4"].contains(word)) {
            true => format!("{{{}}}", names.join(",")),
            false => names.join(","),
        }
    };
    let place = |address, index: usize| builder.offset(address, index as u64 * u64::from(bits / 8));
    let narrow = |register: Type| register.is_integer() && register.scalar_bits() > bits;
    if modifiers[0] == "ld" && arguments.len() == 1 {
        let types = match call.ty().is_struct() {
            true => call.ty().members(),
            false => vec![call.ty()],
        };
        if operands != format!("{},[${}]", registers(0, types.len()), types.len()) {
            return false;
        }
        if modifiers.contains(&"acquire") {
            // Whoever acquires waits for somebody, most often in a loop: let the other threads of the CTA run.
            let wait = module.declare("__superstep_yield", Type::void().function(&[]));
            builder.call(wait, &[]);
        }
        let address = builder.to_generic(arguments[0]);
        let element = |(index, register): (usize, Type)| {
            let place = place(address, index);
            if !narrow(register) {
                return builder.load(register, place);
            }
            let extend = if signed {
                Opcode::LLVMSExt
            } else {
                Opcode::LLVMZExt
            };
            builder.cast(extend, builder.load(Type::int(bits), place), register)
        };
        let mut loaded: Vec<_> = types.into_iter().enumerate().map(element).collect();
        let whole = match call.ty().is_struct() {
            true => (0..)
                .zip(loaded)
                .fold(call.ty().undef(), |whole, (index, value)| {
                    builder.insert(whole, value, index)
                }),
            false => loaded.remove(0),
        };
        call.replace_all_uses_with(whole);
    } else if modifiers[0] == "st"
        && arguments.len() > 1
        && operands == format!("[$0],{}", registers(1, arguments.len() - 1))
    {
        let address = builder.to_generic(arguments[0]);
        for (index, &register) in arguments[1..].iter().enumerate() {
            let value = match narrow(register.ty()) {
                true => builder.cast(Opcode::LLVMTrunc, register, Type::int(bits)),
                false => register,
            };
            builder.store(value, place(address, index));
        }
    } else {
        return false;
    }
    call.erase();
    true
}

/// A single atomic operation: a function of the support library, named after operation and type. The order and scope that
/// it asks for are met by all of them.
fn atomic_access<'m>(module: &'m Module, call: Call<'m>, mnemonic: &str, operands: &str) -> bool {
    let mut parts = mnemonic.split('.');
    let (base, modifiers) = (parts.next(), parts.collect::<Vec<_>>());
    let operands = without_blanks(operands);
    let expected = match base {
        Some("atom") => ["$0,[$1],$2", "$0,[$1],$2,$3"],
        Some("red") => ["[$0],$1", "[$0],$1,$2"],
        _ => return false,
    };
    let operation = (modifiers.iter()).find(|word| named_atomic_op(word).is_some());
    let (Some(operation), Some(ty)) = (operation, modifiers.last()) else {
        return false;
    };
    if !expected.contains(&operands.as_str()) || call.ty().is_struct() {
        return false;
    }
    let mut arguments = call.arguments();
    let builder = Builder::before(*call);
    arguments[0] = builder.to_generic(arguments[0]);
    // An operation without result takes a function with one.
    let result = if call.ty().is_void() {
        arguments[1].ty()
    } else {
        call.ty()
    };
    let types: Vec<_> = arguments.iter().map(|a| a.ty()).collect();
    let function = module.declare(
        &format!("{PTX_PREFIX}atom_{operation}_{ty}"),
        result.function(&types),
    );
    let old = builder.call(function, &arguments);
    if !call.ty().is_void() {
        call.replace_all_uses_with(old.value());
    }
    call.erase();
    true
}

/// Whether a statement asks for the shared memory that CUDA keeps for itself: cooperative groups find theirs this way.
fn reserved_shared(text: &str) -> bool {
    let asks = "mov.u32 start, %reserved_smem_offset_1; cvt.u64.u32 extended, start; cvta.shared.u64 $0, extended;";
    text.contains(asks)
}

fn without_blanks(operands: &str) -> String {
    operands.split_whitespace().collect()
}
