//! Sorts more items than fit in memory, as runs in memory or on disk that are merged at the end.

use super::file::{Fixed, Run, RunReader, RunWriter, SpillFolder};
use crate::error::Result;
use crate::parallel::mapped;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use superstep_trace::Cancellation;

/// Number of on-disk runs with the same merge count that are merged into one. Thus, each item is written only a few
/// times, however many items there are.
const MERGE_AT: usize = 256;

/// Maximum number of items in a run.
const RUN_ITEMS: usize = 1 << 20;

/// Number of items that one thread sorts without distributing them first: about as many as fit into a core's cache.
const SORT_ITEMS: usize = 1 << 13;

/// Number of items that are sorted by their whole keys.
const FEW_ITEMS: usize = 32;

/// Maximum number of parts into which items are distributed before each part is sorted.
const PARTS: usize = 1 << 10;

/// Number of items that a thread distributes at once.
const TASK_ITEMS: usize = 1 << 17;

/// Number of items that a thread processes at once, not counting the rest of the last item's group.
const PIECE: usize = 1 << 13;

/// Collects items from multiple threads, sorts them, and joins equal ones.
#[derive(Debug)]
pub(crate) struct Sorter<T> {
    name: &'static str,
    pub(crate) run_items: usize,
    /// Maximum number of items in all runs that stay in memory.
    memory_items: usize,
    folder: Arc<SpillFolder>,
    cancellation: Cancellation,
    state: Mutex<State<T>>,
}

#[derive(Debug, Default)]
struct State<T> {
    /// Items not yet in a run.
    pending: Vec<Vec<T>>,
    pending_items: usize,
    /// Runs in memory, sorted only if `joins`.
    memory: Vec<Vec<T>>,
    memory_items: usize,
    /// Whether joining saved much memory in the first run, so that all later runs are joined too.
    joins: Option<bool>,
    /// Runs, by the number of times that their items have been merged.
    disk: Vec<Vec<Run>>,
    files: u64,
}

pub(crate) trait Item: Fixed + Copy + Default + Ord + Send + Sync {
    /// Returns the sort key, which is much faster to compare than the fields. Different items may have the same key.
    fn key(&self) -> u128;

    /// Merges `other`, the next item in sort order, into this one if both are the same item; returns whether they are.
    fn join(&mut self, other: &Self) -> bool;

    /// Returns the key shared by a group: a source CTA's transfers, or a CTA's addresses.
    fn group(&self) -> u64 {
        (self.key() >> 64) as u64
    }
}

/// Sorts items and joins equal ones. Idle threads help with a full run, because all others may wait for the shard that
/// completes it; not with a shorter one, because a waiting thread may begin another shard, which needs memory.
pub(crate) fn order<T: Item>(items: &mut Vec<T>) {
    let is_full_run = items.len() >= RUN_ITEMS;
    if let Some((mut keys, index_bits)) = packed_keys(items) {
        match is_full_run {
            true => keys.par_sort_unstable(),
            false => keys.sort_unstable(),
        }
        let mask = (1 << index_bits) - 1;
        let sorted = keys.iter().map(|key| items[(key & mask) as usize]);
        *items = sorted.collect();
    } else if is_full_run {
        items.par_sort_unstable_by_key(Item::key);
    } else {
        items.sort_unstable_by_key(Item::key);
    }
    items.dedup_by(|next, previous| previous.join(next));
}

