//! Cutting a kernel's body at its barriers.

use super::body::{Body, Ids};
use super::frame::{Frame, Layout, Place};
use super::{EXIT, barriers, is_barrier};
use crate::ir::{Block, Builder, Function, Linkage, Machine, Module, Opcode, Value};
use anyhow::Result;
use std::collections::{HashMap, HashSet};

/// Regions may together have this many times the instructions of their kernel, and as many more.
const MOST_GROWTH: usize = 6;
const SPARE_INSTRUCTIONS: usize = 4000;

/// What threads run from one barrier to the next.
pub struct Region {
    /// Gets what the body gets, and returns what comes next.
    pub function: Function,
    /// All that may come next: numbers of regions, or [`EXIT`].
    pub exits: Vec<u32>,
}

/// Cuts the body of kernel `name`, which is not usable afterwards, into regions, of which the first is the entry's. Says
/// how many bytes of a frame they need for each thread. `None` when the body cannot be cut.
pub fn cut(
    module: &Module,
    machine: &Machine,
    body: &Body,
    name: &str,
) -> Result<Option<(Vec<Region>, u64)>> {
    let function = body.function;
    // Then no value is used in another block than its own, but through memory.
    module.run_function_passes(function, "reg2mem", machine)?;
    let mut continuations = HashMap::new();
    for barrier in barriers(function) {
        let block = barrier.parent_block();
        continuations.insert(block, block.split_after(module, barrier));
    }
    module.run_function_passes(function, "reg2mem", machine)?;
    let Some(variables) = Variables::of(module, function) else {
        return Ok(None);
    };
    let cutter = Cutter {
        module,
        function,
        name,
        live: variables.live(function),
        continuations: function
            .blocks()
            .into_iter()
            .filter_map(|block| Some((block, *continuations.get(&block)?)))
            .collect(),
        variables,
    };
    Ok(cutter.run())
}

/// The body's stack memory: all in its first block.
struct Variables {
    /// Only loaded and stored as a whole; reg2mem made most of them.
    scalars: Vec<Value>,
    number: HashMap<Value, usize>,
    /// Anything else, with its size.
    others: Vec<(Value, u64)>,
}

impl Variables {
    fn of(module: &Module, function: Function) -> Option<Self> {
        let entry = *function.blocks().first()?;
        let (mut scalars, mut others) = (Vec::new(), Vec::new());
        for instruction in function.instructions() {
            match instruction.opcode() {
                Some(Opcode::LLVMAlloca) => {
                    let is_single = instruction.operand(0).constant_integer() == Some(1);
                    if instruction.parent_block() != entry || !is_single {
                        return None;
                    }
                    if is_scalar(instruction) {
                        scalars.push(instruction);
                    } else {
                        let bytes = module.allocated_size_bytes(instruction.alloca_type());
                        others.push((instruction, bytes));
                    }
                }
                Some(
                    Opcode::LLVMInvoke
                    | Opcode::LLVMIndirectBr
                    | Opcode::LLVMCallBr
                    | Opcode::LLVMVAArg,
                ) => return None,
                _ => {}
            }
        }
        let number = scalars.iter().enumerate().map(|(i, v)| (*v, i)).collect();
        Some(Variables {
            scalars,
            number,
            others,
        })
    }

    /// The scalar that an instruction loads or stores, and whether it stores.
    fn access(&self, instruction: Value) -> Option<(usize, bool)> {
        let (operand, stores) = match instruction.opcode()? {
            Opcode::LLVMLoad => (0, false),
            Opcode::LLVMStore => (1, true),
            _ => return None,
        };
        let scalar = self.number.get(&instruction.operand(operand))?;
        Some((*scalar, stores))
    }

