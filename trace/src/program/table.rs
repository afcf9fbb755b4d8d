//! Static tables of a traced module: its memory instructions and kernels.

use crate::{DefinedProbe, Op, SiteId, TraceError};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Version of [`ModuleTable`]'s JSON that this library writes and reads.
pub const TABLE_SCHEMA_VERSION: u32 = 1;

crate::named! {
    /// Backend that runs a program's kernels.
    #[derive(Default)]
    pub enum Backend("backend") {
        /// On the host, as x86 code.
        #[default]
        Cpu => "cpu",
        Cuda => "cuda",
    }
}

crate::named! {
    /// Instrumentation inserted into a module.
    #[derive(Default)]
    pub enum Probe("probe") {
        #[default]
        None => "none",
        Trace => "trace",
        /// Every access adds to its site's counter.
        Count => "count",
        /// A user-defined probe ([`ModuleTable::defined`]).
        Defined => "defined",
    }
}

crate::named! {
    /// Evidence that a site accesses global memory.
    pub enum Proof("proof") {
        /// The address-space analysis proved it.
        Proven => "proven",
        /// The program tests each address while it runs.
        Tested => "tested",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// ID that is unique within the program.
    pub id: SiteId,
    /// Mangled name of its function.
    pub function: String,
    /// Source file as the compiler's debug information names it; empty when unknown.
    pub file: String,
    /// Source line, from 1; 0 when unknown.
    pub line: u32,
    /// Source column, from 1; 0 when unknown.
    pub column: u32,
    pub op: Op,
    /// Bytes accessed by one thread; 0 if that varies between accesses.
    pub width_bytes: u32,
    /// Evidence that the site accesses global memory.
    pub proof: Proof,
    /// Whether the number of executions depends on how long threads wait for each other, and can vary as a result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
}

impl Site {
    /// Returns whether the site executes the same number of times in each run.
    pub fn is_steady(&self) -> bool {
        !self.waits
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelInfo {
    pub name: String,
    /// Demangled name without parameters.
    pub display_name: String,
    /// Number of kernel parameters, not counting those that the instrumentation appends.
    pub parameters: u32,
}

/// Everything static about one traced translation unit; the instrumenter writes it as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleTable {
    pub schema_version: u32,
    /// Index of the module within the program.
    pub module: u32,
    /// Name of the translation unit, such as `hotspot.cu`.
    pub name: String,
    pub backend: Backend,
    pub probe: Probe,
    /// Memory instructions, by ascending id.
    pub sites: Vec<Site>,
    pub kernels: Vec<KernelInfo>,
    /// Number of accepted inline PTX statements whose accesses are unknown and therefore not traced.
    #[serde(default)]
    pub opaque_assembly: u32,
    /// Whether the trace contains grid-barrier marks for the module's kernels.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grid_barriers: bool,
    /// Whether the module's kernels can launch kernels, which the GPU runtime must launch on their behalf.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub launches: bool,
    /// The user-defined probe and its sites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defined: Option<DefinedProbe>,
}

impl ModuleTable {
    /// Returns the table of a module without sites or kernels.
    pub fn new(name: impl Into<String>, backend: Backend, probe: Probe) -> Self {
        ModuleTable {
            schema_version: TABLE_SCHEMA_VERSION,
            name: name.into(),
            backend,
            probe,
            ..ModuleTable::default()
        }
    }

    /// Reads a table from JSON, and checks its schema version and that its sites belong to the module.
    pub fn from_json(json: &[u8]) -> Result<Self, TraceError> {
        let refused = |reason: String| TraceError::Table { reason };
        let table: ModuleTable =
            serde_json::from_slice(json).map_err(|error| refused(error.to_string()))?;
        let (version, module) = (table.schema_version, table.module);
        if version != TABLE_SCHEMA_VERSION {
            return Err(refused(format!(
                "schema_version is {version}, but this tool reads {TABLE_SCHEMA_VERSION}"
            )));
        }
        match table.sites.iter().find(|site| site.id.module() != module) {
            Some(Site { id, .. }) => Err(refused(format!(
                "site {id} does not belong to module {module} ({})",
                table.name
            ))),
            None => Ok(table),
        }
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("names and numbers can always be written as JSON")
    }
}

/// All sites and kernels of a program, by id and by name.
#[derive(Clone, Debug, Default)]
pub struct SiteTable {
    sites: FxHashMap<SiteId, Site>,
    kernels: FxHashMap<String, KernelInfo>,
}

impl SiteTable {
    pub fn new<'a>(modules: impl IntoIterator<Item = &'a ModuleTable>) -> Self {
        let mut table = SiteTable::default();
        for module in modules {
            let (sites, kernels) = (module.sites.iter(), module.kernels.iter());
            (table.sites).extend(sites.map(|site| (site.id, site.clone())));
            (table.kernels).extend(kernels.map(|kernel| (kernel.name.clone(), kernel.clone())));
        }
        table
    }

    pub fn get(&self, id: SiteId) -> Option<&Site> {
        self.sites.get(&id)
    }

    /// Returns every site, by ascending id.
    pub fn iter(&self) -> impl Iterator<Item = &Site> {
        let mut sites: Vec<_> = self.sites.values().collect();
        sites.sort_unstable_by_key(|site| site.id);
        sites.into_iter()
    }

    pub fn kernel(&self, name: &str) -> Option<&KernelInfo> {
        self.kernels.get(name)
    }

    /// Returns the display name of a kernel if known, or else `name`.
    pub fn display_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.kernel(name)
            .map_or(name, |kernel| &kernel.display_name)
    }
}
