//! Finds a probe's places.

use super::classes::class_of;
use crate::context::{Rebuilt, current};
use crate::ir::{
    Block, Function, Instruction, LLVMOpcode, Module, Opcode::*, Type, Value, traits::*,
};
use crate::sites::{self, MAX_SITES, SiteOptions, TracedOperation};
use crate::space::Analysis;
use anyhow::{Result, bail};
use std::collections::HashMap;
use superstep_trace::probe::{At, PointSite, When};
use superstep_trace::{Op, ProbeSpec, Site, display_name};

#[derive(Clone, Debug)]
pub struct Place<'m> {
    pub site: PointSite,
    pub anchor: Instruction<'m>,
    pub subject: Subject<'m>,
}

#[derive(Clone, Copy, Debug)]
pub enum Subject<'m> {
    Place,
    /// Condition of the branch at the anchor.
    Condition,
    Value(Instruction<'m>),
    Access(TracedOperation<'m>),
}

impl<'m> Place<'m> {
    pub fn function(&self) -> Function<'m> {
        self.anchor.parent_function()
    }

    pub fn follow(&mut self, rebuilt: &Rebuilt<'m>) {
        self.anchor = current(self.anchor, rebuilt);
        match &mut self.subject {
            Subject::Place | Subject::Condition => {}
            Subject::Value(instruction) | Subject::Access(TracedOperation { instruction, .. }) => {
                *instruction = current(*instruction, rebuilt);
            }
        }
    }
}

pub fn find<'m>(
    module: &'m Module,
    spec: &ProbeSpec,
    options: SiteOptions,
) -> Result<Vec<Place<'m>>> {
    let has = |wanted: fn(At) -> bool| {
        let mut all = spec.points.iter().flat_map(|point| &point.at);
        all.any(|at| wanted(*at))
    };
    let mut accesses: HashMap<Instruction, Vec<(TracedOperation, Site)>> = HashMap::new();
    if has(At::is_memory) {
        let (operations, table) = sites::find(module, &Analysis::of(module), options)?;
        for (operation, site) in operations.into_iter().zip(table) {
            let list = accesses.entry(operation.instruction).or_default();
            list.push((operation, site));
        }
    }
    let mut places = Vec::new();
    for function in module.defined_functions() {
        let name = function.name();
        if function.is_kernel() && !spec.selects_kernel(&name, &display_name(&name)) {
            continue;
        }
        Finder {
            spec,
            accesses: &accesses,
            function,
            name,
            numbers: function.get_basic_block_iter().zip(0..).collect(),
            places: &mut places,
        }
        .walk();
        if places.len() > MAX_SITES {
            bail!(
                "the module has more than {MAX_SITES} places for this probe; name fewer kernels or places in the probe, or split the file"
            );
        }
    }
    Ok(places)
}

struct Finder<'a, 'm> {
    spec: &'a ProbeSpec,
    accesses: &'a HashMap<Instruction<'m>, Vec<(TracedOperation<'m>, Site)>>,
    function: Function<'m>,
    name: String,
    numbers: HashMap<Block<'m>, u32>,
    places: &'a mut Vec<Place<'m>>,
}

impl<'m> Finder<'_, 'm> {
    fn walk(&mut self) {
        for block in self.function.get_basic_block_iter() {
            let instructions = block.instructions();
            let is_phi = |i: &&Instruction| i.get_opcode() == Phi;
            let Some(head) = instructions.iter().find(|i| !is_phi(i)).copied() else {
                continue;
            };
            if self.numbers[&block] == 0 && self.function.is_kernel() {
                self.add(At::KernelEntry, head, Subject::Place, |_| {});
            }
            let successors = block.successors().into_iter();
            let successors: Vec<u32> = successors.map(|to| self.numbers[&to]).collect();
            let (file, lines) = lines(&instructions);
            self.add(At::Block, head, Subject::Place, |site| {
                site.what = block.name();
                site.width = instructions.len() as u32;
                site.successors = successors.clone();
                site.lines = lines;
                if let Some((first, _)) = lines.filter(|_| site.line == 0) {
                    site.line = first;
                    site.file = file.clone();
                }
            });
            for instruction in instructions {
                self.instruction(instruction, &successors);
            }
        }
    }

