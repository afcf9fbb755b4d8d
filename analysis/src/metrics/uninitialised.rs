//! Loads of device memory that nothing has written since it was allocated.

use super::Source;
use crate::columns;
use serde::Deserialize;
use std::collections::BTreeMap;
use superstep_table::table;
use superstep_trace::AllocationId;

table! {
    /// Unwritten bytes that one line of one kernel loaded from one array.
    pub struct UninitialisedRow = "uninitialised": Eq, Deserialize {
        kernel: String = columns::KERNEL;
        file: String = columns::FILE;
        line: u32 = columns::LINE;
        array: String = "name of the variable if known, else the allocation's number";
        place: String = columns::PLACE;
        bytes: u64 ["bytes"] = "distinct unwritten bytes loaded, in the launch with the most";
        loaded_bytes: u64 ["bytes"] = "unwritten bytes loaded by all launches, counting every access";
        launches: u64 ["launches"] = "number of launches that loaded them, or of copies that read them";
        stream: u32 = "stream of the first of these launches; for copies, of the launch before the first copy";
        superstep: u32 = "index of that launch within its stream";
    }
}

impl UninitialisedRow {
    /// Returns text such as `kernel f reads 12 bytes of d_x that nothing has written: f.cu:7, allocated at main.cu:33`.
    pub fn in_words(&self) -> String {
        let file = self.file.rsplit('/').next().unwrap_or(&self.file);
        let line = match self.line {
            0 => "unknown line".to_owned(),
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

    pub fn is_copy(&self) -> bool {
        self.kernel.is_empty()
    }
}

/// Sums for one line and array.
#[derive(Default)]
struct Line {
    /// Bytes by allocation: instructions on one line can read the same bytes, but an array's allocations are distinct.
    bytes: BTreeMap<AllocationId, u64>,
    loaded_bytes: u64,
    launches: u64,
    first_launch: Option<u32>,
}

/// Returns the lines and copies, in descending order of bytes.
pub fn rows(source: &Source<'_>) -> Vec<UninitialisedRow> {
    let mut lines: BTreeMap<_, Line> = BTreeMap::new();
    for read in &source.communication.unwritten {
        let array = source.array(Some(read.allocation));
        let key = (read.kernel, source.line(read.site), array);
        let line = lines.entry(key).or_default();
        let largest = line.bytes.entry(read.allocation).or_default();
        *largest = read.bytes.max(*largest);
        line.loaded_bytes += read.loaded_bytes;
        line.launches = line.launches.max(read.launches);
        let first = line.first_launch.get_or_insert(read.first_launch);
        *first = read.first_launch.min(*first);
    }
    let row = |(array, place): (&str, &str), launch: u32| {
        let (stream, superstep, _) = source.launch(launch);
        UninitialisedRow {
            array: array.to_owned(),
            place: place.to_owned(),
            stream,
            superstep,
            ..UninitialisedRow::default()
        }
    };
    let lines = lines.into_iter();
    let lines = lines.map(|((kernel, (file, line), array), found)| UninitialisedRow {
        kernel: source.kernel_name(kernel).to_owned(),
        file: file.to_owned(),
        line,
        bytes: found.bytes.into_values().sum(),
        loaded_bytes: found.loaded_bytes,
        launches: found.launches,
        ..row(array, found.first_launch.unwrap_or(u32::MAX))
    });
    let copies = source.copies.iter().map(|copy| UninitialisedRow {
        bytes: copy.bytes,
        loaded_bytes: copy.copied_bytes,
        launches: copy.copies,
        ..row(
            source.array(Some(copy.allocation)),
            copy.launches_before.saturating_sub(1),
        )
    });
    let mut rows: Vec<_> = lines.chain(copies).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.bytes));
    rows
}
