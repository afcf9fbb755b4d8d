//! Cuts a kernel's body into regions at its barriers.

use super::body::{Body, Ids};
use super::frame::{Frame, Layout, Place};
use super::{is_barrier, waits_for_cta};
use crate::ir::{
    Block, Builder, Function, Instruction, Machine, Module, Opcode::*, Type, Value, append_copies,
    traits::*,
};
use crate::reach::reach;
use anyhow::Result;
use std::collections::{BTreeSet, HashMap};
use superstep_abi::cpu::EXIT;

/// Limit on the regions' total size: a multiple of the kernel's instruction count, plus a constant.
const MAX_GROWTH: usize = 6;
const SPARE_INSTRUCTIONS: usize = 4000;

pub struct Region<'m> {
    /// Has the body's parameters and returns the next region.
    pub function: Function<'m>,
    /// Possible results: indices of regions, or [`EXIT`].
    pub exits: Vec<u32>,
}

/// Splits the body's blocks after each barrier, and makes values pass between blocks through memory.
pub fn prepare(module: &mut Module, machine: &Machine, body: &Body) -> Result<()> {
    module.run_function_passes(&body.name, "reg2mem", machine)?;
    let barriers = (module.function(&body.name).into_iter())
        .flat_map(|function| function.calls())
        .filter(|call| is_barrier(*call));
    for barrier in barriers {
        barrier.parent_block().split_after(barrier.instruction());
    }
    module.run_function_passes(&body.name, "reg2mem", machine)
}

/// Cuts the prepared body of kernel `name` into regions, the first of which begins at the entry. Returns the regions
/// and the frame's bytes per thread, or `None` if the body cannot be cut.
pub fn cut<'m>(module: &'m Module, body: &Body, name: &str) -> Option<(Vec<Region<'m>>, u64)> {
    let function = module.function(&body.name)?;
    let variables = Variables::find(function)?;
    let waits = |block: &Block| block.get_instructions().any(waits_for_cta);
    let blocks = function.get_basic_blocks().into_iter();
    let cutter = Cutter {
        module,
        function,
        name,
        live: variables.live(function),
        continuations: blocks
            .filter(waits)
            .filter_map(|block| Some((block, *block.successors().first()?)))
            .collect(),
        variables,
    };
    cutter.run()
}

/// Stack variables of the body, all allocated in its first block.
struct Variables<'m> {
    /// Variables that are only loaded and stored as a whole, usually created by reg2mem.
    scalars: Vec<Instruction<'m>>,
    number: HashMap<Value<'m>, usize>,
    others: Vec<Instruction<'m>>,
}

impl<'m> Variables<'m> {
    fn find(function: Function<'m>) -> Option<Self> {
        let entry = *function.get_basic_blocks().first()?;
        let (mut scalars, mut others) = (Vec::new(), Vec::new());
        for instruction in function.instructions() {
            match instruction.get_opcode() {
                Alloca => {
                    let is_single = instruction.operand(0).constant_integer() == Some(1);
                    if instruction.parent_block() != entry || !is_single {
                        return None;
                    }
                    if is_scalar(instruction) {
                        scalars.push(instruction);
                    } else {
                        others.push(instruction);
                    }
                }
                Invoke | IndirectBr | CallBr | VAArg => return None,
                _ => {}
            }
        }
        let number = scalars.iter().enumerate();
        let number = number.map(|(i, v)| (v.value(), i)).collect();
        Some(Variables {
            scalars,
            number,
            others,
        })
    }

    /// Returns the scalar that an instruction accesses, and whether the access is a store.
    fn access(&self, instruction: Instruction<'m>) -> Option<(usize, bool)> {
        let (operand, stores) = match instruction.get_opcode() {
            Load => (0, false),
            Store => (1, true),
            _ => return None,
        };
        let scalar = self.number.get(&instruction.operand(operand))?;
        Some((*scalar, stores))
    }

