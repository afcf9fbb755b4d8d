//! Aggregates the accesses of a launch, with one accumulator for each worker.

use super::entry::{Entry, Local, Source, ThreadId};
use super::page::{PAGE_BYTES, Page, WORD_BYTES, words};
use super::received::Receiver;
use super::{Running, Shadow};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use superstep_trace::{AccessGroup, FirstRead, LaunchSums, LoadedBytes, Op, Parts, Received};

const CACHED_PAGES: usize = 64;
/// Number of collected parts above which the parts are written before the launch ends.
const MANY_PARTS: usize = 1 << 16;

/// Aggregates the access groups of one worker, CTA by CTA.
#[derive(Default)]
pub struct Accumulator {
    pages: PageCache,
    sums: LaunchSums,
    cta: u32,
    receiver: Receiver,
    received: Vec<Received>,
    sources: Sources,
}

/// The part of a thread's access that falls within one page.
#[derive(Clone, Copy)]
struct Piece {
    thread: u32,
    address: u64,
    /// First byte, and one past the last.
    start: u64,
    end: u64,
}

impl Accumulator {
    pub fn group(&mut self, shadow: &Shadow, running: &Running, op: Op, group: &AccessGroup) {
        self.tally(op, group);
        if group.cta != self.cta {
            let blocks = running.blocks;
            if blocks.number(group.cta) != blocks.number(self.cta) {
                self.leave_block(running);
            }
            self.receiver.leave_cta();
            self.cta = group.cta;
        }
        let width = group.width_bytes;
        let lanes = group.threads();
        let mut pieces = lanes
            .flat_map(|(thread, address)| pieces(thread, address, width))
            .peekable();
        while let Some(next) = pieces.peek() {
            let number = next.start / PAGE_BYTES;
            let mut page = self.pages.page(shadow, number).lock();
            while let Some(piece) = pieces.next_if(|piece| piece.start / PAGE_BYTES == number) {
                let mut access = Access {
                    shadow,
                    running,
                    who: ThreadId::new(running.launch, group.cta, piece.thread),
                    place: (piece.address, width),
                    loaded: &mut self.sums.loaded,
                    within_launch: match op.writes() {
                        true => &mut self.sums.within_launch_atomic_bytes,
                        false => &mut self.sums.within_launch_loaded_bytes,
                    },
                    receiver: &mut self.receiver,
                    sources: &mut self.sources,
                };
                let base = number * PAGE_BYTES;
                let (start, end) = (piece.start - base, piece.end - base);
                if op.reads() {
                    access.load(&mut page, base, start, end);
                }
                if op.writes() {
                    let (who, is_plain) = (access.who, op == Op::Store);
                    store(&mut page, who, is_plain, start, end, &mut self.sums);
                }
            }
        }
    }

    fn tally(&mut self, op: Op, group: &AccessGroup) {
        let tally = match op {
            Op::Load => &mut self.sums.loads,
            Op::Store => &mut self.sums.stores,
            _ => &mut self.sums.atomics,
        };
        let lanes = group.lanes() as u64;
        tally.threads += lanes;
        tally.bytes += lanes * u64::from(group.width_bytes);
        tally.warps += 1;
    }

    fn leave_block(&mut self, running: &Running) {
        let block = running.blocks.first(self.cta);
        let all = &mut self.received;
        self.receiver.leave_block(running.launch, block, all);
    }

    /// Removes and returns the parts collected so far if they use too much memory.
    pub fn take_early_parts(&mut self) -> Option<Parts> {
        (self.received.len() >= MANY_PARTS).then(|| Parts {
            received: std::mem::take(&mut self.received),
            first_read: Vec::new(),
        })
    }

    pub fn finish(&mut self, running: &Running) {
        self.leave_block(running);
        self.receiver.leave_cta();
        *running.sums.lock() += std::mem::take(&mut self.sums);
        running.received.lock().append(&mut self.received);
        self.sources.finish(running);
        self.pages = PageCache::default();
    }
}

/// Splits an access at page boundaries.
#[inline]
fn pieces(thread: u32, address: u64, width: u32) -> impl Iterator<Item = Piece> {
    let last = address.saturating_add(u64::from(width));
    let mut start = address;
    std::iter::from_fn(move || {
        if start >= last {
            return None;
        }
        let boundary = (start | (PAGE_BYTES - 1)).saturating_add(1);
        let piece = Piece {
            thread,
            address,
            start,
            end: last.min(boundary),
        };
        start = piece.end;
        Some(piece)
    })
}

struct Access<'a> {
    shadow: &'a Shadow,
    running: &'a Running,
    who: ThreadId,
    /// Address and width.
    place: (u64, u32),
    loaded: &'a mut LoadedBytes,
    /// Number of loaded bytes that another CTA has written in this launch.
    within_launch: &'a mut u64,
    receiver: &'a mut Receiver,
    sources: &'a mut Sources,
}

