//! Loads of bytes that another CTA stores in the same launch.

use super::{Source, share};
use crate::columns;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use superstep_table::table;
use superstep_trace::Op;

table! {
    /// Bytes that one line of one kernel loaded from one array and that another CTA stored in the same launch. The
    /// trace orders a launch's CTAs only by grid barriers, so this is an upper bound on the bytes that they exchanged.
    pub struct WithinLaunchRow = "within-launch": Serialize, Deserialize {
        kernel: String = columns::KERNEL;
        file: String = columns::FILE;
        line: u32 = columns::LINE;
        array: String = "name of the variable if known, else the allocation's number";
        place: String = columns::PLACE;
        loaded_bytes: u64 ["bytes"] = "loaded, counting every access";
        atomic_bytes: u64 ["bytes"] = "loaded by atomics, counting every access";
        share: f64 = "loaded_bytes / all loaded bytes of the program, atomics included";
    }
}

/// Returns the lines, most loaded bytes first.
pub fn rows(source: &Source<'_>) -> Vec<WithinLaunchRow> {
    let communication = source.communication;
    let mut lines: BTreeMap<_, (u64, u64)> = BTreeMap::new();
    for found in &communication.within_launch {
        let (line, array) = (source.line(found.site), source.array(found.allocation));
        let (loaded, atomic) = lines.entry((found.kernel, line, array)).or_default();
        let site = source.sites.get(found.site);
        match site.is_some_and(|site| site.op == Op::Load) {
            true => *loaded += found.loaded_bytes,
            false => *atomic += found.loaded_bytes,
        }
    }
    let all = communication.total.loaded_bytes;
    let mut rows: Vec<_> = (lines.into_iter())
        .map(
            |((kernel, (file, line), (array, place)), (loaded, atomic))| WithinLaunchRow {
                kernel: source.kernel_name(kernel).to_owned(),
                file: file.to_owned(),
                line,
                array: array.to_owned(),
                place: place.to_owned(),
                loaded_bytes: loaded,
                atomic_bytes: atomic,
                share: share(loaded, all),
            },
        )
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.loaded_bytes, row.atomic_bytes)));
    rows
}
