//! Communication by equal addresses (`--match exact-address`), as in the analysis of Rieber 2017: the unit is the
//! address of an access, whatever its width.

use super::shadow::{PAGE_BYTES, Tag};
use crate::communication::input::record::Record;
use crate::communication::output::strides::Owner;
use crate::communication::output::sums::{ShardOut, View};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Matching {
    /// A read communicates each byte that another entity wrote.
    #[default]
    Bytes,
    /// A read communicates if its address equals the address of another entity's write.
    ExactAddress,
}

struct Cell {
    launch: u32,
    /// Writers, sorted by CTA.
    writers: SmallVec<[Writer; 1]>,
    plain: bool,
}

struct Writer {
    cta: u32,
    /// Width of this CTA's widest write.
    width: u32,
    counted: bool,
}

/// Addresses in one page at which writes began.
#[derive(Default)]
pub(crate) struct ExactPage {
    cells: FxHashMap<u16, Cell>,
}

impl ExactPage {
    /// Forgets the writers of a range that the host wrote or that was allocated or freed.
    pub(crate) fn forget(&mut self, offset: usize, len: usize) {
        self.cells
            .retain(|&at, _| !(offset..offset + len).contains(&usize::from(at)));
    }

    /// Analyses all records of one launch that begin in the page; they must be sorted by CTA.
    pub(crate) fn launch(&mut self, view: &View<'_>, records: &[Record], out: &mut ShardOut) {
        for records in records.chunk_by(|a, b| a.cta == b.cta) {
            self.read(view, records, out);
            out.loads.end_ctas(records[0].cta + 1);
        }
        let mut multiple: FxHashSet<u16> = FxHashSet::default();
        for record in records.iter().filter(|record| record.writes()) {
            let (at, width) = (record.offset() as u16, record.origin);
            let new = || Cell {
                launch: view.launch,
                writers: SmallVec::new(),
                plain: false,
            };
            let cell = self.cells.entry(at).or_insert_with(new);
            if cell.launch != view.launch {
                *cell = new();
            }
            cell.plain |= !record.reads();
            match cell.writers.last_mut() {
                Some(last) if last.cta == record.cta => last.width = last.width.max(width),
                _ => cell.writers.push(Writer {
                    cta: record.cta,
                    width,
                    counted: false,
                }),
            }
            if cell.writers.len() > 1 {
                multiple.insert(at);
            }
        }
        for cell in multiple.iter().filter_map(|at| self.cells.get(at)) {
            let width = cell.writers.iter().map(|writer| u64::from(writer.width));
            let width = width.max().unwrap_or(0);
            out.sums.several_writers_bytes += width;
            out.sums.racing_bytes += if cell.plain { width } else { 0 };
        }
    }

    fn read(&mut self, view: &View<'_>, records: &[Record], out: &mut ShardOut) {
        let mut own: FxHashSet<(u16, u32)> = FxHashSet::default();
        let mut seen: FxHashSet<(u16, u32)> = FxHashSet::default();
        for record in records {
            let (at, width) = (record.offset() as u16, record.origin);
            for thread in record.threads() {
                if record.reads() && own.contains(&(at, thread)) {
                    out.sums.local_loaded_bytes += u64::from(width);
                } else if record.reads() {
                    self.load(view, record, &mut seen, out);
                }
                if record.writes() {
                    own.insert((at, thread));
                }
            }
        }
    }

    /// Counts one read. `seen` contains the offsets and widths of the CTA's earlier reads.
    fn load(
        &mut self,
        view: &View<'_>,
        record: &Record,
        seen: &mut FxHashSet<(u16, u32)>,
        out: &mut ShardOut,
    ) {
        let (at, width) = (record.offset() as u16, u64::from(record.origin));
        let (address, receiver) = (record.address, record.cta);
        let Some(cell) = self.cells.get_mut(&at) else {
            let mut wrote = view.untraced.parts(address, address.saturating_add(1));
            let tag = wrote.next().map_or(Tag::UNWRITTEN, |(_, _, tag)| tag);
            return out.count_untraced(tag, width);
        };
        let source = cell.launch;
        let is_own = |writer: &Writer| view.is_self(source, writer.cta, receiver);
        if cell.writers.iter().all(is_own) {
            out.sums.self_loaded_bytes += width;
            return;
        }
        out.sums.communicated_loaded_bytes += width;
        if !seen.insert((at, record.origin)) {
            return;
        }
        let strides = out.options.strides;
        let owner = |launch, cta| Owner { launch, cta };
        if strides {
            out.loads.add(owner(view.launch, receiver), address, 0, 1);
        }
        for writer in cell.writers.iter_mut().filter(|writer| !is_own(writer)) {
            out.received(receiver, Tag::cta(source, writer.cta), width, 1);
            if !std::mem::replace(&mut writer.counted, true) {
                out.stored_by(source, u64::from(writer.width));
                if strides {
                    out.stores.push(owner(source, writer.cta), address);
                }
            }
        }
    }
}

const _: () = assert!(PAGE_BYTES <= 1 << 16);