impl Access<'_> {
    fn load(&mut self, page: &mut Page, base: u64, start: u64, end: u64) {
        for (word, bytes) in words(start, end) {
            let address = base / WORD_BYTES + word as u64;
            page.each(word, bytes, |entry, bytes| {
                self.load_entry(entry, address, bytes);
            });
        }
    }

    #[inline]
    fn load_entry(&mut self, entry: &mut Entry, word: u64, bytes: u8) {
        let count = u64::from(bytes.count_ones());
        if entry.is_from_another_cta(self.who) {
            *self.within_launch += count;
        }
        match entry.local(self.who) {
            Local::Yes => {
                self.loaded.local += count;
                return;
            }
            Local::Perhaps => self.loaded.perhaps_local += count,
            Local::No => {}
        }
        match entry.source(self.who) {
            Source::Host => self.loaded.input += count,
            Source::Unwritten => self.loaded.uninitialised += count,
            Source::Unknown => self.loaded.unknown += count,
            Source::Launch {
                launch,
                cta,
                has_more_writers,
            } => {
                let source = self.sources.get(launch, self.shadow, self.running);
                let is_own = source.is_same_kernel && cta == self.who.cta();
                if is_own && !has_more_writers {
                    self.loaded.own += count;
                    return;
                }
                self.loaded.communicated += count;
                source.stored_bytes += u64::from(entry.mark(self.who, bytes).count_ones());
                if has_more_writers {
                    source.several_bytes += count;
                }
                // The load is not counted if the reader's CTA was the first writer.
                let load = (!is_own).then_some(self.place);
                let blocks = self.running.blocks;
                self.receiver.add(word, bytes, load, (launch, cta), blocks);
            }
        }
    }
}

/// Stores to bytes of a page; counts those that now have several writers or a race.
fn store(
    page: &mut Page,
    who: ThreadId,
    is_plain: bool,
    start: u64,
    end: u64,
    sums: &mut LaunchSums,
) {
    for (word, bytes) in words(start, end) {
        page.each_split(word, bytes, |entry, bytes| {
            let before = *entry;
            entry.write(who, is_plain);
            let count = u64::from(bytes.count_ones());
            if entry.has_multiple_writers(who) && !before.has_multiple_writers(who) {
                sums.several_writers_bytes += count;
            }
            if entry.is_racing(who) && !before.is_racing(who) {
                sums.racing_bytes += count;
            }
        });
    }
}

#[derive(Clone, Copy, Default)]
struct SourceLaunch {
    launch: u32,
    is_same_kernel: bool,
    stored_bytes: u64,
    several_bytes: u64,
}

#[derive(Default)]
struct Sources {
    /// The most recent source, which is usually needed again.
    last: SourceLaunch,
    others: FxHashMap<u32, SourceLaunch>,
}

impl Sources {
    #[inline]
    fn get(&mut self, launch: u32, shadow: &Shadow, running: &Running) -> &mut SourceLaunch {
        if self.last.launch != launch {
            self.switch(launch, shadow, running);
        }
        &mut self.last
    }

    #[cold]
    fn switch(&mut self, launch: u32, shadow: &Shadow, running: &Running) {
        let new = self.others.remove(&launch).unwrap_or_else(|| SourceLaunch {
            launch,
            is_same_kernel: shadow.kernel_of(launch) == Some(running.kernel),
            ..SourceLaunch::default()
        });
        let old = std::mem::replace(&mut self.last, new);
        if old.launch != 0 {
            self.others.insert(old.launch, old);
        }
    }

    fn finish(&mut self, running: &Running) {
        let last = std::mem::take(&mut self.last);
        let mut all = running.first_read.lock();
        for source in self.others.drain().map(|(_, source)| source).chain([last]) {
            if source.stored_bytes == 0 && source.several_bytes == 0 {
                continue;
            }
            let sum = all.entry(source.launch).or_insert(FirstRead {
                source_launch: source.launch - 1,
                receiver_launch: running.launch - 1,
                ..FirstRead::default()
            });
            sum.stored_bytes += source.stored_bytes;
            sum.several_bytes += source.several_bytes;
        }
    }
}

struct PageCache {
    pages: Vec<Option<(u64, Arc<Mutex<Page>>)>>,
}

impl Default for PageCache {
    fn default() -> Self {
        PageCache {
            pages: (0..CACHED_PAGES).map(|_| None).collect(),
        }
    }
}

impl PageCache {
    #[inline]
    fn page(&mut self, shadow: &Shadow, number: u64) -> &Mutex<Page> {
        let slot = &mut self.pages[number as usize % CACHED_PAGES];
        if slot.as_ref().is_none_or(|(known, _)| *known != number) {
            *slot = None;
        }
        &slot.get_or_insert_with(|| (number, shadow.page(number))).1
    }
}

#[cfg(test)]
mod tests;