    /// The scalars whose values may be needed from the start of each block on.
    fn live(&self, function: Function) -> HashMap<Block, HashSet<usize>> {
        let blocks = function.blocks();
        let (mut needs, mut sets) = (HashMap::new(), HashMap::new());
        for block in &blocks {
            let (mut needed, mut set) = (HashSet::new(), HashSet::new());
            for (scalar, stores) in (block.instructions().into_iter())
                .filter_map(|instruction| self.access(instruction))
            {
                if stores {
                    set.insert(scalar);
                } else if !set.contains(&scalar) {
                    needed.insert(scalar);
                }
            }
            needs.insert(*block, needed);
            sets.insert(*block, set);
        }
        let mut live = needs;
        loop {
            let mut changed = false;
            for block in blocks.iter().rev() {
                let mut more: Vec<usize> = block
                    .successors()
                    .iter()
                    .flat_map(|next| live[next].iter().copied())
                    .filter(|scalar| !sets[block].contains(scalar))
                    .collect();
                let known = live.entry(*block).or_default();
                more.retain(|scalar| !known.contains(scalar));
                changed |= !more.is_empty();
                known.extend(more);
            }
            if !changed {
                return live;
            }
        }
    }
}

fn is_scalar(alloca: Value) -> bool {
    let ty = alloca.alloca_type();
    alloca.users().into_iter().all(|user| match user.opcode() {
        Some(Opcode::LLVMLoad) => user.ty() == ty && !user.is_volatile(),
        Some(Opcode::LLVMStore) => {
            let value = user.operand(0);
            value != alloca && value.ty() == ty && !user.is_volatile()
        }
        _ => false,
    })
}

struct Cutter<'a> {
    module: &'a Module,
    function: Function,
    name: &'a str,
    variables: Variables,
    live: HashMap<Block, HashSet<usize>>,
    /// Each block that ends with a barrier, and the one behind, in the order of the code.
    continuations: Vec<(Block, Block)>,
}

