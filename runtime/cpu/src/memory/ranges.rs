//! Global memory at the start of a launch: sorted ranges that workers search without a lock.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// `(first, one past the last)`, in ascending order.
    ranges: Vec<(u64, u64)>,
}

impl Ranges {
    /// Sorts the ranges, joins overlapping ones and drops empty ones.
    pub fn new(mut ranges: Vec<(u64, u64)>) -> Self {
        ranges.retain(|range| range.0 < range.1);
        ranges.sort_unstable();
        ranges.dedup_by(|next, previous| {
            let joined = next.0 < previous.1;
            if joined {
                previous.1 = previous.1.max(next.1);
            }
            joined
        });
        Ranges { ranges }
    }

    pub fn with(&self, range: (u64, u64)) -> Self {
        Ranges::new(self.ranges.iter().copied().chain([range]).collect())
    }

    pub fn find(&self, address: u64) -> Option<(u64, u64)> {
        let after = self.ranges.partition_point(|range| range.0 <= address);
        let range = *self.ranges.get(after.checked_sub(1)?)?;
        (address < range.1).then_some(range)
    }
}

#[cfg(test)]
mod tests;
