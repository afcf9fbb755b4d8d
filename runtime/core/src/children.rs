//! Launches from the device: what a kernel launches runs when all CTAs of its own launch have ended, and so do its copies. CUDA leaves open
//! when a child begins, and lets no kernel wait for one.

use std::collections::{HashMap, VecDeque};

/// A piece of work, `W`, that a kernel asked for.
pub struct Child<W> {
    /// The CTA that did.
    pub cta: u64,
    /// Its stream: what a CTA puts into one runs one after the other, each with its own children.
    pub stream: usize,
    pub work: W,
}

/// What a CTA put into a stream.
struct Chain<W> {
    rest: VecDeque<W>,
    /// The chain whose kernel asked for it.
    parent: Option<usize>,
    /// Chains of the kernel that ran last that are not through.
    pending: usize,
}

/// Runs what a launch asked for, and what that asks for; `run` runs one piece and returns what it asked for. Streams take turns, those that
/// were asked for first first, much as on a GPU: programs count on that when they hand out room for the launches that are under way.
///
/// # Errors
/// The first of `run`'s; what has not begun by then never does.
pub fn run_all<W, E>(
    children: Vec<Child<W>>,
    mut run: impl FnMut(W) -> Result<Vec<Child<W>>, E>,
) -> Result<(), E> {
    let (mut chains, mut ready) = (Vec::new(), VecDeque::new());
    add_chains(children, None, &mut chains, &mut ready);
    while let Some(index) = ready.pop_front() {
        let Some(work) = chains[index].rest.pop_front() else {
            // Through: its parent's stream goes on when all others that it waits for are.
            if let Some(parent) = chains[index].parent {
                chains[parent].pending -= 1;
                if chains[parent].pending == 0 {
                    ready.push_back(parent);
                }
            }
            continue;
        };
        chains[index].pending = add_chains(run(work)?, Some(index), &mut chains, &mut ready);
        if chains[index].pending == 0 {
            ready.push_back(index);
        }
    }
    Ok(())
}

/// Sorts what a launch asked for by CTA and stream; returns how many chains that makes.
fn add_chains<W>(
    mut children: Vec<Child<W>>,
    parent: Option<usize>,
    chains: &mut Vec<Chain<W>>,
    ready: &mut VecDeque<usize>,
) -> usize {
    children.sort_by_key(|child| child.cta);
    let first = chains.len();
    let mut known = HashMap::new();
    for child in children {
        let index = *known.entry((child.cta, child.stream)).or_insert_with(|| {
            chains.push(Chain {
                rest: VecDeque::new(),
                parent,
                pending: 0,
            });
            chains.len() - 1
        });
        chains[index].rest.push_back(child.work);
    }
    ready.extend(first..chains.len());
    chains.len() - first
}

#[cfg(test)]
mod tests;
