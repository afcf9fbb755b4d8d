//! Tests for `layout`.

use super::*;
use crate::recorder::thesis::record::{self, Record};
use crate::tests::{assert_constants, layout};

/// The C compiler checks our offsets against the header.
#[test]
fn the_device_header_has_the_same_layout() {
    let constants = [
        ("SUPERSTEP_CONTEXT_VERSION", u64::from(CONTEXT_VERSION)),
        ("SUPERSTEP_DETAIL_SM_SHIFT", u64::from(record::SM_SHIFT)),
        ("SUPERSTEP_DETAIL_SM_MASK", record::SM_MASK),
        ("SUPERSTEP_DETAIL_GROUP_SHIFT", record::GROUP_SHIFT.into()),
        ("SUPERSTEP_DETAIL_LAP_SHIFT", record::LAP_SHIFT.into()),
        ("SUPERSTEP_DETAIL_LEADER_SHIFT", record::LEADER_SHIFT.into()),
        ("SUPERSTEP_DETAIL_WIDTH_SHIFT", record::WIDTH_SHIFT.into()),
    ];
    let mut all = constants
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec();
    all.extend(layout!(
        "SuperstepBin",
        Bin,
        reserved,
        acknowledged,
        released
    ));
    all.extend(layout!(
        "SuperstepRecord",
        Record,
        cta_site,
        address,
        detail
    ));
    all.extend(layout!(
        "TraceContext",
        TraceContext,
        version,
        bin_mask,
        bin_records,
        bin_records_log2
    ));
    all.extend(layout!(
        "TraceContext",
        TraceContext,
        bins,
        records,
        site_counts,
        selection
    ));
    assert_constants("context.h", &all);
}
