//! Bounds on the quantities that are inexact in an in-situ run.

use super::Metrics;
use crate::analyse::Analysis;
use crate::columns;
use crate::communication::Volume;
use serde::Deserialize;
use std::collections::BTreeMap;
use superstep_table::table;
use superstep_trace::{Bounds, SiteTable};

table! {
    /// One inexact quantity in one launch; a trace has none.
    pub struct BoundRow = "bounds": Eq, Deserialize {
        stream: u32 = columns::STREAM;
        superstep: u32 = columns::SUPERSTEP;
        kernel: String = columns::KERNEL;
        kernel_symbol: String = columns::KERNEL_SYMBOL;
        quantity: String = "column of communication-by-launch";
        at_least: u64 = "lower bound";
        at_most: u64 = "upper bound";
    }
}

const RECEIVED_BYTES: &str = "received_bytes";

/// Name and getter of a column of [`Volume`].
pub type Quantity = (&'static str, fn(&Volume) -> u64);

/// Columns that can be inexact.
pub const QUANTITIES: [Quantity; 12] = [
    ("communicated_loaded_bytes", |v| v.communicated_loaded_bytes),
    ("self_loaded_bytes", |v| v.self_loaded_bytes),
    ("input_loaded_bytes", |v| v.input_loaded_bytes),
    ("uninitialised_loaded_bytes", |v| {
        v.uninitialised_loaded_bytes
    }),
    ("unordered_loaded_bytes", |v| v.unordered_loaded_bytes),
    ("unknown_loaded_bytes", |v| v.unknown_loaded_bytes),
    ("local_loaded_bytes", |v| v.local_loaded_bytes),
    (RECEIVED_BYTES, |v| v.received_bytes),
    ("received_count", |v| v.received_count),
    ("communicated_stored_bytes", |v| v.communicated_stored_bytes),
    ("several_writers_bytes", |v| v.several_writers_bytes),
    ("racing_bytes", |v| v.racing_bytes),
];

/// Returns the sum of `received_bytes` over all launches.
pub fn received_bytes(metrics: &Metrics) -> Bounds {
    let rows = metrics.bounds.iter();
    let known: BTreeMap<_, _> = rows
        .filter(|row| row.quantity == RECEIVED_BYTES)
        .map(|row| ((row.stream, row.superstep), row))
        .collect();
    let mut sum = Bounds::default();
    for launch in &metrics.supersteps {
        sum += match known.get(&(launch.stream, launch.superstep)) {
            None => Bounds::exactly(launch.received_bytes),
            Some(row) => Bounds {
                least: row.at_least,
                most: row.at_most,
            },
        };
    }
    sum
}

/// Returns the inexact quantities of the launches, in the order of the host's calls.
pub(super) fn rows(analysis: &Analysis, sites: &SiteTable) -> Vec<BoundRow> {
    let Some(in_situ) = &analysis.in_situ else {
        return Vec::new();
    };
    let launches = analysis.communication.launches.iter();
    let rows = launches
        .zip(&in_situ.launches)
        .flat_map(|(launch, bounds)| {
            QUANTITIES.iter().filter_map(move |(name, column)| {
                let range = bounds.of(column);
                (!range.is_exact()).then(|| BoundRow {
                    stream: launch.stream.0,
                    superstep: launch.superstep.0,
                    kernel: sites.display_name(&launch.kernel).to_owned(),
                    kernel_symbol: launch.kernel.clone(),
                    quantity: (*name).to_owned(),
                    at_least: range.least,
                    at_most: range.most,
                })
            })
        });
    rows.collect()
}
