//! Values by site in dense tables, for the innermost loop.

use superstep_trace::{Op, SiteId, SiteTable, TraceError};

#[derive(Clone, Debug, Default)]
pub(crate) struct BySite<T> {
    modules: Vec<Vec<T>>,
}

impl<T: Clone + Default> BySite<T> {
    #[inline]
    pub(crate) fn get(&self, site: SiteId) -> Option<&T> {
        let module = self.modules.get(site.module() as usize)?;
        module.get(site.local() as usize)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, site: SiteId) -> Option<&mut T> {
        let module = self.modules.get_mut(site.module() as usize)?;
        module.get_mut(site.local() as usize)
    }

    /// Returns the value of `site`, inserting a default if there is none.
    #[cold]
    pub(crate) fn entry(&mut self, site: SiteId) -> &mut T {
        let (module, local) = (site.module() as usize, site.local() as usize);
        if self.modules.len() <= module {
            self.modules.resize_with(module + 1, Vec::new);
        }
        let module = &mut self.modules[module];
        if module.len() <= local {
            module.resize(local + 1, T::default());
        }
        &mut module[local]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (SiteId, &T)> {
        (self.modules.iter().enumerate()).flat_map(|(module, values)| {
            let site = move |local| SiteId::new(module as u16, local as u16);
            (values.iter().enumerate()).map(move |(local, value)| (site(local), value))
        })
    }
}

/// The operation of every site in a program.
#[derive(Clone, Debug, Default)]
pub struct SiteOps(BySite<Option<Op>>);

impl SiteOps {
    pub fn new(sites: &SiteTable) -> Self {
        Self::from_pairs(sites.iter().map(|site| (site.id, site.op)))
    }

    pub fn from_pairs(pairs: impl IntoIterator<Item = (SiteId, Op)>) -> Self {
        let mut ops = BySite::default();
        for (site, op) in pairs {
            *ops.entry(site) = Some(op);
        }
        Self(ops)
    }

    #[inline]
    pub fn op(&self, site: SiteId) -> Result<Op, TraceError> {
        let op = self.0.get(site).copied().flatten();
        op.ok_or(TraceError::UnknownSite { site })
    }
}
