//! Aggregates that a worker collects instead of a trace.

use crate::runtime::session;
use std::collections::HashMap;
use superstep_runtime_core::in_situ::{Accumulator, Running};
use superstep_trace::{AccessGroup, Op, SiteId};

#[derive(Default)]
pub struct Aggregates {
    pub accumulator: Accumulator,
    /// Operations of sites; `None` if no module has the site.
    ops: HashMap<SiteId, Option<Op>>,
    last: Option<(SiteId, Op)>,
}

impl Aggregates {
    pub fn group(&mut self, running: &Running, group: &AccessGroup) {
        let session = session();
        let (Some(shadow), Some(op)) = (session.shadow(), self.op(group.site)) else {
            return;
        };
        self.accumulator.group(shadow, running, op, group);
        if let Some(parts) = self.accumulator.take_early_parts() {
            session.parts(parts);
        }
    }

    fn op(&mut self, site: SiteId) -> Option<Op> {
        if let Some((last, op)) = self.last
            && last == site
        {
            return Some(op);
        }
        let op = *self.ops.entry(site).or_insert_with(|| {
            let found = session().registry().site(site);
            if found.is_none() {
                session().fault(format_args!(
                    "site {site} is not in any module's table, so its accesses are not aggregated; rebuild the program"
                ));
            }
            found.map(|site| site.op)
        });
        self.last = op.map(|op| (site, op));
        op
    }
}
