//! The memory layout of a launch's fields and tables.

use std::collections::BTreeMap;
use superstep_abi::{KeepThreads, VariableError, variable};
use superstep_trace::probe::{Per, Word};
use superstep_trace::{DefinedProbe, Launch};

/// Maximum size of a launch's fields and tables in bytes.
const MAX_BYTES: u64 = 8 << 30;

/// Mirrors `struct Context` in `probes/include/superstep/probe.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeContext {
    pub fields: u64,
    /// Number of words from one field to the next.
    pub slot_stride: u64,
    /// Number of words from one unit to the next.
    pub unit_stride: u64,
    pub units: u64,
    pub tables: u64,
    /// Number of words from one copy of all tables to the next.
    pub table_words: u64,
    pub parameters: u64,
    pub launch: u64,
    /// The slot of word 0.
    pub first_slot: u32,
    pub replicas: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the probe {probe} needs {bytes} bytes for this launch ({slots} places in {units} units); set `per: launch`, or name \
     fewer kernels under `kernels`"
)]
pub struct TooLarge {
    probe: String,
    bytes: u64,
    slots: u32,
    units: u64,
}

/// [`KeepThreads`] with the contents of its file: the places for each launch.
pub type KeptThreads = KeepThreads<BTreeMap<u32, Vec<u32>>>;

pub fn read_kept_threads(keep: &KeepThreads) -> Result<KeptThreads, VariableError> {
    let file = match keep {
        KeepThreads::None => return Ok(KeepThreads::None),
        KeepThreads::All => return Ok(KeepThreads::All),
        KeepThreads::At(file) => file,
    };
    let json = std::fs::read(file).unwrap_or_default();
    let places = serde_json::from_slice(&json).map_err(|_| VariableError {
        name: variable::PROBE_THREADS,
        value: file.display().to_string(),
        expected: "0, 1, or a JSON file that maps launches to lists of places".to_owned(),
    })?;
    Ok(KeepThreads::At(places))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub per: Per,
    pub first_slot: u32,
    pub slots: u32,
    pub fields: u32,
    /// Number of threads, CTAs, or copies of the launch's fields.
    pub units: u64,
    /// Bytes per field: 4 if each thread has its own 32-bit fields, otherwise 8.
    pub word_bytes: u64,
    /// Number of words in one copy of the tables.
    pub table_words: u64,
    /// Number of copies of the tables, and of the fields of a per-launch probe.
    pub replicas: u32,
}

impl Layout {
    /// Returns the layout of a launch, or `None` if the kernel reaches none of the probe's places. `replicas` is the number
    /// of SMs or workers.
    pub fn of(
        probe: &DefinedProbe,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        replicas: u32,
    ) -> Result<Option<Self>, TooLarge> {
        let Some(slots) = probe.kernels.get(kernel).filter(|slots| slots.count > 0) else {
            return Ok(None);
        };
        let spec = &probe.spec;
        let product = |extent: [u32; 3]| extent.iter().map(|&n| u64::from(n)).product::<u64>();
        let units = match spec.per {
            Per::Thread => product(grid).saturating_mul(product(block)),
            Per::Cta => product(grid),
            Per::Launch => u64::from(replicas),
        };
        let narrow =
            spec.per == Per::Thread && (spec.fields.iter()).all(|field| field.word == Word::U32);
        let layout = Layout {
            per: spec.per,
            first_slot: slots.first,
            slots: slots.count,
            fields: spec.fields.len() as u32,
            units,
            word_bytes: if narrow { 4 } else { 8 },
            table_words: spec.table_words(),
            replicas,
        };
        let bytes = layout.field_bytes().saturating_add(layout.table_bytes());
        if bytes > MAX_BYTES {
            return Err(TooLarge {
                probe: spec.name.clone(),
                bytes,
                slots: layout.slots,
                units,
            });
        }
        Ok(Some(layout))
    }

    /// Returns the places of `keep` that the kernel can reach, or `None` if `keep` is not `At`.
    pub(super) fn used_slots(&self, keep: &KeptThreads, launch: &Launch) -> Option<Vec<u32>> {
        let KeptThreads::At(places) = keep else {
            return None;
        };
        let reachable = self.first_slot..self.first_slot + self.slots;
        let wanted = places
            .get(&launch.launch.0)
            .filter(|_| launch.stream.0 == 0);
        let slots = wanted.into_iter().flatten().copied();
        Some(slots.filter(|slot| reachable.contains(slot)).collect())
    }

    pub fn unit_words(&self) -> u64 {
        u64::from(self.slots) * u64::from(self.fields)
    }

    pub fn field_bytes(&self) -> u64 {
        self.unit_words()
            .saturating_mul(self.units)
            .saturating_mul(self.word_bytes)
    }

    /// Returns the number of words from one copy of the tables to the next. It is not a power of two, which spreads
    /// the copies of a word across a GPU's L2 cache.
    pub fn table_stride(&self) -> u64 {
        match self.table_words {
            0 => 0,
            words => words.next_multiple_of(16) + 48,
        }
    }

    pub fn table_bytes(&self) -> u64 {
        self.table_stride() * u64::from(self.replicas) * 8
    }

    pub fn context(&self, fields: u64, tables: u64, parameters: u64, launch: u32) -> ProbeContext {
        let (slot_stride, unit_stride) = match self.per {
            // Neighbouring threads write neighbouring words.
            Per::Thread => (self.units, 1),
            Per::Cta | Per::Launch => (1, self.unit_words()),
        };
        ProbeContext {
            fields,
            slot_stride,
            unit_stride,
            units: self.units,
            tables,
            table_words: self.table_stride(),
            parameters,
            launch: u64::from(launch),
            first_slot: self.first_slot,
            replicas: self.replicas,
        }
    }
}

#[cfg(test)]
mod tests;
