//! Which lines of the sources load what other CTAs and kernels have written.

use super::{Row, Source, share};
use crate::columns;
use crate::tables::{Column, column};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One line of a kernel's source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LineRow {
    /// Source file; empty where the compiler left no line.
    pub file: String,
    /// Line, from 1; 0 where the compiler left none.
    pub line: u32,
    /// Mangled name of the function.
    pub function: String,
    /// Memory instructions of the line that communicate.
    pub sites: u64,
    /// Bytes that it loaded and that another entity had last written in an earlier launch; each access counts.
    pub communicated_loaded_bytes: u64,
    /// Its share of all such bytes, from 0 to 1.
    pub share: f64,
}

impl Row for LineRow {
    const TABLE: &'static str = "lines";
    const COLUMNS: &'static [Column] = &[
        columns::FILE,
        columns::LINE,
        column("function", "", "mangled name of the function"),
        column(
            "sites",
            "",
            "memory instructions of the line that communicate",
        ),
        column(
            "communicated_loaded_bytes",
            "bytes",
            "loaded, and last written in an earlier launch by another entity; each access counts",
        ),
        column("share", "", "share of all communicated loaded bytes"),
    ];
}

/// Lines that communicate, those that communicate most first.
#[must_use]
pub fn rows(source: &Source<'_>) -> Vec<LineRow> {
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