    fn instruction(&mut self, instruction: Instruction<'m>, successors: &[u32]) {
        let operation = instruction.get_opcode();
        let code: LLVMOpcode = operation.into();
        let no_details = |_: &mut PointSite| {};
        if operation == Br && instruction.operand_count() == 3 {
            self.add(At::Branch, instruction, Subject::Condition, |site| {
                site.successors = successors.to_vec();
            });
        } else if operation == Return && self.function.is_kernel() {
            self.add(At::KernelExit, instruction, Subject::Place, no_details);
        } else if let Some(call) = instruction.as_call() {
            let name = call.function_name();
            if name.starts_with("llvm.nvvm.bar") && !name.contains("warp") {
                self.add(At::Barrier, instruction, Subject::Place, no_details);
            } else if call.defined_function().is_some() {
                self.add(At::Call, instruction, Subject::Place, |site| {
                    site.what = display_name(&name);
                });
            }
        }
        let accesses = self.accesses.get(&instruction);
        for (traced, access) in accesses.into_iter().flatten() {
            let at = match access.op {
                Op::Load => At::Load,
                Op::Store => At::Store,
                _ => At::Atomic,
            };
            self.add(at, instruction, Subject::Access(*traced), |site| {
                site.operation = access.op as u32;
                site.width = access.width_bytes;
            });
        }
        if let Some(class) = class_of(instruction)
            && accesses.is_none()
        {
            self.add(class, instruction, Subject::Place, |site| {
                site.operation = code as u32;
                site.width = value_bits(instruction.value());
            });
        }
        let bits = value_bits(instruction.value());
        if bits > 0 && !matches!(operation, Phi | Alloca) && instruction.next().is_some() {
            let at = if bits == 1 { At::Predicate } else { At::Value };
            self.add(at, instruction, Subject::Value(instruction), |site| {
                site.width = bits;
            });
        }
    }

    fn add(
        &mut self,
        at: At,
        instruction: Instruction<'m>,
        subject: Subject<'m>,
        add_details: impl Fn(&mut PointSite),
    ) {
        for (index, point) in self.spec.points.iter().enumerate() {
            if !point.at.contains(&at) {
                continue;
            }
            // A value exists only after its instruction.
            let after = point.when == When::After && at.is_memory() || at.has_value();
            let next = after.then(|| instruction.next()).flatten();
            let location = instruction.location();
            let mut site = PointSite {
                point: index as u32,
                at,
                function: self.name.clone(),
                file: location.file,
                line: location.line,
                column: location.column,
                what: operation_name(instruction),
                block: self.numbers[&instruction.parent_block()],
                operation: 0,
                width: 0,
                successors: Vec::new(),
                lines: None,
                followers: 0,
            };
            add_details(&mut site);
            self.places.push(Place {
                site,
                anchor: next.unwrap_or(instruction),
                subject,
            });
        }
    }
}

/// Returns the file of a block's first instruction with a source line, and the block's lowest and highest lines in that
/// file.
fn lines(instructions: &[Instruction]) -> (String, Option<(u32, u32)>) {
    let mut locations = instructions.iter().map(|i| i.location());
    let Some(first) = locations.find(|location| location.line > 0) else {
        return (String::new(), None);
    };
    let (mut low, mut high) = (first.line, first.line);
    for location in locations.filter(|it| it.line > 0 && it.file == first.file) {
        low = low.min(location.line);
        high = high.max(location.line);
    }
    (first.file, Some((low, high)))
}

pub fn value_bits(value: Value) -> u32 {
    match value.ty() {
        ty @ (Type::IntType(_) | Type::FloatType(_) | Type::PointerType(_)) if ty.bits() <= 64 => {
            ty.bits()
        }
        _ => 0,
    }
}

/// Returns the name of the function that an instruction calls, or LLVM's name for its operation, such as `icmp`.
fn operation_name(instruction: Instruction) -> String {
    let call = instruction.as_call();
    if let Some(callee) = call.and_then(|call| call.get_called_fn_value()) {
        return callee.name();
    }
    let code: LLVMOpcode = instruction.get_opcode().into();
    let name = format!("{code:?}");
    name.trim_start_matches("LLVM").to_lowercase()
}
