//! Which host stub stands for which kernel of which module, and which variables the device has.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use superstep_trace::{KernelInfo, ModuleTable, Probe};

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
    /// Whether it may launch kernels.
    pub launches: bool,
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
struct Binary {
    /// None: a module that Superstep did not build.
    table: Option<Arc<ModuleTable>>,
    /// Host stubs and names of its kernels.
    kernels: Vec<(usize, String)>,
}

impl Binary {
    /// What it was built with and what is known of the kernel called `name`, where Superstep built it.
    fn kernel(&self, name: &str) -> Option<(Probe, &KernelInfo)> {
        let table = self.table.as_ref()?;
        let kernel = table.kernels.iter().find(|kernel| kernel.name == name)?;
        Some((table.probe, kernel))
    }
}

#[derive(Debug, Default)]
pub struct Modules {
    /// The fat binaries, by their handles.
    binaries: BTreeMap<usize, Binary>,
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
    /// A fat binary that Superstep built, which comes before its kernels.
    pub fn add_binary(&mut self, binary: usize, table: Arc<ModuleTable>) {
        self.binaries.entry(binary).or_default().table = Some(table);
    }

    /// Whether Superstep built a fat binary.
    pub fn is_ours(&self, binary: usize) -> bool {
        (self.binaries.get(&binary)).is_some_and(|binary| binary.table.is_some())
    }

    /// A fat binary and its stubs are gone.
    pub fn remove_binary(&mut self, binary: usize) {
        self.binaries.remove(&binary);
        self.kernels.clear();
    }

    /// A fat binary's kernel: `host` is the stub that launches name.
    pub fn add_kernel(&mut self, binary: usize, host: usize, name: String) {
        let binary = self.binaries.entry(binary).or_default();
        binary.kernels.push((host, name));
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
    pub fn traced_stubs(&self, most: usize) -> Vec<usize> {
        let kernels = (self.binaries.values())
            .flat_map(|binary| binary.kernels.iter().map(move |kernel| (binary, kernel)));
        kernels
            .filter(|(binary, (_, name))| {
                let kernel = binary.kernel(name);
                kernel.is_some_and(|(probe, _)| probe == Probe::Trace)
            })
            .map(|(_, (stub, _))| *stub)
            .take(most)
            .collect()
    }

    /// A handle by which the program may launch the kernel of a stub.
    pub fn add_handle(&mut self, handle: usize, stub: usize) {
        self.handles.insert(handle, stub);
    }

    /// The kernel that the stub or handle `host` launches, if it is known.
    pub fn kernel(&mut self, host: usize) -> Option<Arc<Kernel>> {
        if let Some(kernel) = self.kernels.get(&host) {
            return Some(kernel.clone());
        }
        let stub = self.handles.get(&host).copied().unwrap_or(host);
        let kernel = Arc::new(self.resolve(stub)?);
        self.kernels.insert(host, kernel.clone());
        Some(kernel)
    }

    /// The kernel of `binary` that its device code launches by `number`, from 1.
    pub fn numbered(&mut self, binary: usize, number: u64) -> Option<Arc<Kernel>> {
        let binary = self.binaries.get(&binary)?;
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let name = &binary.table.as_ref()?.kernels.get(index)?.name;
        let (stub, _) = binary.kernels.iter().find(|(_, known)| known == name)?;
        self.kernel(*stub)
    }

    fn resolve(&self, host: usize) -> Option<Kernel> {
        let (&key, binary, name) = self.binaries.iter().find_map(|(key, binary)| {
            let (_, name) = binary.kernels.iter().find(|(stub, _)| *stub == host)?;
            Some((key, binary, name))
        })?;
        let found = binary.kernel(name);
        Some(Kernel {
            name: name.clone(),
            stub: host,
            binary: key,
            probe: found.map(|(probe, _)| probe),
            parameters: found.map_or(0, |(_, kernel)| kernel.parameters as usize),
            launches: binary.table.as_ref().is_some_and(|table| table.launches),
            static_shared_bytes: OnceLock::new(),
        })
    }
}

#[cfg(test)]
mod tests {
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

    type Seen = Option<(Option<Probe>, usize)>;

    fn seen(modules: &mut Modules, host: usize) -> Seen {
        let kernel = modules.kernel(host)?;
        Some((kernel.probe, kernel.parameters))
    }

    #[test]
    fn kernels_are_those_of_their_binary() {
        let mut modules = Modules::default();
        modules.add_binary(0x200, table(0, Trace, &[("same", 2), ("a", 1)]));
        modules.add_binary(0x100, table(1, Count, &[("same", 3), ("b", 1)]));
        modules.add_kernel(0x100, 1, "same".to_owned());
        modules.add_kernel(0x100, 2, "b".to_owned());
        modules.add_kernel(0x200, 3, "same".to_owned());
        modules.add_kernel(0x200, 4, "a".to_owned());
        modules.add_kernel(0x300, 5, "a".to_owned());
        assert_eq!(seen(&mut modules, 1), Some((Some(Count), 3)));
        assert_eq!(seen(&mut modules, 3), Some((Some(Trace), 2)));
        assert_eq!(seen(&mut modules, 4), Some((Some(Trace), 1)));
        assert_eq!(seen(&mut modules, 5), Some((None, 0)), "of a library");
        assert_eq!(seen(&mut modules, 6), None);
        assert_eq!(modules.traced_stubs(9), [3, 4]);
        assert_eq!(modules.traced_stubs(1), [3]);
        assert!(modules.is_ours(0x100) && !modules.is_ours(0x300));
        modules.remove_binary(0x100);
        assert_eq!(seen(&mut modules, 1), None);
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
        let mut modules = Modules::default();
        modules.add_binary(0x100, table(0, Trace, &[("k", 2)]));
        modules.add_kernel(0x100, 1, "k".to_owned());
        modules.add_handle(0x5000, 1);
        assert_eq!(seen(&mut modules, 0x5000), Some((Some(Trace), 2)));
        assert!(modules.table_is_new(0, 0x100) && !modules.table_is_new(0, 0x100));
    }
}
