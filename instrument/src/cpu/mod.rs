//! The CPU backend: lowers the device IR, which it shares with the CUDA backend, to x86-64.

mod alignment;
mod arithmetic;
mod denormals;
mod intrinsics;
mod kernels;
mod loops;
mod matrices;
mod polls;
mod ptx;
mod registration;
mod shared;

pub use loops::waits_for_cta;

use crate::children;
use crate::ir::{
    Builder, FloatPredicate::OEQ, Linkage, Machine, Module, Opcode::*, Type, Value, space,
    traits::*,
};
use crate::semantics::wraps;
use anyhow::{Result, bail};
use std::mem::offset_of;
use std::path::Path;
use superstep_abi::cpu::SuperstepThread;
use superstep_trace::{ModuleTable, Probe};

/// Block of data about the running CUDA thread, filled in by the runtime (`runtime/cpu/device/thread.h`).
const THREAD: &str = "__superstep_thread";

/// Offsets of the coordinates, indexed by the first field of
/// [`Register::Coordinate`](intrinsics::Register::Coordinate).
const COORDINATES: [usize; 4] = [
    offset_of!(SuperstepThread, tid),
    offset_of!(SuperstepThread, ntid),
    offset_of!(SuperstepThread, ctaid),
    offset_of!(SuperstepThread, nctaid),
];

/// Turns a device module, traced or not, into a module for the CPU runtime. `libraries` are bitcode files to link in:
/// the implementations of intrinsics, and the probe's handler.
pub fn lower(
    module: &mut Module,
    table: &ModuleTable,
    libraries: &[&Path],
    cpu: &str,
) -> Result<()> {
    let machine = Machine::x86(cpu)?;
    polls::yield_before(module);
    let kernels = module.kernels().into_iter();
    let kernels: Vec<_> = kernels.map(|f| kernels::describe(module, f)).collect();
    module.set_target(&machine);
    drop_device_properties(module);
    rename_library_calls(module);
    children::lower(module);
    arithmetic::define(module);
    wraps::sign_extend(module, true);
    denormals::flush(module);
    order_zeros(module);
    alignment::mark(module);
    let defined = table.defined.as_ref();
    let logs = table.probe == Probe::Trace || defined.is_some_and(|p| p.spec.groups_lanes());
    let loops = (kernels.iter()).map(|kernel| loops::add(module, &machine, kernel, logs));
    let loops = loops.collect::<Result<Vec<_>>>()?;
    intrinsics::lower(module)?;
    alignment::resolve(module);
    shared::lower(module)?;
    registration::add(module, table, &kernels, &loops);
    make_local(module);
    for library in libraries {
        module.link("lowering to the CPU", library, |_| {})?;
    }
    make_local(module);
    drop_device_properties(module);
    allow_undefined_values(module);
    intrinsics::match_parameter_passing(module);
    module.run_passes("linking the CPU's library", "globaldce", &machine)?;
    let functions = module.functions().into_iter();
    let missing = functions.filter(|f| f.is_declaration() && !f.users().is_empty());
    let missing: Vec<String> = missing
        .filter_map(|f| {
            let name = f.name();
            let ptx = name.strip_prefix(intrinsics::PTX_PREFIX);
            let nvvm = (name.strip_prefix(intrinsics::PREFIX)).or(name.strip_prefix("llvm.nvvm."));
            let what = (ptx.map(|rest| format!("PTX {rest}")))
                .or_else(|| nvvm.map(|rest| format!("llvm.nvvm.{rest}")))?;
            match f.callers().next() {
                Some(call) => Some(format!("{what} ({})", call.location())),
                None => Some(what),
            }
        })
        .collect();
    if !missing.is_empty() {
        bail!(
            "the CPU backend lacks the GPU operation(s) {}; run this program with --backend cuda",
            missing.join(", ")
        );
    }
    Ok(())
}

