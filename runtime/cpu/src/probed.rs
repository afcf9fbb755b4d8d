//! Launches of kernels with a probe that a user defined: their memory, and calling the handler for the lanes of a warp.
//!
//! Lanes do not run together here. What concerns a warp is logged like the accesses of a trace, and the merge of the logs
//! (`merge.rs`) says which lanes were at a place together.

use crate::job::Job;
use crate::runtime::session;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::Arc;
use superstep_runtime_core::ActiveLaunch;
use superstep_runtime_core::probe::{Layout, ProbeContext};
use superstep_trace::{AccessGroup, ModuleTable, PointSite};

/// What a handler learns of the lanes that were at a place together. Mirrors `struct Group` of `probes/include/superstep/probe.h`.
#[repr(C)]
#[derive(Debug)]
pub struct Group {
    context: *const ProbeContext,
    and_bits: u64,
    or_bits: u64,
    site: u32,
    point: u32,
    line: u32,
    operation: u32,
    width: u32,
    active_mask: u32,
    taken_mask: u32,
    unique_lines: u32,
}

type GroupHandler = unsafe extern "C" fn(*const Group);

static HANDLERS: RwLock<BTreeMap<u32, GroupHandler>> = RwLock::new(BTreeMap::new());

/// A module's handler for groups of lanes; called by a constructor in its device object.
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_register_probe_group(module: u32, handler: Option<GroupHandler>) {
    if let Some(handler) = handler {
        HANDLERS.write().insert(module, handler);
    }
}

/// The probe's half of a launch.
#[derive(Debug)]
pub struct Probed {
    module: Arc<ModuleTable>,
    layout: Layout,
    /// Written by device code through the addresses in `context`, read when the launch is over.
    fields: Vec<u64>,
    tables: Vec<u64>,
    parameters: Vec<u64>,
    context: ProbeContext,
    group: Option<GroupHandler>,
    /// Whether the launch is to have its probe.
    pub is_wanted: bool,
}

impl Probed {
    /// Memory for a launch of `kernel`; `None` when it carries no probe.
    ///
    /// # Errors
    /// The memory would be too large.
    pub fn new(
        kernel: &str,
        active: &ActiveLaunch,
        workers: usize,
    ) -> Result<Option<Box<Self>>, String> {
        let (grid, block) = (active.launch.grid, active.launch.block);
        let Some((module, _)) = session().registry().kernel(kernel) else {
            return Ok(None);
        };
        let Some(probe) = &module.defined else {
            return Ok(None);
        };
        let layout = Layout::of(probe, kernel, grid, block, workers as u32)
            .map_err(|error| error.to_string())?;
        let Some(layout) = layout else {
            return Ok(None);
        };
        let groups = probe.spec.groups_lanes();
        let group = HANDLERS.read().get(&module.module).copied();
        let mut parameters = session().config().probe_parameters.clone();
        parameters.resize(probe.spec.parameters.len(), 0);
        let is_wanted = session().wants_probe(active)
            && session().ask_about_probe(active, &module, &layout, &mut parameters);
        let mut probed = Box::new(Probed {
            fields: vec![0; layout.field_bytes().div_ceil(8) as usize],
            tables: vec![0; (layout.table_bytes() / 8) as usize],
            parameters,
            context: ProbeContext::default(),
            group: group.filter(|_| groups),
            layout,
            module,
            is_wanted,
        });
        probed.context = layout.context(
            probed.fields.as_mut_ptr() as u64,
            probed.tables.as_mut_ptr() as u64,
            probed.parameters.as_ptr() as u64,
            active.launch.launch.0,
        );
        Ok(Some(probed))
    }

    /// What device code finds everything by.
    pub fn context(&self) -> *const ProbeContext {
        &self.context
    }

    /// Whether the lanes of `kernel` log what concerns their warp.
    pub fn logs(kernel: &str) -> bool {
        let module = session().registry().kernel(kernel);
        module.is_some_and(|(module, _)| {
            let probe = module.defined.as_ref();
            probe.is_some_and(|probe| probe.spec.groups_lanes())
        })
    }

    /// Calls the handler for a group of lanes, on the worker that ran them.
    pub fn group(&self, group: &AccessGroup) {
        let probe = self.module.defined.as_ref();
        let site = probe.and_then(|probe| probe.sites.get(group.site.local() as usize));
        let (Some(handler), Some(site)) = (self.group, site) else {
            return;
        };
        let facts = self.facts(group, site);
        // SAFETY: the handler is the module's own, and reads the structure during the call only. What it writes is the memory of this
        // launch, and there only the words of this worker's CTA or of this worker.
        unsafe { handler(&facts) };
    }

    fn facts(&self, group: &AccessGroup, site: &PointSite) -> Group {
        let values = group.active_addresses();
        let (mut and_bits, mut or_bits, mut taken_mask) = (u64::MAX, 0, 0);
        let mut lanes = group.mask;
        for &value in values {
            and_bits &= value;
            or_bits |= value;
            let lane = lanes & lanes.wrapping_neg();
            lanes ^= lane;
            taken_mask |= if value != 0 { lane } else { 0 };
        }
        Group {
            context: &self.context,
            and_bits,
            or_bits,
            site: group.site.0,
            point: site.point,
            line: site.line,
            operation: site.operation,
            width: group.width_bytes,
            active_mask: group.mask,
            taken_mask,
            unique_lines: unique_lines(values),
        }
    }

    /// Hands over what the launch left.
    pub fn finish(&self, job: &Job, elapsed_ns: u64) {
        if !self.is_wanted {
            return;
        }
        // SAFETY: the words were allocated as such, and the launch is over.
        let bytes = unsafe {
            std::slice::from_raw_parts(self.fields.as_ptr().cast::<u8>(), self.fields.len() * 8)
        };
        session().probe_results(
            &job.active,
            &self.module,
            &self.layout,
            elapsed_ns,
            bytes,
            &self.tables,
        );
    }
}

/// In how many lines of 32 bytes some addresses lie.
fn unique_lines(addresses: &[u64]) -> u32 {
    let mut lines = [0u64; 32];
    let mut count = 0;
    for line in addresses.iter().map(|address| address >> 5) {
        // Neighbouring lanes mostly share a line.
        let is_known = count > 0 && lines[count - 1] == line || lines[..count].contains(&line);
        if !is_known && count < lines.len() {
            lines[count] = line;
            count += 1;
        }
    }
    count as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn lines_are_counted_once() {
        assert_eq!(unique_lines(&[0, 4, 31, 32, 5, 33]), 2);
        let scattered: Vec<u64> = (0..32).map(|lane| lane * 64).collect();
        assert_eq!(unique_lines(&scattered), 32);
    }

    #[test]
    fn a_group_has_the_layout_of_the_header() {
        assert_eq!(size_of::<Group>(), 56);
        assert_eq!(offset_of!(Group, site), 24);
        assert_eq!(offset_of!(Group, unique_lines), 52);
    }
}
