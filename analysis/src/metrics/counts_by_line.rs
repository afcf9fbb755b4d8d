//! Accesses by source line.

use super::Source;
use crate::scan::SiteCount;
use serde::Deserialize;
use std::collections::BTreeMap;
use superstep_table::table;
use superstep_trace::Op;

table! {
    /// Accesses by one operation on one line of a kernel's source.
    pub struct LineCounts = "counts-by-line": Deserialize {
        file: String = "source file of the access";
        line: u32 = "line number of the access, from 1";
        function: String = "mangled name of the function";
        operation: String = "`load`, `store` or `atomic`";
        accesses: u64 = "accesses, counted per thread";
        bytes: u64 ["bytes"] = "bytes of these accesses";
    }
}

/// Returns the counts, most bytes first.
pub(super) fn rows(source: &Source<'_>) -> Vec<LineCounts> {
    let mut lines: BTreeMap<_, SiteCount> = BTreeMap::new();
    for (site, count) in &source.communication.accessed {
        let Some(site) = source.sites.get(*site) else {
            continue;
        };
        let operation = match site.op {
            Op::Load => "load",
            Op::Store => "store",
            _ => "atomic",
        };
        let key = (&site.file, site.line, &site.function, operation);
        *lines.entry(key).or_default() += *count;
    }
    let mut rows: Vec<LineCounts> = (lines.into_iter())
        .map(|((file, line, function, operation), count)| LineCounts {
            file: file.clone(),
            line,
            function: function.clone(),
            operation: operation.to_owned(),
            accesses: count.accesses,
            bytes: count.bytes,
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.bytes));
    rows
}
