//! Records packed by bucket of pages, for the machines that own the buckets.

use super::block::{BLOCK_RECORDS, spread};
use super::decode::checked;
use super::phases::Phases;
use super::record::{Pattern, Record, WideAccesses, cut};
use crate::communication::spill::file::{next, next_items, pack, unpack};
use crate::counts::{Counts, GroupSource};
use crate::error::{AnalysisError, Result};
use crate::scan::SiteCount;
use crate::sites::{BySite, SiteOps};
use rustc_hash::FxHashMap;
use superstep_trace::SiteId;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Returns the bucket of page `number`, computed from hash bits that the engine's shards do not use.
#[inline]
pub(crate) fn bucket_of(number: u64, buckets: u32) -> u32 {
    ((u64::from(spread(number) as u32) * u64::from(buckets)) >> 32) as u32
}

/// Maximum number of records across all buckets (48 MiB).
const MAX_BUFFERED_RECORDS: usize = 1 << 21;

/// Records of one launch in a packet.
#[derive(Clone, Copy, Debug, IntoBytes, FromBytes, Immutable)]
#[repr(C)]
struct Section {
    launch: u32,
    records: u32,
    wide: u32,
}

#[derive(Clone, Copy, Debug, IntoBytes, FromBytes, Immutable)]
#[repr(C)]
struct Wide {
    address: u64,
    width: u32,
    site: u32,
}

/// Packed records, sorted by launch and chunk.
#[derive(Debug)]
pub(crate) struct Packet {
    pub(crate) bucket: u32,
    pub(crate) chunk: u64,
    /// Sequence number of this packet among those from the same cutter.
    pub(crate) number: u32,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Default)]
struct Bucket {
    chunk: u64,
    /// Launches and their record counts.
    launches: Vec<(u32, u32)>,
    records: Vec<Record>,
}

/// Cuts chunks into packets.
pub(crate) struct Cutter {
    buckets: Vec<Bucket>,
    wide: WideAccesses,
    /// The records of the current group.
    records: Vec<Record>,
    /// Number of records added since all buckets were last empty.
    buffered: usize,
    packets: u32,
    pub(crate) sites: BySite<SiteCount>,
    /// Position of the latest launch, and its grid-barrier marks so far.
    phases: (u32, Phases),
}

impl Cutter {
    pub(crate) fn new(buckets: u32) -> Self {
        Self {
            buckets: (0..buckets).map(|_| Bucket::default()).collect(),
            wide: WideAccesses::default(),
            records: Vec::new(),
            buffered: 0,
            packets: 0,
            sites: BySite::default(),
            phases: (0, Phases::default()),
        }
    }

