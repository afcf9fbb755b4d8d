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
                none if none.is_empty() => vec![end],
                ways => ways.iter().map(|way| numbers[way]).collect(),
            })
            .collect();
        successors.push(Vec::new());
        let mut predecessors = vec![Vec::new(); successors.len()];
        for (from, ways) in successors.iter().enumerate() {
            for &to in ways {
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
        for (from, ways) in self.successors.iter().enumerate() {
            for &head in ways.iter().filter(|&&to| is_above(&dominators, to, from)) {
                let body = reach([from], |at| match at {
                    _ if at == head => Vec::new(),
                    _ => self.predecessors[at].clone(),
                });
                let all = loops.entry(head).or_default();
                all.extend(body);
                all.insert(head);
            }
        }
        let loops = loops.into_iter();
        loops.map(|(head, blocks)| Loop { head, blocks }).collect()
    }

    pub fn exits(&self, of: &Loop) -> Vec<usize> {
        let is_outside = |to: &usize| !of.blocks.contains(to);
        let leaves = |at: &&usize| self.successors[**at].iter().any(is_outside);
        of.blocks.iter().filter(leaves).copied().collect()
    }

    /// Returns the blocks that are control-dependent, directly or transitively, on the branches at the ends of the given blocks.
    pub fn decided_by(&self, branches: impl IntoIterator<Item = usize>) -> HashSet<usize> {
        let end = self.successors.len() - 1;
        let post_dominators = dominators(&self.predecessors, &self.successors, end);
        let directly = |branch: usize| {
            let mut decided = HashSet::new();
            if self.successors[branch].len() > 1 {
                for &way in &self.successors[branch] {
                    // Adds everything along this edge up to the branch's immediate post-dominator.
                    let mut at = Some(way);
                    while let Some(one) = at.filter(|one| Some(*one) != post_dominators[branch]) {
                        decided.insert(one);
                        at = post_dominators[one].filter(|next| *next != one);
                    }
                }
            }
            decided
        };
        let all = reach(branches, directly);
        all.into_iter().flat_map(directly).collect()
    }
}

/// Whether block `above` dominates `below`.
fn is_above(dominators: &[Option<usize>], above: usize, below: usize) -> bool {
    let mut at = below;
    loop {
        match dominators[at] {
            _ if at == above => return true,
            Some(next) if next != at => at = next,
            _ => return false,
        }
    }
}

/// Returns each block's immediate dominator; `root` for `root`, `None` for unreachable blocks (Cooper, Harvey and Kennedy).
fn dominators(
    successors: &[Vec<usize>],
    predecessors: &[Vec<usize>],
    root: usize,
) -> Vec<Option<usize>> {
    let order = postorder(successors, root);
    let mut place = vec![usize::MAX; successors.len()];
    for (at, &block) in order.iter().enumerate() {
        place[block] = at;
    }
    let mut found: Vec<Option<usize>> = vec![None; successors.len()];
    found[root] = Some(root);
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for &block in order.iter().rev().filter(|&&block| block != root) {
            let known = predecessors[block].iter().copied();
            let known = known.filter(|from| found[*from].is_some());
            let common = known.reduce(|mut one, mut other| {
                while one != other {
                    while place[one] < place[other] {
                        one = found[one].unwrap_or(root);
                    }
                    while place[other] < place[one] {
                        other = found[other].unwrap_or(root);
                    }
                }
                one
            });
            has_changed |= found[block] != common;
            found[block] = common;
        }
    }
    found
}

fn postorder(successors: &[Vec<usize>], root: usize) -> Vec<usize> {
    let (mut order, mut seen) = (Vec::new(), HashSet::from([root]));
    let mut open = vec![(root, 0)];
    while let Some((block, way)) = open.pop() {
        match successors[block].get(way) {
            Some(&next) => {
                open.push((block, way + 1));
                if seen.insert(next) {
                    open.push((next, 0));
                }
            }
            None => order.push(block),
        }
    }
    order
}
