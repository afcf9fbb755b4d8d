//! Distances between the addresses of communicating loads.
//!
//! A page is read once in a launch, so the distances between each CTA's addresses in the page are counted at once. Only
//! the first and the last address are kept until the launch ends, for the distances from one page to the next.

use super::strides::{Owner, Run, StrideCounts, count_distance, count_owner};
use crate::communication::spill::limit::MemoryLimit;
use crate::communication::spill::sorted::{Item, Sorted, Sorter, order};
use crate::communication::state::shadow::{PAGE_BYTES, page_of};
use crate::error::Result;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use superstep_trace::Cancellation;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Communicating loads of a shard.
#[derive(Debug, Default)]
pub(crate) struct Loads {
    /// Loads in the current page that are in neither `distances` nor `spans` yet.
    runs: Vec<Run>,
    addresses: Vec<u64>,
    /// Distances within the pages of the current launch.
    pub(crate) distances: StrideCounts,
    spans: PageSpans,
}

/// First and last addresses, by page.
#[derive(Debug, Default)]
pub(crate) struct PageSpans {
    pages: Vec<PageEnd>,
    /// Spans of all pages, by CTA within each page.
    spans: Vec<PageSpan>,
}

#[derive(Debug)]
struct PageEnd {
    launch: u32,
    page: u64,
    /// Index of the end of the page's spans.
    end: usize,
}

/// Offsets of the first and the last load of a CTA in a page.
#[derive(Clone, Copy, Debug)]
struct PageSpan {
    cta: u32,
    first: u16,
    last: u16,
}

const _: () = assert!(PAGE_BYTES <= 1 << 16);

/// Addresses of the first and the last load of a CTA in a page.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, IntoBytes, FromBytes, Immutable,
)]
#[repr(C)]
pub(crate) struct Span {
    owner: Owner,
    first: u64,
    last: u64,
}

impl Item for Span {
    fn key(&self) -> u128 {
        u128::from(self.owner.key()) << 64 | u128::from(self.first)
    }

    fn join(&mut self, _: &Self) -> bool {
        false
    }
}

impl Span {
    pub(crate) fn owner_key(&self) -> u64 {
        self.owner.key()
    }
}

impl Loads {
    /// Adds `count` loads: at `first`, `first + step`, and so on. All must be in the current page.
    #[inline]
    pub(crate) fn add(&mut self, owner: Owner, first: u64, step: usize, count: usize) {
        self.runs.push(Run::new(owner, first, step, count));
    }

    /// Ends the loads of the CTAs before `cta` in the current page.
    pub(crate) fn end_ctas(&mut self, cta: u32) {
        if self.runs.is_empty() {
            return;
        }
        order(&mut self.runs);
        let ended = self.runs.partition_point(|run| run.owner.cta < cta);
        for runs in self.runs[..ended].chunk_by(|a, b| a.owner == b.owner) {
            let (Owner { launch, cta }, first) = (runs[0].owner, runs[0].first);
            let last = count_owner(runs, &mut self.addresses, &mut self.distances);
            let offset = |address| (address % PAGE_BYTES as u64) as u16;
            let (first, last, page) = (offset(first), offset(last), page_of(first));
            self.spans.push(launch, page, PageSpan { cta, first, last });
        }
        self.runs.drain(..ended);
    }

    pub(crate) fn len(&self) -> usize {
        self.spans.spans.len()
    }

    pub(crate) fn take(&mut self) -> PageSpans {
        std::mem::take(&mut self.spans)
    }
}

impl PageSpans {
    fn push(&mut self, launch: u32, page: u64, span: PageSpan) {
        self.spans.push(span);
        let end = self.spans.len();
        match self.pages.last_mut() {
            Some(last) if (last.launch, last.page) == (launch, page) => last.end = end,
            _ => self.pages.push(PageEnd { launch, page, end }),
        }
    }

    /// Returns each page with the range of its spans.
    fn ranges(&self) -> impl Iterator<Item = (&PageEnd, Range<usize>)> {
        let starts = std::iter::once(0).chain(self.pages.iter().map(|page| page.end));
        self.pages
            .iter()
            .zip(starts)
            .map(|(page, start)| (page, start..page.end))
    }

    fn to_spans(&self) -> Vec<Span> {
        let spans = self.ranges().flat_map(|(page, range)| {
            let (launch, base) = (page.launch, page.page * PAGE_BYTES as u64);
            self.spans[range].iter().map(move |span| Span {
                owner: Owner {
                    launch,
                    cta: span.cta,
                },
                first: base + u64::from(span.first),
                last: base + u64::from(span.last),
            })
        });
        spans.collect()
    }
}

