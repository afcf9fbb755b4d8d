//! The CPU backend's half: the same device IR, made into code for an x86-64 processor.

mod assembly;
mod carry;
mod intrinsics;
mod kernels;
mod loops;
mod registration;
mod shared;
mod shifts;
mod straight_line;

use crate::ir::{Builder, Linkage, Machine, Module, Opcode, Type, Value};
use anyhow::{Result, bail};
use std::path::Path;
use superstep_trace::{ModuleTable, Probe};

/// The thread block that the runtime fills for each CUDA thread (`runtime/cpu/device/thread.h`).
const THREAD: &str = "__superstep_thread";

/// Offsets into the thread block, in bytes (checked against `thread.h` by a test of the CPU runtime).
mod offset {
    pub const TID: u64 = 0;
    pub const NTID: u64 = 12;
    pub const CTAID: u64 = 24;
    pub const NCTAID: u64 = 36;
    pub const LANE: u64 = 48;
    pub const WARP: u64 = 52;
    pub const THREAD: u64 = 60;
    pub const LOG_CURSOR: u64 = 64;
    pub const DYNAMIC_SHARED: u64 = 88;
    pub const LOG_STARTS: u64 = 104;
    /// Of the whole block.
    pub const END: u64 = 112;
}

/// Turns a (traced or untraced) device module into one for the CPU runtime. `libraries` are bitcode files to link in:
/// the intrinsics' implementations and the probe's handler.
pub fn lower(module: &Module, table: &ModuleTable, libraries: &[&Path], cpu: &str) -> Result<()> {
    let machine = Machine::x86(cpu)?;
    let kernels = kernels::describe(module);
    module.set_target(&machine);
    drop_device_properties(module);
    rename_library_calls(module);
    shifts::bound(module);
    let defined = table.defined.as_ref();
    let logs = table.probe == Probe::Trace || defined.is_some_and(|p| p.spec.groups_lanes());
    let loops = loops::add(module, &machine, &kernels, logs)?;
    intrinsics::lower(module)?;
    shared::lower(module)?;
    let thunks = kernels::add_thunks(module, &kernels);
    registration::add(module, table, &kernels, &thunks, &loops);
    make_local(module);
    for library in libraries {
        module.link(module.read_other(library)?)?;
    }
    make_local(module);
    drop_device_properties(module);
    intrinsics::match_parameter_passing(module);
    module.run_passes("globaldce", &machine)?;
    let missing: Vec<String> = module
        .functions()
        .into_iter()
        .filter(|f| f.is_declaration() && !f.value().users().is_empty())
        .map(|f| f.name())
        .filter(|name| {
            [intrinsics::PREFIX, intrinsics::PTX_PREFIX, "llvm.nvvm."]
                .iter()
                .any(|p| name.starts_with(p))
        })
        .map(|name| name.replacen(intrinsics::PREFIX, "llvm.nvvm.", 1))
        .map(|name| name.replacen(intrinsics::PTX_PREFIX, "PTX ", 1))
        .collect();
    if !missing.is_empty() {
        bail!(
            "the CPU backend lacks the GPU operation(s) {}; run this program with --backend cuda",
            missing.join(", ")
        );
    }
    module.verify("lowering to the CPU")?;
    Ok(())
}

/// Calling conventions and attributes that only mean something to a GPU.
fn drop_device_properties(module: &Module) {
    for function in module.functions() {
        if !function.is_intrinsic() {
            function.set_convention(0);
            for name in function.string_attributes() {
                if name.starts_with("target-") || name.starts_with("nvvm.") || name == "tune-cpu" {
                    function.remove_string_attribute(&name);
                }
            }
        }
        for call in function
            .instructions()
            .into_iter()
            .filter(|i| i.opcode() == Some(Opcode::LLVMCall))
        {
            if !call
                .callee()
                .as_function()
                .is_some_and(|f| f.is_intrinsic())
            {
                call.set_call_convention(0);
            }
        }
    }
}

/// Device-side library functions that the runtime provides under names of its own, so that they cannot be mistaken for
/// the host's.
fn rename_library_calls(module: &Module) {
    for (name, ours) in [
        ("vprintf", "__superstep_vprintf"),
        ("__assertfail", "__superstep_assertfail"),
        ("__assert_fail", "__superstep_assertfail"),
        ("malloc", "__superstep_device_malloc"),
        ("free", "__superstep_device_free"),
    ] {
        if let Some(function) = module.function(name).filter(|f| f.is_declaration()) {
            function.value().set_name(ours);
        }
    }
}

/// Everything that is defined here stays here: the host program has symbols of the same names.
fn make_local(module: &Module) {
    let visible = |value: Value| {
        matches!(
            module.linkage(value),
            Linkage::LLVMExternalLinkage
                | Linkage::LLVMLinkOnceODRLinkage
                | Linkage::LLVMWeakODRLinkage
        )
    };
    for function in module
        .defined_functions()
        .into_iter()
        .filter(|f| visible(f.value()))
    {
        module.set_linkage(function.value(), Linkage::LLVMInternalLinkage);
    }
    for global in module.globals() {
        if !global.is_declaration() && visible(global) {
            module.set_linkage(global, Linkage::LLVMInternalLinkage);
        }
        // The host writes constants with cudaMemcpyToSymbol: they may not lie in read-only memory.
        if global.ty().address_space() == 4 {
            global.set_constant(false);
        }
    }
}

/// Loads a field of the thread block.
fn thread_field(module: &Module, builder: &Builder, ty: Type, offset_bytes: u64) -> Value {
    builder.load(ty, thread_address(module, builder, offset_bytes))
}

/// Address of a field of the thread block.
fn thread_address(module: &Module, builder: &Builder, offset_bytes: u64) -> Value {
    let thread = module.global(THREAD).unwrap_or_else(|| {
        let declared = module.add_global(THREAD, module.int(8).array(offset::END), 0);
        declared.set_thread_local();
        declared
    });
    builder.offset(module, thread, offset_bytes)
}
