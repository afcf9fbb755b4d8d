//! Control flow of a function: dominators, loops and control dependence.

use crate::ir::{Block, Function, traits::*};
use crate::reach::reach;
use std::collections::{HashMap, HashSet};

/// Control-flow graph of a function's numbered blocks and a virtual exit block.
pub struct Flow<'m> {
    pub blocks: Vec<Block<'m>>,
    numbers: HashMap<Block<'m>, usize>,
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
}

pub struct Loop {
    pub head: usize,
    pub blocks: HashSet<usize>,
}

impl<'m> Flow<'m> {
    pub fn of(function: Function<'m>) -> Self {
        let blocks = function.get_basic_blocks();
        let numbers: HashMap<_, _> = blocks.iter().copied().zip(0..).collect();
        let end = blocks.len();
        let mut successors: Vec<Vec<usize>> = (blocks.iter())
            .map(|block| match block.successors() {
                targets if targets.is_empty() => vec![end],
                targets => targets.iter().map(|target| numbers[target]).collect(),
            })
            .collect();
        successors.push(Vec::new());
        let mut predecessors = vec![Vec::new(); successors.len()];
        for (from, targets) in successors.iter().enumerate() {
            for &to in targets {
                predecessors[to].push(from);
            }
        }
        Flow {
            blocks,
            numbers,
            successors,
            predecessors,
        }
    }

    pub fn number(&self, block: Block<'m>) -> usize {
        self.numbers[&block]
    }

    /// Returns the natural loops, merging those with the same header.
    pub fn loops(&self) -> Vec<Loop> {
        let dominators = dominators(&self.successors, &self.predecessors, 0);
        let mut loops: HashMap<usize, HashSet<usize>> = HashMap::new();
        for (from, targets) in self.successors.iter().enumerate() {
            let is_back_edge = |to: &&usize| dominates(&dominators, **to, from);
            for &head in targets.iter().filter(is_back_edge) {
                let body = reach([from], |block| match block {
                    _ if block == head => Vec::new(),
                    _ => self.predecessors[block].clone(),
                });
                let blocks = loops.entry(head).or_default();
                blocks.extend(body);
                blocks.insert(head);
            }
        }
        let loops = loops.into_iter();
        loops.map(|(head, blocks)| Loop { head, blocks }).collect()
    }

    pub fn exits(&self, cycle: &Loop) -> Vec<usize> {
        let is_outside = |to: &usize| !cycle.blocks.contains(to);
        let leaves = |block: &&usize| self.successors[**block].iter().any(is_outside);
        cycle.blocks.iter().filter(leaves).copied().collect()
    }

    /// Returns the blocks that are control-dependent, directly or transitively, on the branches at the ends of the
    /// given blocks.
    pub fn dependents(&self, branches: impl IntoIterator<Item = usize>) -> HashSet<usize> {
        let end = self.successors.len() - 1;
        let post_dominators = dominators(&self.predecessors, &self.successors, end);
        let directly = |branch: usize| {
            let mut dependents = HashSet::new();
            if self.successors[branch].len() > 1 {
                let end = post_dominators[branch];
                for &target in &self.successors[branch] {
                    // Add everything along this edge up to the branch's immediate post-dominator.
                    let mut next = Some(target);
                    while let Some(block) = next.filter(|block| Some(*block) != end) {
                        dependents.insert(block);
                        next = post_dominators[block].filter(|next| *next != block);
                    }
                }
            }
            dependents
        };
        let reached = reach(branches, directly);
        reached.into_iter().flat_map(directly).collect()
    }
}

/// Returns whether block `above` dominates `below`.
fn dominates(dominators: &[Option<usize>], above: usize, below: usize) -> bool {
    let mut block = below;
    loop {
        match dominators[block] {
            _ if block == above => return true,
            Some(next) if next != block => block = next,
            _ => return false,
        }
    }
}

/// Returns each block's immediate dominator: `root` for `root`, `None` for unreachable blocks (Cooper, Harvey and
/// Kennedy).
fn dominators(
    successors: &[Vec<usize>],
    predecessors: &[Vec<usize>],
    root: usize,
) -> Vec<Option<usize>> {
    let order = postorder(successors, root);
    let mut position = vec![usize::MAX; successors.len()];
    for (index, &block) in order.iter().enumerate() {
        position[block] = index;
    }
    let mut dominators: Vec<Option<usize>> = vec![None; successors.len()];
    dominators[root] = Some(root);
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for &block in order.iter().rev().filter(|&&block| block != root) {
            let known = predecessors[block].iter().copied();
            let known = known.filter(|from| dominators[*from].is_some());
            let common = known.reduce(|mut left, mut right| {
                while left != right {
                    while position[left] < position[right] {
                        left = dominators[left].unwrap_or(root);
                    }
                    while position[right] < position[left] {
                        right = dominators[right].unwrap_or(root);
                    }
                }
                left
            });
            has_changed |= dominators[block] != common;
            dominators[block] = common;
        }
    }
    dominators
}

fn postorder(successors: &[Vec<usize>], root: usize) -> Vec<usize> {
    let (mut order, mut seen) = (Vec::new(), HashSet::from([root]));
    let mut stack = vec![(root, 0)];
    while let Some((block, edge)) = stack.pop() {
        match successors[block].get(edge) {
            Some(&next) => {
                stack.push((block, edge + 1));
                if seen.insert(next) {
                    stack.push((next, 0));
                }
            }
            None => order.push(block),
        }
    }
    order
}
