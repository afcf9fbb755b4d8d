//! Launches of kernels with a user-defined probe: their memory, and the calls to the handler for the lanes of a warp.
//!
//! On the CPU, lanes do not run in lockstep. Warp-level probe points are logged like accesses, and merging the logs
//! (`runs.rs`) groups the lanes.

use crate::exec::job::Job;
use crate::record::merge::{LANES, LogEntry};
use crate::record::runs::{self, Bits, Run};
use crate::registry::Kernel;
use crate::runtime::session;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::Arc;
use superstep_runtime_core::ActiveLaunch;
use superstep_runtime_core::probe::{Layout, ProbeContext, TooLarge};
use superstep_trace::probe::{At, Pass};
use superstep_trace::{ModuleTable, PointSite, Probe};

/// Lanes that executed a probe point together. Mirrors `struct Group` in `probes/include/superstep/probe.h`.
#[repr(C)]
#[derive(Clone, Debug)]
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

type GroupHandler = unsafe extern "C" fn(*const Group, u32);

static HANDLERS: RwLock<BTreeMap<u32, GroupHandler>> = RwLock::new(BTreeMap::new());

/// Registers a module's handler for groups of lanes; called by a constructor in its device object.
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_register_probe_group(module: u32, handler: Option<GroupHandler>) {
    if let Some(handler) = handler {
        HANDLERS.write().insert(module, handler);
    }
}

#[derive(Debug)]
pub struct Probed {
    module: Arc<ModuleTable>,
    layout: Layout,
    /// Written by device code through the addresses in `context`, and read after the launch.
    fields: Vec<u64>,
    tables: Vec<u64>,
    parameters: Vec<u64>,
    context: ProbeContext,
    group: Option<GroupHandler>,
    /// Whether the launch runs with its probe.
    pub is_wanted: bool,
}