fn drop_device_properties(module: &Module) {
    for function in module.functions() {
        if !function.is_intrinsic() {
            function.set_call_conventions(0);
            function.remove_string_attributes(|name| {
                name.starts_with("target-") || name.starts_with("nvvm.") || name == "tune-cpu"
            });
        }
        for call in function.calls() {
            if !call.get_called_fn_value().is_some_and(|f| f.is_intrinsic()) {
                call.set_call_convention(0);
            }
        }
    }
}

/// Makes `fmin` and `fmax` order -0 before +0, like PTX's `min` and `max`; LLVM does not specify the order. Equal
/// numbers can differ only in the sign of zero. (`llvm.minimumnum` has this order, but LLVM 22 may lose the number if
/// the other operand is NaN.)
fn order_zeros(module: &Module) {
    for function in module.functions() {
        let name = function.name();
        let operation = match name.split('.').nth(1) {
            Some("minnum") if function.is_intrinsic() => Or,
            Some("maxnum") if function.is_intrinsic() => And,
            _ => continue,
        };
        for call in function.callers() {
            let (ty, [a, b]) = (call.ty(), [call.operand(0), call.operand(1)]);
            let builder = Builder::before(call);
            let bits = builder.binary(operation, builder.bits_of(a), builder.bits_of(b));
            let if_equal = builder.with_bits(bits, ty);
            let otherwise = builder.repeat(call.instruction()).value();
            let are_equal = builder.compare_floats(OEQ, a, b);
            call.replace_uses_with(builder.select(are_equal, if_equal, otherwise));
            call.erase();
        }
    }
}

/// Allows undefined arguments and results. A lane may pass an undefined value to a shuffle that uses only the values of
/// other lanes; with `noundef`, LLVM would assume that such a lane never reaches the call.
fn allow_undefined_values(module: &Module) {
    for function in module.functions() {
        if !function.is_intrinsic() {
            function.remove_attribute("noundef");
        }
        for call in function.calls() {
            call.remove_attribute("noundef");
        }
    }
}

/// Renames the device-side library functions that the runtime provides, because the host has functions with the same
/// names.
fn rename_library_calls(module: &Module) {
    for (name, new_name) in [
        ("vprintf", "__superstep_vprintf"),
        ("__assertfail", "__superstep_assertfail"),
        ("__assert_fail", "__superstep_assertfail"),
        ("malloc", "__superstep_device_malloc"),
        ("free", "__superstep_device_free"),
    ] {
        if let Some(function) = module.function(name).filter(|f| f.is_declaration()) {
            function.rename(new_name);
        }
    }
}

/// Makes all definitions local, because the host program has symbols with the same names.
fn make_local(module: &Module) {
    let visible = [Linkage::External, Linkage::LinkOnceODR, Linkage::WeakODR];
    let functions = module.defined_functions().into_iter();
    for function in functions.filter(|f| visible.contains(&f.get_linkage())) {
        function.make_internal();
    }
    for variable in module.variables() {
        if !variable.is_declaration() && visible.contains(&variable.get_linkage()) {
            variable.make_internal();
        }
        // The host writes constants with cudaMemcpyToSymbol, so they must not be in read-only memory.
        if variable.ty().address_space() == space::CONSTANT || variable.is_externally_initialized()
        {
            variable.set_constant(false);
        }
    }
}

fn thread_field<'m>(
    module: &'m Module,
    builder: &Builder<'m>,
    ty: Type,
    offset_bytes: usize,
) -> Value<'m> {
    builder.load(ty, thread_address(module, builder, offset_bytes))
}

fn thread_address<'m>(module: &'m Module, builder: &Builder<'m>, offset_bytes: usize) -> Value<'m> {
    let thread = module.variable(THREAD).unwrap_or_else(|| {
        let ty = Type::int(8).array(size_of::<SuperstepThread>());
        let declared = module.add_variable(THREAD, ty);
        declared.set_thread_local(true);
        declared
    });
    builder.offset(thread.value(), offset_bytes as u64)
}
