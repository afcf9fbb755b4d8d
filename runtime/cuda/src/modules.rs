//! Which host stub stands for which kernel of which traced module, and which variables the device has.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use superstep_runtime_core::Registry;
use superstep_trace::{ModuleTable, Probe};

/// A kernel as a launch needs it.
#[derive(Debug)]
pub struct Kernel {
    /// Mangled name.
    pub name: String,
    pub stub: usize,
    /// The fat binary that it belongs to.
    pub binary: usize,
    /// What its module was built with; `None`: a kernel of a module that Superstep did not build.
    pub probe: Option<Probe>,
    /// Number of its own parameters.
    pub parameters: usize,
    /// Shared memory of a CTA that it declares; the runtime tells at the first launch.
    pub static_shared_bytes: OnceLock<u64>,
}

/// A variable of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its shadow on the host, which names it to the runtime; for a managed variable, the pointer to its memory.
    pub host: usize,
    /// Its device-side name.
    pub name: String,
    pub bytes: u64,
    /// Whether it is a managed variable.
    pub managed: bool,
}

#[derive(Debug, Default)]
pub struct Modules {
    tables: Vec<Arc<ModuleTable>>,
    /// Host stubs and names of the kernels of each fat binary.
    binaries: BTreeMap<usize, Vec<(usize, String)>>,
    variables: Vec<Variable>,
    announced_variables: HashMap<i32, usize>,
    tables_read: HashSet<(i32, usize)>,
    /// Kernels that may call `malloc`, by device, until the first of them was launched there.
    allocating: HashMap<i32, HashSet<String>>,
    shadows: HashMap<String, usize>,
    kernels: HashMap<usize, Arc<Kernel>>,
    handles: HashMap<usize, usize>,
}

impl Modules {
    /// A fat binary's kernel: `host` is the stub that launches name.
    pub fn add_kernel(&mut self, binary: usize, host: usize, name: String) {
        self.binaries.entry(binary).or_default().push((host, name));
        self.kernels.clear();
    }

    /// A variable in global memory.
    pub fn add_variable(&mut self, variable: Variable) {
        // A template's variable comes once for each translation unit that uses it.
        if !self.variables.contains(&variable) {
            self.variables.push(variable);
        }
    }

    /// A variable in global or constant memory: its name and its shadow on the host.
    pub fn add_shadow(&mut self, name: String, host: usize) {
        self.shadows.insert(name, host);
    }

    /// The shadow of the variable called `name`.
    pub fn shadow(&self, name: &str) -> Option<usize> {
        self.shadows.get(name).copied()
    }

    /// The variables that no call has given yet for device `device`.
    pub fn new_variables(&mut self, device: i32) -> &[Variable] {
        let announced = self.announced_variables.entry(device).or_default();
        let from = std::mem::replace(announced, self.variables.len());
        self.variables.get(from..).unwrap_or_default()
    }

    /// Whether the table of the variables in `binary` has yet to be read for device `device`; the caller then reads it.
    pub fn table_is_new(&mut self, device: i32, binary: usize) -> bool {
        self.tables_read.insert((device, binary))
    }

    /// Kernels that may call `malloc` were loaded.
    pub fn add_allocating(&mut self, device: i32, kernels: Vec<String>) {
        if !kernels.is_empty() {
            self.allocating.entry(device).or_default().extend(kernels);
        }
    }

    /// Whether `kernel` is the first on `device` that may call `malloc`, as far as is known.
    pub fn allocates_first(&mut self, device: i32, kernel: &str) -> bool {
        let first = (self.allocating.get(&device)).is_some_and(|names| names.contains(kernel));
        if first {
            self.allocating.remove(&device);
        }
        first
    }

    /// A device forgot its modules: all its variables are new again.
    pub fn forget_variables(&mut self, device: i32) {
        self.announced_variables.remove(&device);
        self.allocating.remove(&device);
        self.tables_read.retain(|&(of, _)| of != device);
    }

    /// Stubs of the kernels that carry the trace, at most `most` of them.
    pub fn traced_stubs(&self, registry: &Registry, most: usize) -> Vec<usize> {
        let tables = registry.from(0);
        let traced: HashSet<&str> = tables
            .iter()
            .filter(|table| table.probe == Probe::Trace)
            .flat_map(|table| table.kernels.iter().map(|kernel| kernel.name.as_str()))
            .collect();
        let kernels = self.binaries.values().flatten();
        kernels
            .filter(|(_, name)| traced.contains(name.as_str()))
            .map(|(stub, _)| *stub)
            .take(most)
            .collect()
    }

    /// A handle by which the program may launch the kernel of a stub.
    pub fn add_handle(&mut self, handle: usize, stub: usize) {
        self.handles.insert(handle, stub);
    }