    fn live(&self, function: Function<'m>) -> HashMap<Block<'m>, BTreeSet<usize>> {
        let blocks = function.get_basic_blocks();
        let (mut live, mut sets) = (HashMap::new(), HashMap::new());
        for block in &blocks {
            let (mut needed, mut set) = (BTreeSet::new(), BTreeSet::new());
            for (scalar, stores) in (block.instructions().into_iter())
                .filter_map(|instruction| self.access(instruction))
            {
                if stores {
                    set.insert(scalar);
                } else if !set.contains(&scalar) {
                    needed.insert(scalar);
                }
            }
            live.insert(*block, needed);
            sets.insert(*block, set);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for block in blocks.iter().rev() {
                let missing = |next| &live[&next] - &sets[block];
                let more: Vec<usize> = block.successors().into_iter().flat_map(missing).collect();
                let known = live.entry(*block).or_default();
                for scalar in more {
                    changed |= known.insert(scalar);
                }
            }
        }
        live
    }
}

fn is_scalar(alloca: Instruction) -> bool {
    let (ty, users) = (alloca.alloca_type(), alloca.using_instructions());
    users.into_iter().all(|user| match user.get_opcode() {
        Load => user.ty() == ty && !user.is_volatile(),
        Store => {
            let value = user.operand(0);
            value != alloca.value() && value.ty() == ty && !user.is_volatile()
        }
        _ => false,
    })
}

struct Cutter<'a, 'm> {
    module: &'m Module,
    function: Function<'m>,
    name: &'a str,
    variables: Variables<'m>,
    live: HashMap<Block<'m>, BTreeSet<usize>>,
    /// Each block that ends with a barrier, and its successor, in layout order.
    continuations: Vec<(Block<'m>, Block<'m>)>,
}

impl<'m> Cutter<'_, 'm> {
    fn run(&self) -> Option<(Vec<Region<'m>>, u64)> {
        let starts: Vec<Block> = (self.function.get_basic_blocks().into_iter().take(1))
            .chain(self.continuations.iter().map(|(_, next)| *next))
            .collect();
        let blocks: Vec<Vec<Block>> = starts.iter().map(|start| self.reachable(*start)).collect();
        let size = |blocks: &[Block]| -> usize {
            blocks.iter().map(|block| block.instructions().len()).sum()
        };
        let limit = MAX_GROWTH * size(&self.function.get_basic_blocks()) + SPARE_INSTRUCTIONS;
        if blocks.iter().map(|blocks| size(blocks)).sum::<usize>() > limit {
            return None;
        }
        let mut layout = Layout::EMPTY;
        let mut place = |alloca: Instruction, min_alignment: u64| {
            let bytes = self.module.allocated_size_bytes(alloca.alloca_type());
            let alignment = u64::from(alloca.alignment_bytes());
            layout.place(bytes, alignment.max(min_alignment))
        };
        let scalars: Vec<Option<Place>> = (self.variables.scalars.iter().enumerate())
            .map(|(scalar, alloca)| {
                let is_live = |start| self.live[start].contains(&scalar);
                starts.iter().any(is_live).then(|| place(*alloca, 1))
            })
            .collect();
        let others = self.variables.others.iter();
        let others: Vec<(Instruction, Place)> = others.map(|it| (*it, place(*it, 16))).collect();
        let regions = (starts.iter().zip(&blocks).enumerate())
            .map(|(number, (start, blocks))| self.region(number, *start, blocks, &scalars, &others))
            .collect();
        Some((regions, layout.used_bytes))
    }

