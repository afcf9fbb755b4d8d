//! Tests for `modules`.

use super::*;
use superstep_trace::Probe::{Count, Trace};
use superstep_trace::{Backend, KernelInfo, TABLE_SCHEMA_VERSION};

fn table(module: u32, probe: Probe, kernels: &[(&str, u32)]) -> Arc<ModuleTable> {
    let kernel = |&(name, parameters): &(&str, u32)| KernelInfo {
        name: name.to_owned(),
        display_name: name.to_owned(),
        parameters,
    };
    Arc::new(ModuleTable {
        opaque_assembly: 0,
        grid_barriers: false,
        launches: false,
        defined: None,
        schema_version: TABLE_SCHEMA_VERSION,
        module,
        name: format!("{module}.cu"),
        backend: Backend::Cuda,
        probe,
        sites: Vec::new(),
        kernels: kernels.iter().map(kernel).collect(),
    })
}

fn stub(address: usize) -> Stub {
    Stub::from_raw(std::ptr::without_provenance_mut(address))
}

fn binary(address: usize) -> cuda::Binary {
    cuda::Binary::from_raw(std::ptr::without_provenance_mut(address))
}

type Found = Option<(Option<Probe>, usize)>;

fn found(modules: &mut Modules, host: Stub) -> Found {
    let kernel = modules.kernel(host)?;
    Some((kernel.probe, kernel.parameters))
}

#[test]
fn kernels_are_found_by_their_binary() {
    let mut modules = Modules::default();
    modules.add_binary(binary(0x200), table(0, Trace, &[("same", 2), ("a", 1)]));
    modules.add_binary(binary(0x100), table(1, Count, &[("same", 3), ("b", 1)]));
    modules.add_kernel(binary(0x100), stub(1), "same".to_owned());
    modules.add_kernel(binary(0x100), stub(2), "b".to_owned());
    modules.add_kernel(binary(0x200), stub(3), "same".to_owned());
    modules.add_kernel(binary(0x200), stub(4), "a".to_owned());
    modules.add_kernel(binary(0x300), stub(5), "a".to_owned());
    assert_eq!(found(&mut modules, stub(1)), Some((Some(Count), 3)));
    assert_eq!(found(&mut modules, stub(3)), Some((Some(Trace), 2)));
    assert_eq!(found(&mut modules, stub(4)), Some((Some(Trace), 1)));
    assert_eq!(
        found(&mut modules, stub(5)),
        Some((None, 0)),
        "a library's kernel"
    );
    assert_eq!(found(&mut modules, stub(6)), None);
    assert_eq!(modules.traced_stubs(9), [stub(3), stub(4)]);
    assert_eq!(modules.traced_stubs(1), [stub(3)]);
    assert!(modules.is_ours(binary(0x100)) && !modules.is_ours(binary(0x300)));
    modules.remove_binary(binary(0x100));
    assert_eq!(found(&mut modules, stub(1)), None);
}

#[test]
fn a_variable_is_announced_once() {
    let mut modules = Modules::default();
    let variable = |host| Variable {
        host,
        name: format!("v{host}"),
        bytes: 4,
        managed: false,
    };
    modules.add_variable(variable(1));
    modules.add_variable(variable(1));
    assert_eq!(modules.new_variables(0), [variable(1)]);
    modules.add_variable(variable(2));
    assert_eq!(modules.new_variables(0), [variable(2)]);
    assert!(modules.new_variables(0).is_empty());
    assert_eq!(
        modules.new_variables(1).len(),
        2,
        "each device has its own variables"
    );
    modules.forget_variables(0);
    assert_eq!(modules.new_variables(0).len(), 2);
    assert!(modules.new_variables(1).is_empty());
}

#[test]
fn a_handle_launches_the_kernel_of_its_stub() {
    let mut modules = Modules::default();
    modules.add_binary(binary(0x100), table(0, Trace, &[("k", 2)]));
    modules.add_kernel(binary(0x100), stub(1), "k".to_owned());
    modules.handles.insert(stub(0x5000), stub(1));
    assert_eq!(found(&mut modules, stub(0x5000)), Some((Some(Trace), 2)));
    assert!(modules.table_is_new(0, binary(0x100)) && !modules.table_is_new(0, binary(0x100)));
}
