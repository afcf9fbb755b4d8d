//! The nested structures of Rieber 2017.

use std::collections::BTreeMap;

use serde::Serialize;
use superstep_trace::add_assign;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LoadStore {
    #[serde(rename = "Load")]
    pub load: u64,
    #[serde(rename = "Store")]
    pub store: u64,
}

add_assign!(LoadStore: load, store);

/// Sums by kernel and superstep.
pub type ByKernel = BTreeMap<String, BTreeMap<u32, LoadStore>>;
/// Sums by kernel, superstep, and CTA or SM.
pub type ByPart = BTreeMap<String, BTreeMap<u32, BTreeMap<u32, LoadStore>>>;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Volumes {
    #[serde(rename = "KCV")]
    pub kernel_communication: ByKernel,
    #[serde(rename = "KDV")]
    pub kernel_data: ByKernel,
    #[serde(rename = "CCV")]
    pub cta_communication: ByPart,
    #[serde(rename = "CDV")]
    pub cta_data: ByPart,
    #[serde(rename = "SCV")]
    pub sm_communication: ByPart,
    #[serde(rename = "SDV")]
    pub sm_data: ByPart,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SizeCount {
    /// Sum of the widths in bytes, each address counted once.
    #[serde(rename = "Size")]
    pub size: u64,
    #[serde(rename = "cnt")]
    pub count: u64,
}

add_assign!(SizeCount: size, count);

/// Amounts by receiving kernel, CTA and superstep.
pub type Receivers = BTreeMap<String, BTreeMap<u32, BTreeMap<u32, SizeCount>>>;
/// Receivers by source kernel, CTA and superstep.
pub type Transfers = BTreeMap<String, BTreeMap<u32, BTreeMap<u32, Receivers>>>;