/// Loads of launches whose distances from page to page have not been counted yet.
#[derive(Debug)]
pub(crate) struct KeptLoads {
    memory: Mutex<InMemory>,
    /// Spans that exceed the limit.
    sorter: Sorter<Span>,
    max_spans_in_memory: usize,
}

#[derive(Debug, Default)]
struct InMemory {
    parts: Vec<PageSpans>,
    spans: usize,
    /// Whether earlier parts were moved to the sorter.
    is_partial: bool,
}

/// Maximum number of CTAs of a launch for each of its spans, and in any case, for which the latest addresses are kept
/// by CTA number.
const MAX_CTAS: (usize, usize) = (4, 1 << 16);

/// Upper bound on the memory for each span, including the latest addresses.
const SPAN_BYTES: usize = 64;

impl KeptLoads {
    pub(crate) fn new(limit: &MemoryLimit, cancellation: Cancellation) -> Self {
        Self {
            memory: Mutex::default(),
            sorter: limit.sorter("loads", cancellation),
            max_spans_in_memory: limit.budget().sorter_bytes / SPAN_BYTES,
        }
    }

    pub(crate) fn append(&self, spans: PageSpans) -> Result<()> {
        if spans.spans.is_empty() {
            return Ok(());
        }
        let all = {
            let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
            memory.spans += spans.spans.len();
            memory.parts.push(spans);
            if memory.spans <= self.max_spans_in_memory {
                return Ok(());
            }
            (memory.spans, memory.is_partial) = (0, true);
            std::mem::take(&mut memory.parts)
        };
        self.sort(&all)
    }

    fn sort(&self, parts: &[PageSpans]) -> Result<()> {
        let mut parts = parts.iter();
        parts.try_for_each(|part| self.sorter.append(part.to_spans()))
    }

    fn into_sorter(mut self) -> Result<Sorter<Span>> {
        let memory = self
            .memory
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        let parts = std::mem::take(&mut memory.parts);
        self.sort(&parts)?;
        Ok(self.sorter)
    }

    pub(crate) fn finish(self) -> Result<Sorted<Span>> {
        self.into_sorter()?.finish()
    }

    /// Passes the distances from page to page to `sink`, by launch.
    pub(crate) fn distances(mut self, mut sink: impl FnMut(u32, &StrideCounts)) -> Result<()> {
        let memory = self
            .memory
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        let mut pages: Vec<_> = (memory.parts.iter())
            .flat_map(|part| {
                part.ranges()
                    .map(|(page, range)| (page, &part.spans[range]))
            })
            .collect();
        let last_cta = pages
            .iter()
            .flat_map(|(_, spans)| spans.last())
            .map(|span| span.cta)
            .max();
        let ctas = last_cta.map_or(0, |last| last as usize + 1);
        if memory.is_partial || ctas > MAX_CTAS.1.max(memory.spans * MAX_CTAS.0) {
            return span_distances(self.into_sorter()?, sink);
        }
        pages.sort_unstable_by_key(|(page, spans)| (page.launch, page.page, spans[0].cta));
        for pages in pages.chunk_by(|(a, _), (b, _)| a.launch == b.launch) {
            let mut counts = StrideCounts::default();
            // Each plus one; 0 if there is none.
            let mut latest = vec![0u64; ctas];
            for (page, spans) in pages {
                let base = page.page * PAGE_BYTES as u64;
                for span in *spans {
                    let (first, last) = (base + u64::from(span.first), base + u64::from(span.last));
                    let before = std::mem::replace(&mut latest[span.cta as usize], last + 1);
                    if before > 0 {
                        count_distance(first + 1 - before, 1, &mut counts);
                    }
                }
            }
            sink(pages[0].0.launch, &counts);
        }
        Ok(())
    }
}

/// Like [`KeptLoads::distances`], for spans of any pages.
pub(crate) fn span_distances(
    spans: Sorter<Span>,
    mut sink: impl FnMut(u32, &StrideCounts),
) -> Result<()> {
    let count_piece = |spans: &[Span]| {
        let launches = spans.chunk_by(|a, b| a.owner.launch == b.owner.launch);
        let counted = launches.map(|spans| {
            let mut counts = StrideCounts::default();
            for pair in spans
                .windows(2)
                .filter(|pair| pair[0].owner == pair[1].owner)
            {
                count_distance(pair[1].first - pair[0].last, 1, &mut counts);
            }
            (spans[0].owner.launch, counts)
        });
        counted.collect::<Vec<_>>()
    };
    spans.pieces(count_piece, |found| {
        let found = found.iter();
        found.for_each(|(launch, counts)| sink(*launch, counts));
    })
}

#[cfg(test)]
mod tests;
