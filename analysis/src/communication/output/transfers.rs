//! The transfers of a program, in memory or on disk.

use super::volume::Transfer;
use crate::communication::spill::sorted::{Item, Sorted};
use crate::error::Result;
use std::sync::Arc;

/// Transfers in ascending order, one for each pair of CTAs and launches.
#[derive(Clone, Debug)]
pub struct Transfers(Arc<Sorted<Transfer>>);

impl Transfers {
    pub(crate) fn new(sorted: Sorted<Transfer>) -> Self {
        Self(Arc::new(sorted))
    }

    pub fn len(&self) -> u64 {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Passes each transfer to `sink`, in order.
    pub fn each(&self, mut sink: impl FnMut(&Transfer)) -> Result<()> {
        self.0.each(|transfer| {
            sink(transfer);
            Ok(())
        })
    }

    /// Adds up the transfers of each source CTA using `add`, on multiple threads; `join` adds the sum of later sources
    /// to the sum of earlier ones.
    pub fn sum<A: Send>(
        &self,
        new: impl Fn() -> A + Sync,
        add: impl Fn(&mut A, &[Transfer]) + Sync,
        join: impl Fn(&mut A, A),
    ) -> Result<A> {
        self.0.sum(new, add, join)
    }

    /// Adds up the transfers of each source launch like [`Self::sum`], and passes each sum to `end` as soon as it is
    /// complete. Returns the results in launch order.
    pub fn by_launch<A: Default + Send, R: Send>(
        &self,
        add: impl Fn(&mut A, &[Transfer]) + Sync,
        join: impl Fn(&mut A, A) + Sync,
        end: impl Fn(u32, A) -> R + Sync,
    ) -> Result<Vec<R>> {
        // Only the first and last launches of a part can also have transfers in other threads' parts.
        type Sums<A, R> = (Vec<(u32, A)>, Vec<(u32, R)>);
        let end_middle = |(open, ended): &mut Sums<A, R>| {
            while open.len() > 2 {
                let (launch, sum) = open.remove(1);
                ended.push((launch, end(launch, sum)));
            }
        };
        let (open, mut ended) = self.sum(
            Sums::default,
            |sums, transfers| {
                let launch = transfers[0].source_launch;
                match sums.0.last_mut() {
                    Some((last, sum)) if *last == launch => add(sum, transfers),
                    _ => {
                        let mut sum = A::default();
                        add(&mut sum, transfers);
                        sums.0.push((launch, sum));
                        end_middle(sums);
                    }
                }
            },
            |sums, (open, ended)| {
                sums.1.extend(ended);
                for (launch, more) in open {
                    match sums.0.last_mut() {
                        Some((last, sum)) if *last == launch => join(sum, more),
                        _ => sums.0.push((launch, more)),
                    }
                }
                end_middle(sums);
            },
        )?;
        ended.extend(
            open.into_iter()
                .map(|(launch, sum)| (launch, end(launch, sum))),
        );
        ended.sort_unstable_by_key(|(launch, _)| *launch);
        Ok(ended.into_iter().map(|(_, result)| result).collect())
    }

    pub fn to_vec(&self) -> Result<Vec<Transfer>> {
        let mut all = Vec::new();
        self.each(|transfer| all.push(*transfer))?;
        Ok(all)
    }
}

impl Default for Transfers {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl From<Vec<Transfer>> for Transfers {
    fn from(mut transfers: Vec<Transfer>) -> Self {
        transfers.sort_unstable();
        Self::new(Sorted::from_sorted(transfers))
    }
}

impl PartialEq for Transfers {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && matches!((self.to_vec(), other.to_vec()), (Ok(a), Ok(b)) if a == b)
    }
}

impl Eq for Transfers {}

impl Transfer {
    fn ends(&self) -> [u32; 4] {
        [
            self.source_launch,
            self.source_cta,
            self.receiver_launch,
            self.receiver_cta,
        ]
    }
}

impl Item for Transfer {
    #[inline]
    fn key(&self) -> u128 {
        (self.ends().iter()).fold(0, |key, &end| key << 32 | u128::from(end))
    }

    fn join(&mut self, other: &Self) -> bool {
        let has_same_ends = self.ends() == other.ends();
        if has_same_ends {
            self.bytes += other.bytes;
            self.count += other.count;
        }
        has_same_ends
    }
}