impl Probed {
    /// Allocates memory for a launch of `kernel`; returns `None` if there is no probe.
    pub fn new(
        kernel: &Kernel,
        active: &ActiveLaunch,
        workers: usize,
    ) -> Result<Option<Box<Self>>, TooLarge> {
        if kernel.probe != Probe::Defined {
            return Ok(None);
        }
        let (grid, block) = (active.launch.grid, active.launch.block);
        let layout = session().probe_layout(&kernel.name, grid, block, workers as u32)?;
        let Some((module, layout)) = layout else {
            return Ok(None);
        };
        let group = HANDLERS.read().get(&module.module).copied();
        let (parameters, is_wanted) = session().probe_parameters(active, &module, &layout);
        let mut probed = Box::new(Probed {
            fields: vec![0; layout.field_bytes().div_ceil(8) as usize],
            tables: vec![0; (layout.table_bytes() / 8) as usize],
            parameters,
            context: ProbeContext::default(),
            group: group.filter(|_| groups_lanes(&module)),
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

    pub fn context(&self) -> *const ProbeContext {
        &self.context
    }

    /// Returns whether the lanes of `kernel` log probe points for their warp.
    pub fn logs(kernel: &Kernel) -> bool {
        let module = || session().registry().kernel(&kernel.name);
        kernel.probe == Probe::Defined && module().is_some_and(|(module, _)| groups_lanes(&module))
    }

    pub fn finish(&self, job: &Job, elapsed_ns: u64) {
        if !self.is_wanted {
            return;
        }
        // SAFETY: the slice covers exactly the words' bytes, and the launch is over.
        let bytes = unsafe {
            std::slice::from_raw_parts(self.fields.as_ptr().cast::<u8>(), self.fields.len() * 8)
        };
        let (module, layout, tables) = (&self.module, &self.layout, &self.tables);
        session().probe_results(&job.active, module, layout, elapsed_ns, bytes, tables);
    }
}

fn groups_lanes(module: &ModuleTable) -> bool {
    let probe = module.defined.as_ref();
    probe.is_some_and(|probe| probe.spec.groups_lanes())
}

/// A worker's calls to a launch's handler, with the values that each probe point passes.
#[derive(Debug, Default)]
pub struct Handling {
    handler: Option<GroupHandler>,
    /// A group for each site of the module, with its constant fields.
    groups: Vec<Group>,
    /// For each site, the values that it passes and the number of sites that are logged with it.
    needs: Vec<Needs>,
    /// Whether any site passes the combined bits of its values.
    bits: bool,
}

// SAFETY: the pointers in the groups belong to the launch, and only the worker that runs it uses them.
unsafe impl Send for Handling {}

#[derive(Clone, Copy, Debug)]
struct Needs {
    followers: u32,
    bits: bool,
    taken: bool,
    lines: bool,
}

impl Handling {
    pub fn begin(&mut self, probed: &Probed) {
        self.groups.clear();
        self.needs.clear();
        self.handler = probed.group;
        let Some(probe) = self.handler.and(probed.module.defined.as_ref()) else {
            return;
        };
        let first = probed.module.module << 16;
        for (site, number) in probe.sites.iter().zip(first..) {
            let passes = |pass: &Pass| {
                let point = probe.spec.points.get(site.point as usize);
                point.is_some_and(|point| point.pass.contains(pass))
            };
            self.needs.push(Needs {
                followers: site.followers,
                bits: passes(&Pass::AndBits) || passes(&Pass::OrBits),
                taken: passes(&Pass::TakenMask),
                lines: passes(&Pass::UniqueLines),
            });
            self.groups.push(Group::of(site, number, &probed.context));
        }
        self.bits = self.needs.iter().any(|needs| needs.bits);
    }

    /// Merges the logs of a warp's lanes, and calls the handler for each group of lanes.
    pub fn merge(&mut self, lanes: &[&[LogEntry]; LANES]) {
        let Some(handler) = self.handler else {
            return;
        };
        let places = |site: u32| {
            let needs = self.needs.get((site & 0xffff) as usize);
            1 + needs.map_or(0, |needs| needs.followers as usize)
        };
        let mut found = Bits::EMPTY;
        runs::merge_warp(
            lanes,
            |site| (1 + places(site)).next_multiple_of(2),
            |run| {
                let first = (run.head & 0xffff) as usize;
                let range = first..first + places(run.head as u32);
                let groups = self.groups.get_mut(range.clone());
                let (Some(groups), Some(needs)) = (groups, self.needs.get(range)) else {
                    return;
                };
                if self.bits {
                    found.set(run.rows);
                }
                // An access's width is known only now.
                groups[0].width = (run.head >> 32) as u32;
                for (index, (group, needs)) in groups.iter_mut().zip(needs).enumerate() {
                    group.fill(run, 1 + index, *needs, &found);
                }
                // SAFETY: the handler belongs to the module, and reads the structures only during the call. In this
                // launch's memory, it writes only the words of this worker or of its CTA.
                unsafe { handler(groups.as_ptr(), groups.len() as u32) };
            },
        );
    }
}

impl Group {
    /// Creates a group for a site, with its constant fields.
    fn of(site: &PointSite, number: u32, context: *const ProbeContext) -> Self {
        Group {
            context,
            and_bits: 0,
            or_bits: 0,
            site: number,
            point: site.point,
            line: site.line,
            operation: site.operation,
            // For a basic block, `width` is the number of instructions.
            width: if site.at == At::Block { 0 } else { site.width },
            active_mask: 0,
            taken_mask: 0,
            unique_lines: 0,
        }
    }

    /// Sets the values that a run passes for this site; word `word` of each entry is the site's payload.
    fn fill(&mut self, run: &Run<'_>, word: usize, needs: Needs, found: &Bits) {
        self.active_mask = run.mask;
        if needs.bits {
            (self.and_bits, self.or_bits) = (found.all[word], found.any[word]);
        }
        let mut payloads = [0; LANES];
        if needs.taken || needs.lines {
            for (payload, row) in payloads.iter_mut().zip(run.rows) {
                *payload = row.get(word).copied().unwrap_or_default();
            }
        }
        let payloads = &payloads[..run.rows.len()];
        if needs.taken {
            let mut lanes = run.mask;
            self.taken_mask = 0;
            for &payload in payloads {
                let lane = lanes & lanes.wrapping_neg();
                lanes ^= lane;
                self.taken_mask |= if payload != 0 { lane } else { 0 };
            }
        }
        if needs.lines {
            self.unique_lines = unique_lines(payloads);
        }
    }
}

/// Counts the 32-byte lines that contain the addresses.
fn unique_lines(addresses: &[u64]) -> u32 {
    let mut lines = [0u64; 32];
    let mut count = 0;
    for line in addresses.iter().map(|address| address >> 5) {
        // Neighbouring lanes usually share a line.
        let is_known = count > 0 && lines[count - 1] == line || lines[..count].contains(&line);
        if !is_known && count < lines.len() {
            lines[count] = line;
            count += 1;
        }
    }
    count as u32
}

#[cfg(test)]
mod tests;
