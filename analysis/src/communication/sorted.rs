//! Sorting more than fits in memory: sorted runs on disk, merged when they are read.

use super::spill::{Fixed, Run, RunReader, RunWriter, SpillFolder};
use crate::error::Result;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Runs are merged into one when there are so many.
const MERGE_AT: usize = 64;

/// Collects items and hands them out in order. Neighbours that can be joined are.
#[derive(Debug)]
pub(crate) struct Sorter<T> {
    name: &'static str,
    budget_bytes: usize,
    folder: Arc<SpillFolder>,
    memory: Vec<T>,
    runs: Vec<Run>,
    next: u64,
    /// Length of `memory` from which on it is looked through for items to join.
    join_at: usize,
}

/// Items that are left alone.
const JOIN_AT: usize = 1 << 20;

/// What [`Sorter`] sorts.
pub(crate) trait Item: Fixed + Ord + Send {
    /// The item's place in the order as a number; compared much faster than its fields. Items of the same place may differ.
    fn key(&self) -> u128;

    /// Adds `other`, which is of the same place or directly behind, if they are one.
    fn join(&mut self, other: &Self) -> bool;
}

impl<T: Item> Sorter<T> {
    /// `name` is for its files; up to about `budget_bytes` stay in memory.
    pub(crate) fn new(name: &'static str, budget_bytes: usize, folder: Arc<SpillFolder>) -> Self {
        Self {
            name,
            budget_bytes,
            folder,
            memory: Vec::new(),
            runs: Vec::new(),
            next: 0,
            join_at: JOIN_AT,
        }
    }

    /// Adds items.
    pub(crate) fn append(&mut self, items: &mut Vec<T>) -> Result<()> {
        self.memory.append(items);
        let bytes = |items: usize| items.saturating_mul(size_of::<T>());
        if bytes(self.memory.len()) > self.budget_bytes || self.memory.len() >= self.join_at {
            // Not in parallel: the caller holds a lock, and would wait for a thread that waits for the lock.
            self.memory.sort_unstable_by_key(Item::key);
            self.memory.dedup_by(|next, kept| kept.join(next));
            self.join_at = (2 * self.memory.len()).max(JOIN_AT);
            if bytes(self.memory.len()) > self.budget_bytes / 2 {
                self.spill()?;
            }
        }
        Ok(())
    }

    fn file_name(&mut self) -> String {
        self.next += 1;
        format!("{}-{}", self.name, self.next)
    }

    fn spill(&mut self) -> Result<()> {
        let name = self.file_name();
        let mut writer = RunWriter::create(&self.folder, &name)?;
        writer.push(&self.memory)?;
        self.runs.push(writer.finish()?);
        self.memory = Vec::new();
        if self.runs.len() >= MERGE_AT {
            let name = self.file_name();
            let mut writer = RunWriter::create(&self.folder, &name)?;
            merge(&self.runs, |item: &T| {
                writer.push(std::slice::from_ref(item))
            })?;
            self.runs = vec![writer.finish()?];
        }
        Ok(())
    }

    /// Everything, sorted and joined: in memory if it never left it.
    pub(crate) fn finish(mut self) -> Result<Sorted<T>> {
        self.memory.par_sort_unstable_by_key(Item::key);
        self.memory.dedup_by(|next, kept| kept.join(next));
        if self.runs.is_empty() {
            return Ok(Sorted {
                memory: self.memory,
                run: None,
                _folder: self.folder,
            });
        }
        self.spill()?;
        let name = self.file_name();
        let mut writer = RunWriter::create(&self.folder, &name)?;
        merge(&self.runs, |item: &T| {
            writer.push(std::slice::from_ref(item))
        })?;
        Ok(Sorted {
            memory: Vec::new(),
            run: Some(writer.finish()?),
            _folder: self.folder,
        })
    }
}

fn merge<T: Item>(runs: &[Run], mut sink: impl FnMut(&T) -> Result<()>) -> Result<()> {
    let mut readers: Vec<RunReader<'_, T>> = runs.iter().map(Run::read).collect::<Result<_>>()?;
    let mut heads = BinaryHeap::new();
    for (index, reader) in readers.iter_mut().enumerate() {
        if let Some(item) = reader.next()? {
            heads.push(Reverse((item.key(), index, item)));
        }
    }
    let mut current: Option<T> = None;
    while let Some(Reverse((_, index, item))) = heads.pop() {
        if let Some(next) = readers[index].next()? {
            heads.push(Reverse((next.key(), index, next)));
        }
        let joined = current.as_mut().is_some_and(|kept| kept.join(&item));
        if !joined && let Some(done) = current.replace(item) {
            sink(&done)?;
        }
    }
    current.iter().try_for_each(sink)
}

/// Sorted items, in memory or on disk.
#[derive(Debug)]
pub(crate) struct Sorted<T> {
    memory: Vec<T>,
    run: Option<Run>,
    /// Keeps the file's folder.
    _folder: Arc<SpillFolder>,
}

impl<T: Item> Sorted<T> {
    /// Number of items.
    pub(crate) fn len(&self) -> u64 {
        (self.run.as_ref()).map_or(self.memory.len() as u64, |run| run.items)
    }

    /// Hands each item to `sink`, in order.
    pub(crate) fn each(&self, mut sink: impl FnMut(&T) -> Result<()>) -> Result<()> {
        let Some(run) = &self.run else {
            return self.memory.iter().try_for_each(sink);
        };
        let mut reader = run.read()?;
        while let Some(item) = reader.next()? {
            sink(&item)?;
        }
        Ok(())
    }
}
