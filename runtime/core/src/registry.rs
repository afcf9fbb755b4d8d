//! The tables of the program's registered modules.

use crate::RuntimeError;
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};
use superstep_trace::{KernelInfo, ModuleTable, Probe, Site, SiteId};

#[derive(Default)]
pub struct Registry {
    modules: Mutex<Vec<Arc<ModuleTable>>>,
}

pub fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(Registry::default)
}

impl Registry {
    /// Adds a module from its JSON. The same module can be registered twice, but two different modules must not have
    /// the same index.
    pub fn register_json(&self, json: &[u8]) -> Result<Arc<ModuleTable>, RuntimeError> {
        self.register(ModuleTable::from_json(json)?)
    }

    /// Adds a module, like [`register_json`](Self::register_json).
    pub fn register(&self, table: ModuleTable) -> Result<Arc<ModuleTable>, RuntimeError> {
        let mut modules = self.modules.lock();
        if let Some(other) = modules.iter().find(|other| other.module == table.module) {
            return if **other == table {
                Ok(other.clone())
            } else {
                Err(RuntimeError::ModuleIndex {
                    index: table.module,
                    name: table.name,
                    other: other.name.clone(),
                })
            };
        }
        let table = Arc::new(table);
        modules.push(table.clone());
        Ok(table)
    }

    pub fn count(&self) -> usize {
        self.modules.lock().len()
    }

    /// Returns all modules except the first `start` that were registered.
    pub fn from(&self, start: usize) -> Vec<Arc<ModuleTable>> {
        let modules = self.modules.lock();
        modules.get(start..).map(<[_]>::to_vec).unwrap_or_default()
    }

    pub fn kernel(&self, name: &str) -> Option<(Arc<ModuleTable>, KernelInfo)> {
        self.modules.lock().iter().find_map(|module| {
            let kernel = module.kernels.iter().find(|kernel| kernel.name == name)?;
            Some((module.clone(), kernel.clone()))
        })
    }

    pub fn site(&self, id: SiteId) -> Option<Site> {
        let modules = self.modules.lock();
        let module = modules.iter().find(|module| module.module == id.module())?;
        module.sites.iter().find(|site| site.id == id).cloned()
    }

    /// Returns the probe of the program's modules.
    pub fn probe(&self) -> Probe {
        let modules = self.modules.lock();
        let mut probes = modules.iter().map(|module| module.probe);
        probes
            .find(|&probe| probe != Probe::None)
            .unwrap_or(Probe::None)
    }
}

#[cfg(test)]
mod tests;