impl Cutter<'_> {
    fn run(&self) -> Option<(Vec<Region>, u64)> {
        let starts: Vec<Block> = (self.function.blocks().into_iter().take(1))
            .chain(self.continuations.iter().map(|(_, next)| *next))
            .collect();
        let blocks: Vec<Vec<Block>> = starts.iter().map(|start| self.reachable(*start)).collect();
        let size = |blocks: &[Block]| -> usize {
            blocks.iter().map(|block| block.instructions().len()).sum()
        };
        let most = MOST_GROWTH * size(&self.function.blocks()) + SPARE_INSTRUCTIONS;
        if blocks.iter().map(|blocks| size(blocks)).sum::<usize>() > most {
            return None;
        }
        let mut layout = Layout::new();
        let mut kept: Vec<Option<Place>> = vec![None; self.variables.scalars.len()];
        for (scalar, place) in kept.iter_mut().enumerate() {
            if starts
                .iter()
                .any(|start| self.live[start].contains(&scalar))
            {
                let alloca = self.variables.scalars[scalar];
                let bytes = self.module.allocated_size_bytes(alloca.alloca_type());
                *place = Some(layout.place(bytes, u64::from(alloca.alignment_bytes())));
            }
        }
        let others: Vec<(Value, Place)> = (self.variables.others.iter())
            .map(|(alloca, bytes)| {
                let alignment = u64::from(alloca.alignment_bytes());
                (*alloca, layout.place(*bytes, alignment.max(16)))
            })
            .collect();
        let regions = (starts.iter().zip(&blocks).enumerate())
            .map(|(number, (start, blocks))| self.region(number, *start, blocks, &kept, &others))
            .collect();
        Some((regions, layout.bytes()))
    }

    /// The blocks that are reached without a barrier.
    fn reachable(&self, start: Block) -> Vec<Block> {
        let mut found = HashSet::from([start]);
        let mut pending = vec![start];
        while let Some(block) = pending.pop() {
            if self.behind(block).is_none() {
                let next = block.successors().into_iter();
                pending.extend(next.filter(|next| found.insert(*next)));
            }
        }
        let all = self.function.blocks().into_iter();
        all.filter(|block| found.contains(block)).collect()
    }

    /// Number of the region behind the barrier that ends a block.
    fn behind(&self, block: Block) -> Option<u32> {
        let index = self.continuations.iter().position(|(at, _)| *at == block)?;
        Some(index as u32 + 1)
    }

    fn region(
        &self,
        number: usize,
        start: Block,
        blocks: &[Block],
        kept: &[Option<Place>],
        others: &[(Value, Place)],
    ) -> Region {
        let module = self.module;
        let ty = module
            .int(32)
            .function(&self.function.ty().parameters(), false);
        let name = format!("superstep.region.{}.{number}", self.name);
        let function = module.add_function(&name, ty);
        module.set_linkage(function.value(), Linkage::LLVMInternalLinkage);
        function.add_attribute("alwaysinline");
        function.add_attribute("nounwind");
        let mut values: HashMap<Value, Value> = (self.function.parameters().into_iter())
            .zip(function.parameters())
            .collect();
        let enter = function.append_block("enter");
        let builder = Builder::at_end(module, enter);
        let frame = Frame::new(module, &builder, &Ids::of(function));
        let accessed = self.accessed(blocks);
        for (scalar, alloca) in self.variables.scalars.iter().enumerate() {
            if accessed.contains_key(&scalar) || self.live[&start].contains(&scalar) {
                let own = builder.alloca(alloca.alloca_type());
                own.set_alignment_bytes(alloca.alignment_bytes());
                values.insert(*alloca, own);
            }
        }
        for (alloca, place) in others {
            values.insert(*alloca, frame.address(&builder, *place));
        }
        let copy = |builder: &Builder, scalar: usize, to_frame: bool| {
            let alloca = self.variables.scalars[scalar];
            if let (Some(place), Some(own)) = (kept[scalar], values.get(&alloca)) {
                let (ty, address) = (alloca.alloca_type(), frame.address(builder, place));
                let (from, to) = if to_frame {
                    (*own, address)
                } else {
                    (address, *own)
                };
                builder.store(builder.load(ty, from), to);
            }
        };
        if number > 0 {
            for scalar in sorted(&self.live[&start]) {
                copy(&builder, scalar, false);
            }
        }
        let mut map = values.clone();
        let left_out = |instruction: Value| self.is_left_out(instruction);
        let copies = function.append_copies(module, blocks, &mut map, &left_out);
        builder.branch(copies[&start]);
        let mut exits = Vec::new();
        for block in blocks {
            let builder = Builder::at_end(module, copies[block]);
            let next = match self.behind(*block) {
                Some(next) => {
                    // What is live and was not stored here stands in the frame already.
                    let behind = self.continuations[next as usize - 1].1;
                    for scalar in sorted(&self.live[&behind]) {
                        if accessed.get(&scalar) == Some(&true) {
                            copy(&builder, scalar, true);
                        }
                    }
                    next
                }
                None if block.successors().is_empty() && returns(*block) => EXIT,
                None => continue,
            };
            builder.return_value(module.int(32).constant(u64::from(next)));
            if !exits.contains(&next) {
                exits.push(next);
            }
        }
        Region { function, exits }
    }

    /// The scalars that blocks access, and whether they store them.
    fn accessed(&self, blocks: &[Block]) -> HashMap<usize, bool> {
        let mut accessed = HashMap::new();
        for instruction in blocks.iter().flat_map(|block| block.instructions()) {
            if let Some((scalar, stores)) = self.variables.access(instruction) {
                *accessed.entry(scalar).or_insert(false) |= stores;
            }
        }
        accessed
    }

    fn is_left_out(&self, instruction: Value) -> bool {
        match instruction.opcode() {
            Some(Opcode::LLVMAlloca | Opcode::LLVMRet) => true,
            Some(Opcode::LLVMBr) => self.behind(instruction.parent_block()).is_some(),
            Some(Opcode::LLVMCall) => {
                // Memory in the frame is there all the time.
                let callee = instruction.callee().as_function();
                let lifetime = callee.is_some_and(|f| f.name().starts_with("llvm.lifetime."));
                lifetime || is_barrier(instruction)
            }
            _ => false,
        }
    }
}

fn returns(block: Block) -> bool {
    block
        .terminator()
        .is_some_and(|t| t.opcode() == Some(Opcode::LLVMRet))
}

/// In an order that does not change from run to run.
fn sorted(scalars: &HashSet<usize>) -> Vec<usize> {
    let mut list: Vec<usize> = scalars.iter().copied().collect();
    list.sort_unstable();
    list
}