/// Returns one integer for each item, which is faster to sort than the item itself: the bits of its key that are not
/// the same in all items, then its index, whose number of bits is also returned. Fails if they take more than 64 bits,
/// or if there are only a few items.
fn packed_keys<T: Item>(items: &[T]) -> Option<(Vec<u64>, u32)> {
    let first = items.get(FEW_ITEMS)?.key();
    let differing = (items.iter()).fold(0, |bits, item| bits | (item.key() ^ first));
    let index_bits = usize::BITS - items.len().leading_zeros();
    // Only the leading bits of each 32-bit word of the keys are left out, so that the order is the same.
    let words = [96, 64, 32, 0].map(|shift| {
        let width = u32::BITS - ((differing >> shift) as u32).leading_zeros();
        (shift, width)
    });
    if index_bits + words.iter().map(|(_, width)| width).sum::<u32>() > u64::BITS {
        return None;
    }
    let pack = |(index, item): (u64, &T)| {
        let key = item.key();
        let packed = words.iter().fold(0, |packed, &(shift, width)| {
            packed << width | ((key >> shift) as u64 & ((1 << width) - 1))
        });
        packed << index_bits | index
    };
    Some(((0..).zip(items).map(pack).collect(), index_bits))
}

impl<T: Item> Sorter<T> {
    /// Creates a sorter that keeps up to about `budget_bytes` in memory; `name` is the prefix of its file names.
    pub(crate) fn new(
        name: &'static str,
        budget_bytes: usize,
        folder: Arc<SpillFolder>,
        cancellation: Cancellation,
    ) -> Self {
        // One half is for runs in memory, the other for pending items and, for each thread, a run and the copy that
        // sorting makes of it.
        let shares = 1 + 2 * rayon::current_num_threads();
        let memory_items = budget_bytes / 2 / size_of::<T>();
        let run_items = (memory_items / shares).clamp(1, RUN_ITEMS);
        Self {
            name,
            run_items,
            memory_items,
            folder,
            cancellation,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds items. The thread that completes a run sorts and writes it; other threads wait only while the state is
    /// locked.
    pub(crate) fn append(&self, items: Vec<T>) -> Result<()> {
        if items.is_empty() {
            return Ok(());
        }
        let (parts, joins) = {
            let mut state = self.state();
            state.pending_items += items.len();
            state.pending.push(items);
            if state.pending_items < self.run_items {
                return Ok(());
            }
            let has_room = state.memory_items + state.pending_items <= self.memory_items;
            state.pending_items = 0;
            let parts = std::mem::take(&mut state.pending);
            if has_room && state.joins == Some(false) {
                state.memory_items += parts.iter().map(Vec::len).sum::<usize>();
                state.memory.extend(parts);
                return Ok(());
            }
            (parts, state.joins)
        };
        let mut run = parts.concat();
        let before = run.len();
        order(&mut run);
        {
            let mut state = self.state();
            state.joins = joins.or(Some(run.len() < before / 2));
            if state.memory_items + run.len() <= self.memory_items {
                state.memory_items += run.len();
                state.memory.push(run);
                return Ok(());
            }
        }
        let mut written = self.write_run(run.iter())?;
        for merges in 0.. {
            let runs_to_merge = {
                let mut state = self.state();
                if state.disk.len() == merges {
                    state.disk.push(Vec::new());
                }
                let runs_to_merge = &mut state.disk[merges];
                runs_to_merge.push(written);
                if runs_to_merge.len() < MERGE_AT {
                    break;
                }
                std::mem::take(runs_to_merge)
            };
            written = self.merge_runs(&runs_to_merge)?;
        }
        Ok(())
    }

    fn writer(&self) -> Result<RunWriter<T>> {
        let mut state = self.state();
        state.files += 1;
        let name = format!("{}-{}", self.name, state.files);
        drop(state);
        RunWriter::create(&self.folder, &name)
    }

    fn write_run<'a>(&self, mut items: impl Iterator<Item = &'a T>) -> Result<Run>
    where
        T: 'a,
    {
        let mut writer = self.writer()?;
        items.try_for_each(|item| writer.push(item))?;
        writer.finish()
    }

    fn merge_runs(&self, runs: &[Run]) -> Result<Run> {
        let mut writer = self.writer()?;
        let mut step = paced(self.cancellation);
        merge(runs, |item: &T| {
            step()?;
            writer.push(item)
        })?;
        writer.finish()
    }

    /// Returns all items as consecutive sorted parts in memory, or as runs on disk if any run was written.
    fn parts(&self) -> Result<(Vec<Vec<T>>, Vec<Run>)> {
        let (memory, disk) = {
            let mut state = self.state();
            let mut memory = std::mem::take(&mut state.memory);
            memory.append(&mut state.pending);
            (memory, std::mem::take(&mut state.disk))
        };
        let memory = ordered(memory, self.cancellation)?;
        let mut disk: Vec<Run> = disk.into_iter().flatten().collect();
        if !disk.is_empty() && !memory.is_empty() {
            disk.push(self.write_run(memory.iter().flatten())?);
            return Ok((Vec::new(), disk));
        }
        Ok((memory, disk))
    }

    /// Returns all items, sorted and joined; in memory if none was written to disk.
    pub(crate) fn finish(self) -> Result<Sorted<T>> {
        let (memory, disk) = self.parts()?;
        let run = match disk.is_empty() {
            true => None,
            false => Some(self.merge_runs(&disk)?),
        };
        Ok(Sorted {
            memory,
            run,
            cancellation: self.cancellation,
            _folder: self.folder,
        })
    }

    /// Passes all items, sorted and joined, to `work` in pieces of whole groups, on multiple threads if all items are
    /// in memory. Passes the results to `sink` in order.
    pub(crate) fn pieces<R: Send>(
        self,
        work: impl Fn(&[T]) -> R + Sync,
        mut sink: impl FnMut(R),
    ) -> Result<()> {
        let (memory, disk) = self.parts()?;
        if disk.is_empty() {
            let pieces: Vec<&[T]> = memory.iter().flat_map(|part| in_pieces(part)).collect();
            // Bounds the memory used by the results.
            for pieces in pieces.chunks(4 * rayon::current_num_threads()) {
                self.cancellation.check()?;
                let results = mapped(pieces.len(), |number| work(pieces[number]));
                results.into_iter().for_each(&mut sink);
            }
            return Ok(());
        }
        let (mut piece, mut step) = (Vec::new(), paced(self.cancellation));
        merge(&disk, |item: &T| {
            step()?;
            let is_next = |last: &T| last.group() != item.group();
            if piece.len() >= PIECE && piece.last().is_some_and(is_next) {
                sink(work(&piece));
                piece.clear();
            }
            piece.push(*item);
            Ok(())
        })?;
        if !piece.is_empty() {
            sink(work(&piece));
        }
        Ok(())
    }
}

/// Cuts sorted items into pieces without splitting a group.
fn in_pieces<T: Item>(mut rest: &[T]) -> Vec<&[T]> {
    let mut pieces = Vec::with_capacity(rest.len() / PIECE + 1);
    while !rest.is_empty() {
        let min_len = rest.len().min(PIECE);
        let group = rest[min_len - 1].group();
        let more = rest[min_len..].partition_point(|item| item.group() == group);
        let (piece, after) = rest.split_at(min_len + more);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Sorts and joins items on all threads. Returns consecutive parts that do not split a group.
fn ordered<T: Item>(items: Vec<Vec<T>>, cancellation: Cancellation) -> Result<Vec<Vec<T>>> {
    let total: usize = items.iter().map(Vec::len).sum();
    if total <= SORT_ITEMS {
        let mut all = items.concat();
        order(&mut all);
        return Ok(if all.is_empty() {
            Vec::new()
        } else {
            vec![all]
        });
    }
    let boundaries = boundaries(&items, total);
    let mut tasks: Vec<Vec<&[T]>> = Vec::new();
    let mut in_task = TASK_ITEMS;
    for slice in items.iter().flat_map(|items| items.chunks(TASK_ITEMS)) {
        if in_task >= TASK_ITEMS {
            tasks.push(Vec::new());
            in_task = 0;
        }
        in_task += slice.len();
        tasks
            .last_mut()
            .into_iter()
            .for_each(|task| task.push(slice));
    }
    let distributed = mapped(tasks.len(), |task| distributed(&tasks[task], &boundaries));
    drop(tasks);
    drop(items);
    let mut parts = mapped(boundaries.len() + 1, |part| {
        let mut items = Vec::new();
        for (sorted, ends) in &distributed {
            let start = part.checked_sub(1).map_or(0, |previous| ends[previous]);
            items.extend_from_slice(&sorted[start as usize..ends[part] as usize]);
        }
        if !cancellation.is_requested() {
            order(&mut items);
        }
        items
    });
    parts.retain(|items| !items.is_empty());
    cancellation.check()?;
    Ok(parts)
}

/// Returns the first group of each part but the first, estimated from a sample.
fn boundaries<T: Item>(items: &[Vec<T>], total: usize) -> Vec<u64> {
    const SAMPLES: usize = 8;
    let parts = (total / SORT_ITEMS).clamp(1, PARTS);
    let step = (total / (parts * SAMPLES)).max(1);
    let all = items.iter().flatten();
    let mut sample: Vec<u64> = all.step_by(step).map(Item::group).collect();
    sample.sort_unstable();
    let mut boundaries: Vec<u64> = sample.into_iter().step_by(SAMPLES).skip(1).collect();
    boundaries.dedup();
    boundaries
}

/// Orders the items of `task` by part only; also returns the end of each part.
fn distributed<T: Item>(task: &[&[T]], boundaries: &[u64]) -> (Vec<T>, Vec<u32>) {
    let all = || task.iter().copied().flatten();
    let part_of = |item: &T| boundaries.partition_point(|first| *first <= item.group()) as u16;
    let parts: Vec<u16> = all().map(part_of).collect();
    let mut ends = vec![0u32; boundaries.len() + 1];
    for part in &parts {
        ends[usize::from(*part)] += 1;
    }
    let mut next = Vec::with_capacity(ends.len());
    let mut sum = 0;
    for end in &mut ends {
        next.push(sum);
        sum += *end;
        *end = sum;
    }
    let mut sorted = vec![T::default(); parts.len()];
    for (item, part) in all().zip(&parts) {
        let at = &mut next[usize::from(*part)];
        sorted[*at as usize] = *item;
        *at += 1;
    }
    (sorted, ends)
}

/// Merges runs and frees their disk space.
fn merge<T: Item>(runs: &[Run], mut sink: impl FnMut(&T) -> Result<()>) -> Result<()> {
    let mut readers: Vec<RunReader<T>> = runs.iter().map(Run::drain).collect::<Result<_>>()?;
    let mut heads = BinaryHeap::new();
    for (index, reader) in readers.iter_mut().enumerate() {
        if let Some(item) = reader.next()? {
            heads.push(Reverse((item.key(), index, item)));
        }
    }
    let mut current: Option<T> = None;
    while let Some(mut head) = heads.peek_mut() {
        let (_, index, item) = head.0;
        match readers[index].next()? {
            // Replacing the head moves one element of the heap instead of two.
            Some(next) => head.0 = (next.key(), index, next),
            None => drop(std::collections::binary_heap::PeekMut::pop(head)),
        }
        let joined = current.as_mut().is_some_and(|last| last.join(&item));
        if !joined && let Some(done) = current.replace(item) {
            sink(&done)?;
        }
    }
    current.iter().try_for_each(sink)
}

/// Returns a function that checks `cancellation` once every 4096 calls.
fn paced(cancellation: Cancellation) -> impl FnMut() -> Result<()> {
    let mut items = 0u32;
    move || {
        items = (items + 1) % (1 << 12);
        if items == 0 {
            cancellation.check()?;
        }
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct Sorted<T> {
    memory: Vec<Vec<T>>,
    run: Option<Run>,
    cancellation: Cancellation,
    /// Keeps the file's folder alive.
    _folder: Arc<SpillFolder>,
}

impl<T> Sorted<T> {
    pub(crate) fn from_sorted(sorted: Vec<T>) -> Self {
        Self {
            memory: vec![sorted],
            run: None,
            cancellation: Cancellation::default(),
            _folder: Arc::new(SpillFolder::new(std::env::temp_dir())),
        }
    }
}

impl<T: Item> Sorted<T> {
    pub(crate) fn len(&self) -> u64 {
        let in_memory = || self.memory.iter().map(|part| part.len() as u64).sum();
        (self.run.as_ref()).map_or_else(in_memory, |run| run.items)
    }

    pub(crate) fn each(&self, sink: impl FnMut(&T) -> Result<()>) -> Result<()> {
        self.part(0..self.len(), sink)
    }

    /// Passes the items with the given indices to `sink`, in order.
    pub(crate) fn part(
        &self,
        indices: Range<u64>,
        mut sink: impl FnMut(&T) -> Result<()>,
    ) -> Result<()> {
        let (first, count) = (indices.start, indices.end.saturating_sub(indices.start));
        let mut step = paced(self.cancellation);
        let Some(run) = &self.run else {
            let items = self.memory.iter().flatten().skip(first as usize);
            return items.take(count as usize).try_for_each(|item| {
                step()?;
                sink(item)
            });
        };
        let mut reader = run.read_from(first)?;
        for _ in 0..count {
            step()?;
            reader.next()?.iter().try_for_each(&mut sink)?;
        }
        Ok(())
    }

    pub(crate) fn into_items(self) -> Result<impl Iterator<Item = Result<T>>> {
        let run = self.run.as_ref();
        let mut reader = run.map(|run| run.read_from(0)).transpose()?;
        let mut memory = self.memory.into_iter().flatten();
        let file = (self.run, self._folder);
        Ok(std::iter::from_fn(move || {
            let _keeps_the_file = &file;
            match &mut reader {
                Some(reader) => reader.next().transpose(),
                None => memory.next().map(Ok),
            }
        }))
    }

    /// Adds up all items, on all threads if they are in memory. Each call of `add` receives one group; `join` adds the
    /// sum of later items to the sum of earlier ones.
    pub(crate) fn sum<A: Send>(
        &self,
        new: impl Fn() -> A + Sync,
        add: impl Fn(&mut A, &[T]) + Sync,
        join: impl Fn(&mut A, A),
    ) -> Result<A> {
        let mut sum = new();
        if self.run.is_some() {
            self.groups(Item::group, |group| add(&mut sum, group))?;
            return Ok(sum);
        }
        let pieces: Vec<&[T]> = (self.memory.iter())
            .flat_map(|part| in_pieces(part))
            .collect();
        let per_thread = pieces.len().div_ceil(rayon::current_num_threads());
        let threads: Vec<&[&[T]]> = pieces.chunks(per_thread.max(1)).collect();
        let sums = mapped(threads.len(), |thread| {
            let mut sum = new();
            let pieces = threads[thread].iter();
            for piece in pieces.take_while(|_| !self.cancellation.is_requested()) {
                let groups = piece.chunk_by(|a, b| a.group() == b.group());
                groups.for_each(|group| add(&mut sum, group));
            }
            sum
        });
        self.cancellation.check()?;
        sums.into_iter().for_each(|more| join(&mut sum, more));
        Ok(sum)
    }

    /// Passes each group of adjacent items with the same key to `sink`.
    pub(crate) fn groups<K: PartialEq>(
        &self,
        key: impl Fn(&T) -> K,
        mut sink: impl FnMut(&[T]),
    ) -> Result<()> {
        let mut group: Vec<T> = Vec::new();
        self.each(|item| {
            if (group.last()).is_some_and(|last| key(last) != key(item)) {
                sink(&group);
                group.clear();
            }
            group.push(*item);
            Ok(())
        })?;
        if !group.is_empty() {
            sink(&group);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
