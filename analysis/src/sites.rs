//! Operation of every site of a program, dense, for the innermost loop.

use superstep_trace::{Op, SiteId, SiteTable, TraceError};

#[derive(Clone, Debug, Default)]
pub struct SiteOps {
    modules: Vec<Vec<Option<Op>>>,
}

impl SiteOps {
    pub fn new(sites: &SiteTable) -> Self {
        Self::from_pairs(sites.iter().map(|site| (site.id, site.op)))
    }

    /// From pairs of site and operation, in any order.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (SiteId, Op)>) -> Self {
        let mut modules: Vec<Vec<Option<Op>>> = Vec::new();
        for (id, op) in pairs {
            let (module, local) = (id.module() as usize, id.local() as usize);
            if modules.len() <= module {
                modules.resize_with(module + 1, Vec::new);
            }
            if modules[module].len() <= local {
                modules[module].resize(local + 1, None);
            }
            modules[module][local] = Some(op);
        }
        Self { modules }
    }

    #[inline]
    pub fn op(&self, site: SiteId) -> Result<Op, TraceError> {
        self.modules
            .get(site.module() as usize)
            .and_then(|module| module.get(site.local() as usize).copied().flatten())
            .ok_or(TraceError::UnknownSite { site })
    }
}
