//! Kernel properties that the CPU runtime needs, and the thunk that calls a kernel.

use super::polls::YIELD;
use crate::ir::{Builder, Function, Instruction, Module, Opcode, Type, Value, space, traits::*};
use crate::prepare::CLUSTER_DIMENSIONS;
use crate::ptx::{self, Template};
use crate::reach::reach;

pub struct CpuKernel {
    pub name: String,
    /// Each parameter's size, and its offset in the argument buffer for a launch from the device.
    pub parameters_bytes: Vec<[u64; 2]>,
    /// Whether its CTAs wait at a grid barrier (`cooperative_groups`' `grid.sync()`).
    pub waits_for_grid: bool,
    pub in_clusters: bool,
    /// Whether loops over the threads can replace fibers: threads wait only for the whole CTA, only in the kernel
    /// itself, and exit only by returning from the kernel.
    pub can_loop: bool,
    pub static_shared_bytes: u64,
    pub max_threads: Option<u64>,
}

impl CpuKernel {
    pub fn function<'m>(&self, module: &'m Module) -> Function<'m> {
        let function = module.function(&self.name);
        function.expect("kernels keep their names until the module is written")
    }
}

/// Prefixes, without `llvm.nvvm.`, of intrinsics that wait for other threads or depend on them.
const WAITING: &str =
    "bar shfl. vote. match. redux. activemask nanosleep mbarrier cp.async.mbarrier elect wmma.";

fn waits(name: &str) -> bool {
    let intrinsic = name.strip_prefix("llvm.nvvm.");
    name.starts_with(YIELD)
        || intrinsic.is_some_and(|name| WAITING.split(' ').any(|start| name.starts_with(start)))
}

pub fn describe<'m>(module: &'m Module, kernel: Function<'m>) -> CpuKernel {
    let (mut can_loop, mut waits_for_grid) = (true, false);
    let reached = reach([kernel], |function| {
        let mut callees = Vec::new();
        for call in function.calls() {
            match call.get_called_fn_value() {
                Some(callee) if callee.is_declaration() => {
                    let name = callee.name();
                    waits_for_grid |= name.contains("envreg");
                    can_loop &=
                        !waits(&name) || function == kernel && super::loops::is_barrier(call);
                    can_loop &= name != "llvm.nvvm.exit";
                }
                Some(callee) => callees.push(callee),
                None => {
                    // An indirect call may reach any function, and PTX that cannot be parsed may do anything.
                    let template = call.callee().inline_assembly().map(|(text, _)| text);
                    let parsed = template.and_then(|text| Template::parse(&text).ok());
                    let has = |property: fn(&ptx::Instruction) -> bool| {
                        let parsed = parsed.as_ref();
                        parsed.is_none_or(|t| t.instructions().any(property))
                    };
                    waits_for_grid |= parsed.as_ref().is_some_and(|t| t.reads_special("%envreg"));
                    can_loop &=
                        !has(ptx::waits) && !has(|instruction| instruction.opcode == "exit");
                }
            }
        }
        callees
    });
    let variables = module.variables().into_iter();
    let is_used = |user: &Instruction| reached.contains(&user.parent_function());
    let static_shared_bytes = variables
        .filter(|v| v.ty().address_space() == space::SHARED && !v.is_declaration())
        .filter(|v| v.users_in_code().iter().any(is_used))
        .map(|v| module.allocated_size_bytes(v.value_type()))
        .sum();
    CpuKernel {
        name: kernel.name(),
        parameters_bytes: parameters(module, kernel),
        waits_for_grid,
        in_clusters: (kernel.text_attribute(CLUSTER_DIMENSIONS))
            .is_some_and(|dimensions| dimensions.split(',').any(|n| n != "1")),
        can_loop,
        static_shared_bytes,
        max_threads: max_threads(kernel),
    }
}

fn max_threads(kernel: Function) -> Option<u64> {
    let extents = kernel.text_attribute("nvvm.maxntid")?;
    let extents = extents.split(',').map(|it| it.trim().parse::<u64>().ok());
    extents.product()
}

fn parameters(module: &Module, kernel: Function) -> Vec<[u64; 2]> {
    let mut end = 0u64;
    let parameter = |(index, parameter): (u32, Value)| {
        let by_value = kernel.by_value_type(index);
        let ty = by_value.unwrap_or(parameter.ty());
        let promised = by_value.and_then(|_| kernel.promised_alignment_bytes(index));
        let alignment = promised.unwrap_or_else(|| module.alignment_bytes(ty));
        let bytes = module.allocated_size_bytes(ty);
        let offset_bytes = end.next_multiple_of(alignment.max(1));
        end = offset_bytes + bytes;
        [bytes, offset_bytes]
    };
    (0..).zip(kernel.parameters()).map(parameter).collect()
}

/// Adds `void thunk(void **args)`, which calls a kernel with arguments in the form that `cudaLaunchKernel` accepts.
pub fn add_thunk<'m>(module: &'m Module, described: &CpuKernel) -> Function<'m> {
    let kernel = described.function(module);
    let name = format!("superstep.thunk.{}", described.name);
    let thunk = module.add_function(&name, Type::void().function(&[Type::pointer(0)]));
    thunk.make_internal();
    let builder = Builder::at_end(thunk.append_block("entry"));
    let list = thunk.parameters()[0];
    let arguments = load_arguments(&builder, kernel, list);
    builder.call(kernel, &arguments).pass_as(kernel);
    builder.return_void();
    thunk
}

/// Loads the arguments that `list`, a `void **`, points to. For a by-value argument, returns its address.
pub fn load_arguments<'m>(
    builder: &Builder<'m>,
    kernel: Function<'m>,
    list: Value<'m>,
) -> Vec<Value<'m>> {
    let load = |(index, parameter): (u32, Value<'m>)| {
        let slot = builder.offset(list, 8 * u64::from(index));
        let address = builder.load(Type::pointer(0), slot);
        let ty = parameter.ty();
        if kernel.is_by_value(index) {
            address
        } else if ty == Type::int(1) {
            let byte = builder.load(Type::int(8), address);
            builder.cast(Opcode::Trunc, byte, ty)
        } else {
            builder.load(ty, address)
        }
    };
    (0..).zip(kernel.parameters()).map(load).collect()
}
