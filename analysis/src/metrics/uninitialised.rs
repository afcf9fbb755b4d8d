//! Loads of device memory that nothing has written since it was allocated.

use super::Source;
use crate::columns;
use serde::Deserialize;
use std::collections::BTreeMap;
use superstep_table::table;
use superstep_trace::AllocationId;

table! {
    /// What the launches of one kernel loaded in one line from one array although nothing had written it.
    pub struct UninitialisedRow = "uninitialised": Eq, Deserialize {
        kernel: String = columns::KERNEL;
        file: String = columns::FILE;
        line: u32 = columns::LINE;
        array: String = "variable's name where it is known, else the number of the allocation";
        place: String = columns::PLACE;
        bytes: u64 ["bytes"] = "distinct bytes that nothing had written, those of the launch with most";
        loaded_bytes: u64 ["bytes"] = "the same over all launches, each access counts";
        launches: u64 ["launches"] = "launches that did so; of copies their number";
        stream: u32 = "stream of the first of them; for copies of the launch before";
        superstep: u32 = "its number within the stream";
    }
}

impl UninitialisedRow {
    /// In words: `kernel f reads 12 bytes of d_x that nothing has written: f.cu:7, allocated at main.cu:33`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let file = self.file.rsplit('/').next().unwrap_or(&self.file);
        let line = match self.line {
            0 => "line not known".to_owned(),
            line => format!("{file}:{line}"),
        };
        let place = match self.place.as_str() {
            "" => String::new(),
            place => format!(", allocated at {place}"),
        };
        if self.is_copy() {
            return format!(
                "copies to the host read {} bytes of {} that nothing has written{place}",
                self.bytes, self.array
            );
        }
        format!(
            "kernel {} reads {} bytes of {} that nothing has written: {line}{place}",
            self.kernel, self.bytes, self.array
        )
    }

    /// Whether copies to the host do so.
    #[must_use]
    pub fn is_copy(&self) -> bool {
        self.kernel.is_empty()
    }
}

/// The lines with most bytes first.
#[must_use]
pub fn rows(source: &Source<'_>) -> Vec<UninitialisedRow> {
    let communication = source.communication;
    // Instructions of one line read the same bytes, perhaps; allocations of one array do not.
    let mut lines: BTreeMap<_, (UninitialisedRow, BTreeMap<u32, u64>, u32)> = BTreeMap::new();
    for read in &communication.unwritten {
        let (file, line) =
            (source.sites.get(read.site)).map_or(("", 0), |site| (site.file.as_str(), site.line));
        let info = (source.allocations.get(read.allocation.0 as usize))
            .cloned()
            .unwrap_or_default();
        let key = (
            read.kernel,
            file,
            line,
            info.name.clone(),
            info.place.clone(),
        );
        let (row, bytes, first) = lines.entry(key).or_insert_with(|| {
            let kernel = communication.kernels.get(read.kernel as usize);
            let row = UninitialisedRow {
                kernel: kernel
                    .map_or("", |kernel| source.sites.display_name(&kernel.kernel))
                    .to_owned(),
                file: file.to_owned(),
                line,
                array: info.name,
                place: info.place,
                ..UninitialisedRow::default()
            };
            (row, BTreeMap::new(), u32::MAX)
        });
        let most = bytes.entry(read.allocation.0).or_default();
        *most = read.bytes.max(*most);
        row.loaded_bytes += read.loaded_bytes;
        row.launches = row.launches.max(read.launches);
        *first = read.first_launch.min(*first);
    }
    let mut rows: Vec<UninitialisedRow> = (lines.into_values())
        .map(|(row, bytes, first)| {
            let launch = communication.launches.get(first as usize);
            UninitialisedRow {
                bytes: bytes.into_values().sum(),
                stream: launch.map_or(0, |launch| launch.stream.0),
                superstep: launch.map_or(0, |launch| launch.superstep.0),
                ..row
            }
        })
        .collect();
    let info = |id: AllocationId| {
        source
            .allocations
            .get(id.0 as usize)
            .cloned()
            .unwrap_or_default()
    };
    rows.extend(source.copies.iter().map(|copy| {
        let launch = (communication.launches).get(copy.launches_before.saturating_sub(1) as usize);
        let info = info(copy.allocation);
        UninitialisedRow {
            array: info.name,
            place: info.place,
            bytes: copy.bytes,
            loaded_bytes: copy.copied_bytes,
            launches: copy.copies,
            stream: launch.map_or(0, |launch| launch.stream.0),
            superstep: launch.map_or(0, |launch| launch.superstep.0),
            ..UninitialisedRow::default()
        }
    }));
    rows.sort_by_key(|row| std::cmp::Reverse(row.bytes));
    rows
}
