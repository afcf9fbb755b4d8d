//! Tests for `registry`.

use super::*;
use superstep_trace::{Backend, Op, Proof};

fn table(module: u32, name: &str, probe: Probe) -> ModuleTable {
    let id = SiteId::new(module as u16, 3);
    let site = Site {
        id,
        function: "f".into(),
        file: "a.cu".into(),
        line: 1,
        column: 2,
        op: Op::Load,
        width_bytes: 4,
        proof: Proof::Proven,
        waits: false,
    };
    let kernel = KernelInfo {
        name: format!("_Z{name}"),
        display_name: name.into(),
        parameters: 1,
    };
    ModuleTable {
        opaque_assembly: 0,
        grid_barriers: false,
        launches: false,
        defined: None,
        schema_version: 1,
        module,
        name: name.into(),
        backend: Backend::Cpu,
        probe,
        sites: vec![site],
        kernels: vec![kernel],
    }
}

#[test]
fn registered_modules_are_found() {
    let registry = Registry::default();
    assert_eq!(registry.probe(), Probe::None);
    registry.register(table(4, "b", Probe::None)).unwrap();
    registry
        .register_json(table(1, "a", Probe::Count).to_json().as_bytes())
        .unwrap();
    registry.register(table(4, "b", Probe::None)).unwrap();
    assert_eq!(registry.count(), 2);
    assert_eq!(registry.probe(), Probe::Count);
    assert_eq!(registry.kernel("_Za").unwrap().0.module, 1);
    assert_eq!(registry.site(SiteId::new(4, 3)).unwrap().line, 1);
    assert_eq!(registry.from(1)[0].name, "a");
    assert!(registry.from(9).is_empty() && registry.site(SiteId::new(2, 3)).is_none());
}

#[test]
fn an_index_belongs_to_one_module() {
    let registry = Registry::default();
    registry.register(table(0, "a", Probe::Trace)).unwrap();
    let error = registry
        .register(table(0, "b", Probe::Trace))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("module 0 (b): a has the same index"),
        "{error}"
    );
    assert!(registry.register_json(b"{}").is_err());
}
