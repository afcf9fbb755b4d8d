//! The program's modules: their kernels, by host stub, and their device variables.

use crate::cuda::{self, Stub};
use cudarc::runtime::sys::cudaFuncAttributes;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Once, OnceLock};
use superstep_trace::{KernelInfo, ModuleTable, Probe};

pub struct Kernel {
    pub name: String,
    pub stub: Stub,
    pub binary: cuda::Binary,
    /// `None` if Superstep did not build the kernel's module.
    pub probe: Option<Probe>,
    /// Number of parameters, excluding the probe's trailing ones.
    pub parameters: usize,
    pub launches: bool,
    /// Queried at the first launch.
    pub attributes: OnceLock<Option<cudaFuncAttributes>>,
    /// Completed when the kernel's registers and occupancy have been recorded, at the first launch.
    pub resources: Once,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The variable's shadow on the host, or the pointer to the memory of a managed variable.
    pub host: usize,
    pub name: String,
    pub bytes: u64,
    pub managed: bool,
}

#[derive(Default)]
struct Binary {
    /// `None` if Superstep did not build the module.
    table: Option<Arc<ModuleTable>>,
    kernels: Vec<(Stub, String)>,
}

impl Binary {
    /// Returns the probe and the table entry of the kernel `name`, if Superstep built the binary.
    fn kernel(&self, name: &str) -> Option<(Probe, &KernelInfo)> {
        let table = self.table.as_ref()?;
        let kernel = table.kernels.iter().find(|kernel| kernel.name == name)?;
        Some((table.probe, kernel))
    }
}

#[derive(Default)]
pub struct Modules {
    binaries: BTreeMap<cuda::Binary, Binary>,
    variables: Vec<Variable>,
    announced_variables: HashMap<i32, usize>,
    tables_read: HashSet<(i32, cuda::Binary)>,
    /// Kernels that may call `malloc`, by device, until the first of them is launched there.
    allocating: HashMap<i32, HashSet<String>>,
    /// Variables' shadows on the host, by name.
    pub shadows: HashMap<String, usize>,
    kernels: HashMap<Stub, Arc<Kernel>>,
    /// Stubs, by the driver's handles for the same kernels.
    pub handles: HashMap<Stub, Stub>,
}

impl Modules {
    pub fn add_binary(&mut self, binary: cuda::Binary, table: Arc<ModuleTable>) {
        self.binaries.entry(binary).or_default().table = Some(table);
    }

    pub fn is_ours(&self, binary: cuda::Binary) -> bool {
        (self.binaries.get(&binary)).is_some_and(|binary| binary.table.is_some())
    }

    pub fn remove_binary(&mut self, binary: cuda::Binary) {
        self.binaries.remove(&binary);
        self.kernels.clear();
    }

    pub fn add_kernel(&mut self, binary: cuda::Binary, host: Stub, name: String) {
        let binary = self.binaries.entry(binary).or_default();
        binary.kernels.push((host, name));
        self.kernels.clear();
    }

    pub fn add_variable(&mut self, variable: Variable) {
        // A template's variable is registered once for each translation unit that uses it.
        if !self.variables.contains(&variable) {
            self.variables.push(variable);
        }
    }

    /// Returns the variables that no earlier call has returned for `device`.
    pub fn new_variables(&mut self, device: i32) -> &[Variable] {
        let announced = self.announced_variables.entry(device).or_default();
        let from = std::mem::replace(announced, self.variables.len());
        self.variables.get(from..).unwrap_or_default()
    }

    /// Returns `true` once for each device and binary; the caller must then read the binary's table of variables.
    pub fn table_is_new(&mut self, device: i32, binary: cuda::Binary) -> bool {
        self.tables_read.insert((device, binary))
    }

    pub fn add_allocating(&mut self, device: i32, kernels: Vec<String>) {
        if !kernels.is_empty() {
            self.allocating.entry(device).or_default().extend(kernels);
        }
    }

    /// Returns whether `kernel` is the first kernel launched on `device` that may call `malloc`.
    pub fn allocates_first(&mut self, device: i32, kernel: &str) -> bool {
        let first = (self.allocating.get(&device)).is_some_and(|names| names.contains(kernel));
        if first {
            self.allocating.remove(&device);
        }
        first
    }

    pub fn forget_variables(&mut self, device: i32) {
        self.announced_variables.remove(&device);
        self.allocating.remove(&device);
        self.tables_read.retain(|&(other, _)| other != device);
    }

    /// Returns at most `limit` stubs of traced kernels.
    pub fn traced_stubs(&self, limit: usize) -> Vec<Stub> {
        let kernels = (self.binaries.values())
            .flat_map(|binary| binary.kernels.iter().map(move |kernel| (binary, kernel)));
        kernels
            .filter(|(binary, (_, name))| {
                let kernel = binary.kernel(name);
                kernel.is_some_and(|(probe, _)| probe == Probe::Trace)
            })
            .map(|(_, (stub, _))| *stub)
            .take(limit)
            .collect()
    }

    pub fn kernel(&mut self, host: Stub) -> Option<Arc<Kernel>> {
        if let Some(kernel) = self.kernels.get(&host) {
            return Some(kernel.clone());
        }
        let stub = self.handles.get(&host).copied().unwrap_or(host);
        let kernel = Arc::new(self.resolve(stub)?);
        self.kernels.insert(host, kernel.clone());
        Some(kernel)
    }

    /// Returns the kernel in `binary` that device code launches by `number`, counted from 1.
    pub fn numbered(&mut self, binary: cuda::Binary, number: u64) -> Option<Arc<Kernel>> {
        let binary = self.binaries.get(&binary)?;
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let name = &binary.table.as_ref()?.kernels.get(index)?.name;
        let (stub, _) = binary.kernels.iter().find(|(_, other)| other == name)?;
        self.kernel(*stub)
    }

    fn resolve(&self, host: Stub) -> Option<Kernel> {
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
            attributes: OnceLock::new(),
            resources: Once::new(),
        })
    }
}

#[cfg(test)]
mod tests;
