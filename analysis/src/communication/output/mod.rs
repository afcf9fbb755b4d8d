//! Results of the analysis: volumes, transfers, details and strides, by launch and in total.

pub(crate) mod detail;
pub(crate) mod kept;
pub(crate) mod loads;
pub(crate) mod part;
pub(crate) mod results;
pub(crate) mod strides;
pub(crate) mod sums;
pub(crate) mod transfers;
pub(crate) mod volume;