    fn reachable(&self, start: Block<'m>) -> Vec<Block<'m>> {
        let found = reach([start], |block| match self.region_after(block) {
            None => block.successors(),
            Some(_) => Vec::new(),
        });
        let mut blocks = self.function.get_basic_blocks();
        blocks.retain(|block| found.contains(block));
        blocks
    }

    fn region_after(&self, block: Block<'m>) -> Option<u32> {
        let index = self.continuations.iter().position(|(at, _)| *at == block)?;
        Some(index as u32 + 1)
    }

    fn region(
        &self,
        number: usize,
        start: Block<'m>,
        blocks: &[Block<'m>],
        scalars: &[Option<Place>],
        others: &[(Instruction<'m>, Place)],
    ) -> Region<'m> {
        let ty = Type::int(32).function(&self.function.signature().parameters());
        let name = format!("superstep.region.{}.{number}", self.name);
        let function = self.module.add_function(&name, ty);
        function.make_internal();
        function.set_attribute("alwaysinline");
        function.set_attribute("nounwind");
        let mut values: HashMap<Value, Value> = (self.function.parameters().into_iter())
            .zip(function.parameters())
            .collect();
        let enter = function.append_block("enter");
        let builder = Builder::at_end(enter);
        let frame = Frame::new(&builder, &Ids::of(function));
        let accessed = self.accessed(blocks);
        for (scalar, alloca) in self.variables.scalars.iter().enumerate() {
            if accessed.contains_key(&scalar) || self.live[&start].contains(&scalar) {
                let local = builder.alloca(alloca.alloca_type());
                local.set_alignment_bytes(alloca.alignment_bytes());
                values.insert(alloca.value(), local.value());
            }
        }
        for (alloca, place) in others {
            values.insert(alloca.value(), frame.address(&builder, *place));
        }
        let copy = |builder: &Builder<'m>, scalar: usize, to_frame: bool| {
            let alloca = self.variables.scalars[scalar];
            if let (Some(place), Some(local)) = (scalars[scalar], values.get(&alloca.value())) {
                let (ty, address) = (alloca.alloca_type(), frame.address(builder, place));
                let (from, to) = match to_frame {
                    true => (*local, address),
                    false => (address, *local),
                };
                builder.store(builder.load(ty, from), to);
            }
        };
        if number > 0 {
            for scalar in &self.live[&start] {
                copy(&builder, *scalar, false);
            }
        }
        let mut map = values.clone();
        let is_omitted = |instruction: Instruction<'m>| self.is_omitted(instruction);
        let copies = append_copies(function, blocks, &mut map, &is_omitted);
        builder.branch(copies[&start]);
        let mut exits = Vec::new();
        for block in blocks {
            let builder = Builder::at_end(copies[block]);
            let next = match self.region_after(*block) {
                Some(next) => {
                    // Live values that were not stored here are already in the frame.
                    let continuation = self.continuations[next as usize - 1].1;
                    for scalar in &self.live[&continuation] {
                        if accessed.get(scalar) == Some(&true) {
                            copy(&builder, *scalar, true);
                        }
                    }
                    next
                }
                None => match block.get_terminator().map(Instruction::get_opcode) {
                    Some(Return) => EXIT,
                    _ => continue,
                },
            };
            builder.return_value(Type::int(32).constant(u64::from(next)));
            if !exits.contains(&next) {
                exits.push(next);
            }
        }
        Region { function, exits }
    }

    fn accessed(&self, blocks: &[Block<'m>]) -> HashMap<usize, bool> {
        let mut accessed = HashMap::new();
        for instruction in blocks.iter().flat_map(|block| block.instructions()) {
            if let Some((scalar, stores)) = self.variables.access(instruction) {
                *accessed.entry(scalar).or_insert(false) |= stores;
            }
        }
        accessed
    }

    fn is_omitted(&self, instruction: Instruction<'m>) -> bool {
        match instruction.get_opcode() {
            Alloca | Return => true,
            Br => self.region_after(instruction.parent_block()).is_some(),
            // Memory in the frame is always live.
            _ => instruction.as_call().is_some_and(|call| {
                call.function_name().starts_with("llvm.lifetime.") || is_barrier(call)
            }),
        }
    }
}