    /// The kernel that the stub or handle `host` launches, if it is known.
    pub fn kernel(&mut self, host: usize, registry: &Registry) -> Option<Arc<Kernel>> {
        if registry.count() != self.tables.len() {
            self.tables = registry.from(0);
            self.kernels.clear();
        }
        if let Some(kernel) = self.kernels.get(&host) {
            return Some(kernel.clone());
        }
        let stub = self.handles.get(&host).copied().unwrap_or(host);
        let kernel = Arc::new(self.resolve(stub)?);
        self.kernels.insert(host, kernel.clone());
        Some(kernel)
    }

    fn resolve(&self, host: usize) -> Option<Kernel> {
        let (&key, binary, name) = self.binaries.iter().find_map(|(key, binary)| {
            let (_, name) = binary.iter().find(|(stub, _)| *stub == host)?;
            Some((key, binary, name))
        })?;
        let mut candidates = self.tables.iter().filter_map(|table| {
            let kernel = table.kernels.iter().find(|kernel| kernel.name == *name)?;
            Some((table, kernel))
        });
        // Two translation units may have kernels of the same name (`static` ones, or instances of one template). A
        // fat binary belongs to the table with exactly its kernels.
        let names: HashSet<&str> = binary.iter().map(|(_, name)| name.as_str()).collect();
        let same = |table: &ModuleTable| {
            let mut kernels = table.kernels.iter();
            kernels.len() == names.len() && kernels.all(|k| names.contains(k.name.as_str()))
        };
        let first = candidates.clone().next();
        let found = candidates.find(|(table, _)| same(table)).or(first);
        let probe = found.map(|(table, _)| table.probe);
        let parameters = found.map_or(0, |(_, kernel)| kernel.parameters as usize);
        Some(Kernel {
            name: name.clone(),
            stub: host,
            binary: key,
            probe,
            parameters,
            static_shared_bytes: OnceLock::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use superstep_trace::Probe::{Count, Trace};
    use superstep_trace::{Backend, KernelInfo, TABLE_SCHEMA_VERSION};

    fn table(module: u32, probe: Probe, kernels: &[(&str, u32)]) -> ModuleTable {
        let kernel = |&(name, parameters): &(&str, u32)| KernelInfo {
            name: name.to_owned(),
            display_name: name.to_owned(),
            parameters,
        };
        ModuleTable {
            opaque_assembly: 0,
            defined: None,
            schema_version: TABLE_SCHEMA_VERSION,
            module,
            name: format!("{module}.cu"),
            backend: Backend::Cuda,
            probe,
            sites: Vec::new(),
            kernels: kernels.iter().map(kernel).collect(),
        }
    }

    type Seen = Option<(Option<Probe>, usize)>;

    fn seen(modules: &mut Modules, registry: &Registry, host: usize) -> Seen {
        let kernel = modules.kernel(host, registry)?;
        Some((kernel.probe, kernel.parameters))
    }

    #[test]
    fn kernels_are_found_in_the_table_with_the_binary_s_kernels() {
        let (mut modules, registry) = (Modules::default(), Registry::default());
        registry
            .register(table(0, Trace, &[("same", 2), ("a", 1)]))
            .expect("a new index");
        registry
            .register(table(1, Count, &[("same", 3), ("b", 1)]))
            .expect("a new index");
        modules.add_kernel(0x100, 1, "same".to_owned());
        modules.add_kernel(0x100, 2, "b".to_owned());
        modules.add_kernel(0x200, 3, "same".to_owned());
        modules.add_kernel(0x200, 4, "a".to_owned());
        modules.add_kernel(0x300, 5, "library".to_owned());
        assert_eq!(seen(&mut modules, &registry, 1), Some((Some(Count), 3)));
        assert_eq!(seen(&mut modules, &registry, 3), Some((Some(Trace), 2)));
        assert_eq!(seen(&mut modules, &registry, 4), Some((Some(Trace), 1)));
        assert_eq!(seen(&mut modules, &registry, 5), Some((None, 0)));
        assert_eq!(seen(&mut modules, &registry, 6), None);
    }

    #[test]
    fn a_module_that_comes_late_counts() {
        let (mut modules, registry) = (Modules::default(), Registry::default());
        modules.add_kernel(0x100, 1, "late".to_owned());
        assert_eq!(seen(&mut modules, &registry, 1), Some((None, 0)));
        registry
            .register(table(0, Trace, &[("late", 0)]))
            .expect("a new index");
        assert_eq!(seen(&mut modules, &registry, 1), Some((Some(Trace), 0)));
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
            "another device has its own"
        );
        modules.forget_variables(0);
        assert_eq!(modules.new_variables(0).len(), 2);
        assert!(modules.new_variables(1).is_empty());
    }

    #[test]
    fn a_handle_launches_the_kernel_of_its_stub() {
        let (mut modules, registry) = (Modules::default(), Registry::default());
        registry
            .register(table(0, Trace, &[("k", 2)]))
            .expect("a new index");
        modules.add_kernel(0x100, 1, "k".to_owned());
        modules.add_handle(0x5000, 1);
        assert_eq!(
            seen(&mut modules, &registry, 0x5000),
            Some((Some(Trace), 2))
        );
        assert!(modules.table_is_new(0, 0x100) && !modules.table_is_new(0, 0x100));
    }
}
