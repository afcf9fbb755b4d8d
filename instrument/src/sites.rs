//! The sites of a module: its traced memory operations, and the table that describes them.

use crate::ir::{Call, Function, Instruction, Module, Opcode::*, Value, traits::*};
use crate::operation::memory_operations;
use crate::ptx::Template;
use crate::reach::reach;
use crate::space::{Analysis, Fact, Space};
use crate::waits;
use anyhow::{Result, bail};
use std::collections::HashSet;
use superstep_trace::{KernelInfo, Proof, Site, SiteId, display_name};

/// Maximum number of sites in a module: a site's index is the lower half of its ID.
pub const MAX_SITES: usize = 1 << 16;

#[derive(Clone, Copy, Debug)]
pub struct TracedOperation<'m> {
    pub id: SiteId,
    pub instruction: Instruction<'m>,
    pub index: usize,
    pub tested: bool,
}

#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct SiteOptions {
    /// Index of this module within the program.
    #[arg(long, default_value_t = 0)]
    pub module_index: u32,
    /// Reject addresses whose space the analysis cannot determine, as Rieber 2017 does.
    #[arg(long)]
    pub strict: bool,
    /// Accept inline PTX whose accesses cannot be determined; the table contains the number of such statements.
    #[arg(long)]
    pub allow_opaque_asm: bool,
}

/// Returns the operations that may access global memory, except those of grid barriers. They are in layout order, which
/// the CPU backend's reconvergence model requires.
pub fn find<'m>(
    module: &'m Module,
    analysis: &Analysis<'m>,
    options: SiteOptions,
) -> Result<(Vec<TracedOperation<'m>>, Vec<Site>)> {
    let (mut operations, mut sites) = (Vec::new(), Vec::new());
    let waiting = waits::find(module, analysis);
    for function in module.defined_functions() {
        let name = function.name();
        for instruction in function.instructions() {
            let found = memory_operations(module, instruction, options.allow_opaque_asm)?;
            for (index, operation) in found.into_iter().enumerate() {
                let proof = match operation.fact(analysis) {
                    Fact::Is(Space::Global) => Proof::Proven,
                    Fact::Is(_) => continue,
                    // A grid barrier's state is in the driver's memory, not the program's.
                    _ if is_grid_barrier(operation.pointer) => continue,
                    Fact::Unknown | Fact::Mixed => Proof::Tested,
                };
                let tested = proof == Proof::Tested;
                let location = instruction.location();
                if tested && options.strict {
                    bail!(
                        "{location}: the address of this {} in {} {}; leave out --strict to test it when the program runs",
                        operation.op,
                        display_name(&name),
                        disagreement(analysis, operation.pointer)
                    );
                }
                if operations.len() == MAX_SITES {
                    bail!(
                        "the module has more than {MAX_SITES} memory operations; split it into several files"
                    );
                }
                let id = SiteId(options.module_index << 16 | operations.len() as u32);
                operations.push(TracedOperation {
                    id,
                    instruction,
                    index,
                    tested,
                });
                sites.push(Site {
                    id,
                    function: name.clone(),
                    file: location.file,
                    line: location.line,
                    column: location.column,
                    op: operation.op,
                    width_bytes: operation.width.known_bytes(),
                    proof,
                    waits: waiting.contains(&instruction),
                });
            }
        }
    }
    Ok((operations, sites))
}

/// Returns the sites whose accesses are in the code, as marked by [`InstructionExt::add_sites`].
pub fn marked(module: &Module) -> HashSet<SiteId> {
    let instructions = module.instructions();
    instructions.flat_map(|access| access.sites()).collect()
}

/// Checks that the code still contains the access of every [`marked`] site, so that the probe does not record accesses
/// that no longer exist. Removes the marks.
pub fn check(module: &Module, before: &HashSet<SiteId>, sites: &[Site]) -> Result<()> {
    // The backends remove assembly that has no side effects and whose results are unused.
    let is_kept = |access: &Instruction| {
        access.as_call().is_none_or(|call| {
            call.callee().inline_assembly().is_none()
                || call.callee().has_side_effects()
                || !call.users().is_empty()
        })
    };
    let mut lost = before.clone();
    for access in module.instructions() {
        if is_kept(&access) {
            for site in access.sites() {
                lost.remove(&site);
            }
        }
        access.clear_sites();
    }
    if let Some(site) = sites.iter().find(|site| lost.contains(&site.id)) {
        bail!(
            "internal error: {}:{}: the {} in {} is no longer in the code, but would be recorded; please report this",
            site.file,
            site.line,
            site.op,
            display_name(&site.function)
        );
    }
    Ok(())
}

