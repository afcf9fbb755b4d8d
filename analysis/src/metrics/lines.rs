//! Source lines that load bytes written by other CTAs and kernels.

use super::{Source, share};
use crate::columns;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use superstep_table::table;
use superstep_trace::SiteId;

table! {
    /// One line of a kernel's source.
    pub struct LineRow = "lines": Deserialize {
        file: String = columns::FILE;
        line: u32 = columns::LINE;
        function: String = "mangled name of the function";
        sites: u64 = "communicating memory instructions on the line";
        communicated_loaded_bytes: u64 ["bytes"] =
            "loaded, and last written in an earlier launch by another entity, counting every access";
        share: f64 = "share of all communicated loaded bytes";
    }
}

/// Returns the communicating lines, in descending order of communicated bytes.
pub(super) fn rows(source: &Source<'_>) -> Vec<LineRow> {
    let mut lines: BTreeMap<(&str, u32, &str), (BTreeSet<SiteId>, u64)> = BTreeMap::new();
    let mut all = 0;
    for flow in &source.communication.site_flows {
        let site = source.sites.get(flow.key.reader);
        let (file, line) = source.line(flow.key.reader);
        let function = site.map_or("", |site| site.function.as_str());
        let line = lines.entry((file, line, function)).or_default();
        line.0.insert(flow.key.reader);
        line.1 += flow.amount.loaded_bytes;
        all += flow.amount.loaded_bytes;
    }
    let mut rows: Vec<LineRow> = (lines.into_iter())
        .map(|((file, line, function), (sites, bytes))| LineRow {
            file: file.to_owned(),
            line,
            function: function.to_owned(),
            sites: sites.len() as u64,
            communicated_loaded_bytes: bytes,
            share: share(bytes, all),
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.communicated_loaded_bytes));
    rows
}
