//! Widths of each kernel's accesses.

use crate::columns;
use crate::counts::KernelCounts;
use crate::metrics::share;
use serde::{Deserialize, Serialize};
use superstep_table::arrow_schema::Field;
use superstep_table::{Cell, Columns, Table, table};

table! {
    /// One access width of one kernel; kernels are in order of first launch.
    struct AccessWidthRow = "access-widths" {
        kernel: String = columns::KERNEL;
        kernel_symbol: String = columns::KERNEL_SYMBOL;
        width_bytes: u32 ["bytes"] = "width of a thread's access; 0 if other than 1, 2, 4, 8 or 16";
        accesses: u64 ["accesses"] = "accesses of that width, counted per thread";
        share: f64 = "share of the kernel's accesses";
    }
}

/// Widths in bytes; 0 means any other width.
const WIDTHS: [u32; 6] = [1, 2, 4, 8, 16, 0];

/// Thread accesses by width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Widths {
    accesses: [u64; WIDTHS.len()],
}

impl Widths {
    #[inline]
    pub(crate) fn count(&mut self, width_bytes: u32, accesses: u64) {
        let class = WIDTHS.iter().position(|&width| width == width_bytes);
        self.accesses[class.unwrap_or(WIDTHS.len() - 1)] += accesses;
    }

    /// Returns whether all accesses have the same known width.
    pub fn is_uniform(&self) -> bool {
        let [known @ .., others] = &self.accesses;
        *others == 0 && known.iter().filter(|accesses| **accesses > 0).count() <= 1
    }
}

impl std::ops::AddAssign for Widths {
    fn add_assign(&mut self, other: Self) {
        for (sum, accesses) in self.accesses.iter_mut().zip(other.accesses) {
            *sum += accesses;
        }
    }
}

/// Count tables have no columns for widths, which are rows in a separate table.
impl Columns for Widths {
    fn fields() -> Vec<Field> {
        Vec::new()
    }

    fn cells<'a>(&'a self, _: &mut Vec<Cell<'a>>) {}
}

pub(crate) fn table(kernels: &[KernelCounts]) -> Table {
    let rows = kernels.iter().flat_map(|kernel| {
        let accesses = kernel.counts.widths.accesses;
        let all = accesses.iter().sum();
        let found = WIDTHS.into_iter().zip(accesses);
        found
            .filter(|&(_, accesses)| accesses > 0)
            .map(move |(width_bytes, accesses)| AccessWidthRow {
                kernel: kernel.kernel.clone(),
                kernel_symbol: kernel.kernel_symbol.clone(),
                width_bytes,
                accesses,
                share: share(accesses, all),
            })
    });
    rows.collect()
}

#[cfg(test)]
mod tests;