    /// Counts the grid-barrier marks in earlier chunks of the launch at `position`; other tasks cut these chunks.
    pub(crate) fn skip(&mut self, position: u32, source: &impl GroupSource) -> Result<()> {
        for chunk in 0..source.chunks() {
            self.phases.0 = position;
            source.read(chunk, &mut |group| {
                if group.is_grid_barrier() {
                    self.phases.1.pass(group);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Cuts the only chunk of `source`, which is chunk number `chunk` of the program and belongs to the launch at
    /// `position`. Passes full packets to `sink`.
    pub(crate) fn chunk(
        &mut self,
        (position, chunk): (u32, u64),
        source: &impl GroupSource,
        ops: &SiteOps,
        sink: &mut impl FnMut(Packet),
    ) -> Result<Counts> {
        let mut counts = Counts::default();
        let buckets = self.buckets.len() as u32;
        if self.phases.0 != position {
            self.phases = (position, Phases::default());
        }
        source.read(0, &mut |group| {
            if group.is_grid_barrier() {
                self.phases.1.pass(group);
                return Ok(());
            }
            let op = checked(group, ops)?;
            counts.group(group, op);
            self.sites.add(group);
            let mut full = None;
            cut(group, op, &self.wide, &mut self.records);
            for mut record in self.records.drain(..) {
                self.phases.1.advance(&mut record);
                let at = bucket_of(record.page(), buckets);
                let bucket = &mut self.buckets[at as usize];
                if bucket.records.is_empty() {
                    bucket.chunk = chunk;
                }
                match bucket.launches.last_mut() {
                    Some((launch, records)) if *launch == position => *records += 1,
                    _ => bucket.launches.push((position, 1)),
                }
                bucket.records.push(record);
                self.buffered += 1;
                if bucket.records.len() >= BLOCK_RECORDS {
                    full = Some(at);
                }
            }
            if let Some(at) = full {
                self.send(at, sink);
            }
            if self.buffered >= MAX_BUFFERED_RECORDS {
                self.flush(sink);
            }
            Ok(())
        })?;
        Ok(counts)
    }

    pub(crate) fn flush(&mut self, sink: &mut impl FnMut(Packet)) {
        for at in 0..self.buckets.len() as u32 {
            self.send(at, sink);
        }
        self.buffered = 0;
        self.wide = WideAccesses::default();
    }

    fn send(&mut self, at: u32, sink: &mut impl FnMut(Packet)) {
        let bucket = &mut self.buckets[at as usize];
        if bucket.records.is_empty() {
            return;
        }
        let (mut sections, mut wide) = (Vec::new(), Vec::new());
        let mut rest = bucket.records.as_mut_slice();
        for (launch, records) in bucket.launches.drain(..) {
            let (section, more) = std::mem::take(&mut rest).split_at_mut(records as usize);
            rest = more;
            let first_wide = wide.len();
            let mut known: FxHashMap<u32, u32> = FxHashMap::default();
            for record in section.iter_mut() {
                if record.pattern() == Pattern::Piece {
                    let next = (wide.len() - first_wide) as u32;
                    let number = *known.entry(record.origin).or_insert_with(|| {
                        wide.extend(self.wide.get(record.origin).map(|it| Wide {
                            address: it.address,
                            width: it.width,
                            site: it.site.0,
                        }));
                        next
                    });
                    record.origin = number;
                }
            }
            sections.push(Section {
                launch,
                records,
                wide: (wide.len() - first_wide) as u32,
            });
        }
        let mut bytes = (sections.len() as u32).as_bytes().to_vec();
        bytes.extend(sections.as_bytes());
        bytes.extend(wide.as_bytes());
        bytes.extend(pack(&[&bucket.records]));
        bucket.records.clear();
        self.packets += 1;
        sink(Packet {
            bucket: at,
            chunk: bucket.chunk,
            number: self.packets,
            bytes,
        });
    }
}

#[derive(Debug)]
pub(crate) struct LaunchRecords {
    pub(crate) launch: u32,
    pub(crate) records: Vec<Record>,
    wide: Vec<Wide>,
}

impl LaunchRecords {
    /// Returns the records, with their accesses across page boundaries numbered as in `wide`.
    pub(crate) fn numbered(mut self, wide: &WideAccesses) -> Result<Vec<Record>> {
        let numbers: Vec<u32> = (self.wide.iter())
            .map(|one| wide.number(one.address, one.width, SiteId(one.site)))
            .collect();
        for record in &mut self.records {
            if record.pattern() == Pattern::Piece {
                let number = numbers.get(record.origin as usize);
                record.origin = *number.ok_or(MALFORMED)?;
            }
        }
        Ok(self.records)
    }
}

/// Maximum number of records in a packet: a bucket is sent once it has [`BLOCK_RECORDS`], but one access can add many.
const MAX_RECORDS: u64 = 1 << 26;

const MALFORMED: AnalysisError = AnalysisError::Part {
    what: "a packet of accesses is malformed",
};

pub(crate) fn unpacked(bytes: &[u8]) -> Result<Vec<LaunchRecords>> {
    let mut rest = bytes;
    let count: u32 = next(&mut rest).ok_or(MALFORMED)?;
    let sections: Vec<Section> = next_items(&mut rest, count as usize).ok_or(MALFORMED)?;
    let total: u64 = sections.iter().map(|one| u64::from(one.records)).sum();
    if total > MAX_RECORDS {
        return Err(MALFORMED);
    }
    let mut out = Vec::with_capacity(sections.len());
    for section in &sections {
        out.push(LaunchRecords {
            launch: section.launch,
            records: Vec::new(),
            wide: next_items(&mut rest, section.wide as usize).ok_or(MALFORMED)?,
        });
    }
    let mut records: Vec<Record> = Vec::new();
    unpack(rest, total as usize, &mut records).map_err(|_| MALFORMED)?;
    let mut records = records.into_iter();
    for (section, launch) in sections.iter().zip(&mut out) {
        launch.records = records.by_ref().take(section.records as usize).collect();
    }
    Ok(out)
}
