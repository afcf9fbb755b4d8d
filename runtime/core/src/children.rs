//! Launches from the device. A kernel's requests are carried out once all its CTAs have finished, since CUDA does not
//! let a kernel wait for its children.

use std::collections::{HashMap, VecDeque};

/// Work that a CTA requested.
pub struct Child<W> {
    pub cta: u64,
    /// The CTA's stream, whose work runs in order, each item followed by its own children.
    pub stream: usize,
    pub work: W,
}

/// A CTA's remaining work in a stream.
struct Chain<W> {
    rest: VecDeque<W>,
    parent: Option<usize>,
    /// Number of unfinished chains that this chain's last kernel requested.
    pending: usize,
}

/// Runs a launch's requests and the requests that they make in turn, until the first error; `run` runs one request and
/// returns those that it makes. Streams take turns in the order of their requests, much as on a GPU; programs rely on
/// this when they limit pending launches.
pub fn run_all<W, E>(
    children: Vec<Child<W>>,
    mut run: impl FnMut(W) -> Result<Vec<Child<W>>, E>,
) -> Result<(), E> {
    let (mut chains, mut ready) = (Vec::new(), VecDeque::new());
    add_chains(children, None, &mut chains, &mut ready);
    while let Some(index) = ready.pop_front() {
        let Some(work) = chains[index].rest.pop_front() else {
            // Finished: the parent resumes once all child chains have finished.
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

/// Groups requests into chains by CTA and stream; returns the number of chains.
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
