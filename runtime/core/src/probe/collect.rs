//! Results of a probe, launch by launch.

use super::{KeptThreads, Layout};
use superstep_trace::probe::{Field, LaunchResult, Part, Per};
use superstep_trace::{DefinedProbe, Launch, ProbeWriter, TraceError};

/// Results of a launch, with complements undone and copies combined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Values by unit, place and field. A per-thread probe has one unit, which combines the values of all threads.
    pub values: Vec<u64>,
    /// The four numbers in [`superstep_trace::probe::UnitStatistics`] by place and field, for a per-thread probe.
    pub statistics: Option<Vec<u64>>,
    /// Every thread's fields, by place, field and thread, if they are kept.
    pub threads: Option<Vec<u64>>,
    /// The places in `threads`; `None` means all.
    pub thread_slots: Option<Vec<u32>>,
    /// Number of threads or CTAs, or 1.
    pub units: u64,
    pub tables: Vec<u64>,
}

impl Found {
    /// Reads a launch's results. `fields` holds little-endian words of [`Layout::word_bytes`] bytes, and `tables` holds all
    /// copies of the tables; `keep` selects the places whose fields are kept for each thread.
    pub fn of(
        probe: &DefinedProbe,
        layout: &Layout,
        fields: &[u8],
        tables: &[u64],
        keep: &KeptThreads,
        launch: &Launch,
    ) -> Self {
        let specs = &probe.spec.fields;
        let stored = Stored {
            bytes: fields,
            word_bytes: layout.word_bytes as usize,
        };
        let row = layout.unit_words() as usize;
        let mut found = Found {
            units: layout.units,
            ..Found::default()
        };
        match layout.per {
            Per::Thread => {
                let units = layout.units as usize;
                let rows = (0..row)
                    .flat_map(|row| statistics(&specs[row % specs.len()], stored.row(row, units)));
                let rows: Vec<u64> = rows.collect();
                found.values = rows.iter().copied().step_by(4).collect();
                found.statistics = Some(rows);
                found.thread_slots = layout.used_slots(keep, launch);
                let all = || (layout.first_slot..layout.first_slot + layout.slots).collect();
                let slots = match &found.thread_slots {
                    None => (*keep != KeptThreads::None).then(all),
                    slots => slots.clone(),
                };
                found.threads = slots.map(|slots| {
                    let first = slots.iter().map(|slot| (slot - layout.first_slot) as usize);
                    let rows = first.flat_map(|at| at * specs.len()..(at + 1) * specs.len());
                    let shown = rows.flat_map(|row| {
                        let field = &specs[row % specs.len()];
                        stored.row(row, units).map(|word| field.shown(word))
                    });
                    shown.collect()
                });
            }
            Per::Cta => {
                let words = (0..row * layout.units as usize)
                    .map(|at| specs[at % specs.len()].shown(stored.word(at)));
                found.values = words.collect();
            }
            Per::Launch => {
                found.units = 1;
                let words = (0..row).map(|at| {
                    let field = &specs[at % specs.len()];
                    let copies =
                        (0..layout.units as usize).map(|copy| stored.word(copy * row + at));
                    field.shown(copies.fold(0, |left, right| field.combine.stored(left, right)))
                });
                found.values = words.collect();
            }
        }
        let stride = (layout.table_stride() as usize).max(1);
        let words = (0..layout.table_words as usize).map(|at| {
            let copies = tables.iter().skip(at).step_by(stride);
            copies.fold(0u64, |sum, word| sum.wrapping_add(*word))
        });
        found.tables = words.collect();
        found
    }

    pub fn write(
        &self,
        writer: &mut ProbeWriter,
        module: u32,
        launch: &Launch,
        layout: &Layout,
        elapsed_ns: u64,
    ) -> Result<(), TraceError> {
        let mut put = |words: &[u64]| writer.values(words.iter().copied());
        let fields = put(self.statistics.as_ref().unwrap_or(&self.values))?;
        let threads = self.threads.as_deref().map(&mut put).transpose()?;
        let tables = match &self.tables[..] {
            [] => Part::default(),
            words => put(words)?,
        };
        writer.launch(&LaunchResult {
            stream: launch.stream.0,
            launch: launch.launch.0,
            kernel: launch.kernel.clone(),
            module,
            grid: launch.grid,
            block: launch.block,
            first_slot: layout.first_slot,
            slots: layout.slots,
            units: self.units,
            elapsed_ns,
            fields,
            threads,
            thread_slots: self.thread_slots.clone(),
            tables,
        })
    }
}

#[derive(Clone, Copy)]
struct Stored<'a> {
    bytes: &'a [u8],
    word_bytes: usize,
}

impl<'a> Stored<'a> {
    fn word(self, index: usize) -> u64 {
        let mut word = [0; 8];
        let first = index * self.word_bytes;
        if let Some(bytes) = self.bytes.get(first..first + self.word_bytes) {
            word[..self.word_bytes].copy_from_slice(bytes);
        }
        u64::from_le_bytes(word)
    }

    fn row(self, row: usize, units: usize) -> impl Iterator<Item = u64> + Clone + 'a {
        (row * units..(row + 1) * units).map(move |index| self.word(index))
    }
}

/// The four numbers in [`superstep_trace::probe::UnitStatistics`].
fn statistics(field: &Field, words: impl Iterator<Item = u64>) -> [u64; 4] {
    let (mut combined, mut smallest, mut largest, mut touched) = (0, u64::MAX, 0, 0);
    for stored in words {
        combined = field.combine.stored(combined, stored);
        let shown = field.shown(stored);
        smallest = smallest.min(shown);
        largest = largest.max(shown);
        touched += u64::from(stored != 0);
    }
    [field.shown(combined), smallest, largest, touched]
}

#[cfg(test)]
mod tests;
