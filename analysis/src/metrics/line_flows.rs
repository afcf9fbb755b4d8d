//! Communication from source line to source line.

use super::Source;
use crate::columns;
use crate::communication::SiteFlowAmount;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use superstep_table::table;

table! {
    /// Bytes that one line loaded from one array in one launch and that a line stored in an earlier launch.
    pub struct LineFlowRow = "line-flows": Serialize, Deserialize {
        writer_file: String = "source file of the store";
        writer_line: u32 = "line number of the store, from 1";
        reader_file: String = columns::FILE;
        reader_line: u32 = columns::LINE;
        array: String = "name of the variable if known, else the allocation's number";
        place: String = columns::PLACE;
        source_stream: u32 = columns::SOURCE_STREAM;
        source_superstep: u32 = columns::SUPERSTEP_OF_STREAM;
        source_kernel: String = columns::KERNEL;
        receiver_stream: u32 = columns::RECEIVER_STREAM;
        receiver_superstep: u32 = columns::SUPERSTEP_OF_STREAM;
        receiver_kernel: String = columns::KERNEL;
        communicated_loaded_bytes: u64 ["bytes"] =
            "loaded, and last written in an earlier launch by another entity, counting every access";
        other_cta_bytes: u64 ["bytes"] = "of these, bytes that a CTA with a different number stored";
    }
}

/// Returns the flows, most bytes first.
pub(super) fn rows(source: &Source<'_>) -> Vec<LineFlowRow> {
    let mut sums: BTreeMap<_, SiteFlowAmount> = BTreeMap::new();
    for flow in &source.communication.site_flows {
        let launches = (flow.key.source_launch, flow.receiver_launch);
        let lines = [flow.key.writer, flow.key.reader].map(|site| source.line(site));
        let key = (launches, lines, source.array(flow.key.allocation));
        *sums.entry(key).or_default() += flow.amount;
    }
    let mut rows: Vec<_> = (sums.into_iter())
        .map(|(((from, to), [writer, reader], (array, place)), amount)| {
            let (source_stream, source_superstep, source_kernel) = source.launch(from);
            let (receiver_stream, receiver_superstep, receiver_kernel) = source.launch(to);
            LineFlowRow {
                writer_file: writer.0.to_owned(),
                writer_line: writer.1,
                reader_file: reader.0.to_owned(),
                reader_line: reader.1,
                array: array.to_owned(),
                place: place.to_owned(),
                source_stream,
                source_superstep,
                source_kernel: source_kernel.to_owned(),
                receiver_stream,
                receiver_superstep,
                receiver_kernel: receiver_kernel.to_owned(),
                communicated_loaded_bytes: amount.loaded_bytes,
                other_cta_bytes: amount.other_cta_bytes,
            }
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.communicated_loaded_bytes));
    rows
}
