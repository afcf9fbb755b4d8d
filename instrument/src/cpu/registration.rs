//! Adds the constructor that registers a device object with the CPU runtime.

use super::kernels::{CpuKernel, add_thunk};
use super::loops::Loops;
use crate::defined::GROUP;
use crate::globals::device_variables;
use crate::ir::{Builder, Linkage, Module, Type, Value, space, traits::*};
use superstep_abi::cpu::{
    ABI_VERSION, KERNEL_FORGETS_THREADS, KERNEL_IN_CLUSTERS, KERNEL_WAITS_FOR_GRID, SPACE_CONSTANT,
    SPACE_GLOBAL,
};
use superstep_trace::ModuleTable;

pub fn add<'m>(
    module: &'m Module,
    table: &ModuleTable,
    kernels: &[CpuKernel],
    loops: &[Option<Loops>],
) {
    let (pointer, i32t, i64t) = (Type::pointer(0), Type::int(32), Type::int(64));
    let string = |text: &str| module.add_string("superstep.text", text.as_bytes()).value();
    let kernel_type = Type::structure(&[
        pointer, pointer, i32t, i32t, i64t, pointer, i64t, pointer, pointer, i64t,
    ]);
    let list = |name: &str, row: Type, rows: &[Value<'m>]| {
        let rows = module.constant_array(row, rows);
        module.add_constant(name, rows).value()
    };
    let parameters = |bytes: &[[u64; 2]]| {
        let numbers = bytes.as_flattened().iter();
        let values: Vec<Value> = numbers.map(|n| i32t.constant(*n)).collect();
        list("superstep.parameters", i32t, &values)
    };
    let kernel_values: Vec<Value> = (kernels.iter().zip(loops))
        .map(|(kernel, loops)| {
            let loops = loops.as_ref();
            let forgets_threads = loops.is_some_and(|loops| loops.forgets_threads);
            let flag = |flag, is_set| if is_set { u64::from(flag) } else { 0 };
            module.constant_struct(&[
                string(&kernel.name),
                add_thunk(module, kernel).value(),
                i32t.constant(kernel.parameters_bytes.len() as u64),
                i32t.constant(
                    flag(KERNEL_FORGETS_THREADS, forgets_threads)
                        | flag(KERNEL_WAITS_FOR_GRID, kernel.waits_for_grid)
                        | flag(KERNEL_IN_CLUSTERS, kernel.in_clusters),
                ),
                i64t.constant(kernel.static_shared_bytes),
                loops.map_or(pointer.null(), |loops| loops.step(module).value()),
                i64t.constant(loops.map_or(0, |loops| loops.frame_bytes)),
                parameters(&kernel.parameters_bytes),
                kernel.function(module).value(),
                i64t.constant(kernel.max_threads.unwrap_or(0)),
            ])
        })
        .collect();

    let global_type = Type::structure(&[pointer, pointer, i64t, i32t, i32t]);
    let global_values: Vec<Value> = (device_variables(module).into_iter())
        .map(|global| {
            let space = match global.ty().address_space() {
                space::CONSTANT => SPACE_CONSTANT,
                _ => SPACE_GLOBAL,
            };
            module.constant_struct(&[
                string(&global.name()),
                global.as_generic_constant(),
                i64t.constant(module.allocated_size_bytes(global.value_type())),
                i32t.constant(u64::from(space)),
                i32t.constant(0),
            ])
        })
        .collect();

    let thread_block = module.declare("__superstep_thread_block", pointer.function(&[]));
    let json = table.to_json();
    let members = [
        i32t.constant(u64::from(ABI_VERSION)),
        i32t.constant(u64::from(table.module)),
        string(&table.name),
        thread_block.value(),
        i32t.constant(kernel_values.len() as u64),
        i32t.constant(global_values.len() as u64),
        list("superstep.kernels", kernel_type, &kernel_values),
        list("superstep.globals", global_type, &global_values),
        string(&json),
        i64t.constant(json.len() as u64),
    ];
    let description = module.add_constant("superstep.module", module.constant_struct(&members));

    let constructor = module.add_function("superstep.register", Type::void().function(&[]));
    constructor.make_internal();
    let builder = Builder::at_end(constructor.append_block("entry"));
    let register = "__superstep_register_cpu_module";
    builder.call_named(module, register, Type::void(), &[description.value()]);
    if let Some(group) = module.function(GROUP).filter(|f| !f.is_declaration()) {
        let register = "__superstep_register_probe_group";
        let index = i32t.constant(u64::from(table.module));
        builder.call_named(module, register, Type::void(), &[index, group.value()]);
    }
    builder.return_void();

    let entry =
        module.constant_struct(&[i32t.constant(65535), constructor.value(), pointer.null()]);
    let list = module.add_variable("llvm.global_ctors", entry.ty().array(1));
    list.set_initial_value(module.constant_array(entry.ty(), &[entry]));
    list.set_linkage(Linkage::Appending);
}
