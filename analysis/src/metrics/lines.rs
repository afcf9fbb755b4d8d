//! Source lines that load bytes written by other CTAs and kernels.

use super::{Source, share};
use crate::columns;
use serde::Deserialize;
use std::collections::BTreeMap;
use superstep_table::table;

table! {
    /// One line of a kernel's source.
    pub struct LineRow = "lines": Deserialize {
        file: String = columns::FILE;
        line: u32 = columns::LINE;
        function: String = "mangled name of the function";
        sites: u64 = "communicating memory instructions on the line";
        communicated_loaded_bytes: u64 ["bytes"] =
            "loaded, and last written in an earlier launch by another entity; each access counts";
        share: f64 = "share of all communicated loaded bytes";
    }
}

/// Returns the communicating lines, in descending order of communicated bytes.
pub(super) fn rows(source: &Source<'_>) -> Vec<LineRow> {
    let mut lines: BTreeMap<(&str, u32, &str), (u64, u64)> = BTreeMap::new();
    let mut all = 0;
    for volume in &source.communication.sites {
        let place = source.sites.get(volume.site).map_or(("", 0, ""), |site| {
            (site.file.as_str(), site.line, site.function.as_str())
        });
        let line = lines.entry(place).or_default();
        line.0 += 1;
        line.1 += volume.communicated_loaded_bytes;
        all += volume.communicated_loaded_bytes;
    }
    let mut rows: Vec<LineRow> = (lines.into_iter())
        .map(|((file, line, function), (sites, bytes))| LineRow {
            file: file.to_owned(),
            line,
            function: function.to_owned(),
            sites,
            communicated_loaded_bytes: bytes,
            share: share(bytes, all),
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.communicated_loaded_bytes));
    rows
}