/// Returns the CTA barriers that complete a grid barrier (`grid.sync()`): other CTAs' earlier accesses are visible
/// after them. Skips functions in which a thread may access memory between its arrival at a grid barrier and that CTA
/// barrier.
pub fn grid_barriers<'m>(
    module: &'m Module,
    operations: &[TracedOperation<'m>],
) -> HashSet<Instruction<'m>> {
    let traced: HashSet<_> = operations.iter().map(|it| it.instruction).collect();
    let mut barriers = HashSet::new();
    let functions = module.defined_functions().into_iter();
    for function in functions.filter(|it| it.calls().any(reads_barrier_address)) {
        let (mut arrivals, mut ends) = (Vec::new(), HashSet::new());
        for instruction in function.instructions() {
            let operations = memory_operations(module, instruction, true).unwrap_or_default();
            for operation in operations.iter().filter(|it| is_grid_barrier(it.pointer)) {
                match operation.op.writes() {
                    true => arrivals.push(instruction),
                    false => ends.extend(next(instruction, crate::cpu::waits_for_cta)),
                }
            }
        }
        let is_next = |it| ends.contains(&it) || traced.contains(&it);
        let mut reached = arrivals.into_iter().flat_map(|it| next(it, is_next));
        if reached.all(|it| ends.contains(&it)) {
            barriers.extend(ends);
        }
    }
    barriers
}

/// Returns the first instruction after `start` on each path for which `is_wanted` is true.
fn next<'m>(
    start: Instruction<'m>,
    is_wanted: impl Fn(Instruction<'m>) -> bool,
) -> Vec<Instruction<'m>> {
    let mut found = Vec::new();
    reach([start], |it| match it.next() {
        _ if it != start && is_wanted(it) => {
            found.push(it);
            Vec::new()
        }
        Some(next) => vec![next],
        None => {
            let blocks = it.parent_block().successors().into_iter();
            let first = blocks.filter_map(|block| block.get_first_instruction());
            first.collect()
        }
    });
    found
}

/// Returns whether an address is computed only from the registers that contain the address of the grid barrier
/// (`cooperative_groups`' `grid.sync()`).
fn is_grid_barrier(pointer: Value) -> bool {
    let (mut registers, mut others) = (0, 0);
    reach([pointer], |value| match value.opcode() {
        _ if value.is_known() => Vec::new(),
        Some(GetElementPtr) => vec![value.operand(0)],
        Some(IntToPtr | AddrSpaceCast | Or | Shl | ZExt | Phi) => value.operands(),
        _ => {
            if value.as_call().is_some_and(reads_barrier_address) {
                registers += 1;
            } else {
                others += 1;
            }
            Vec::new()
        }
    });
    registers > 0 && others == 0
}

fn reads_barrier_address(call: Call) -> bool {
    let assembly = call.callee().inline_assembly();
    let parsed = assembly.and_then(|(text, _)| Template::parse(&text).ok());
    parsed.is_some_and(|template| template.reads_special("%envreg"))
}

pub fn kernels(module: &Module) -> Vec<KernelInfo> {
    let info = |f: Function| KernelInfo {
        display_name: display_name(&f.name()),
        parameters: f.parameters().len() as u32,
        name: f.name(),
    };
    module.kernels().into_iter().map(info).collect()
}

/// Explains why an address is undecided by naming two origins that disagree (Rieber 2017, section 5.3.1).
fn disagreement<'m>(analysis: &Analysis<'m>, pointer: Value<'m>) -> String {
    let origins = analysis.origins(pointer);
    let global = (origins.iter()).find(|origin| origin.fact == Fact::Is(Space::Global));
    let other = (origins.iter())
        .find(|origin| !matches!(origin.fact, Fact::Is(Space::Global) | Fact::Unknown));
    match (global, other, &origins[..]) {
        (Some(global), Some(other), _) => {
            format!("may be in global memory, through {global}, or elsewhere, through {other}")
        }
        (None, Some(other), _) => format!("comes from {other}, whose space is not known"),
        (_, _, [only, ..]) => format!("comes from {only} only"),
        _ => "has no known origin".to_owned(),
    }
}

#[cfg(test)]
mod tests;
