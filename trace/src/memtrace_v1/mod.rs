//! The file format of Rieber 2017, `memtrace-v1`: one file per stream, `MemTrace-pipe-<n>`.
//!
//! ```text
//! file:   size of a record (one byte, 24), LF, launch, launch, …
//! launch: kernel name, LF, record, record, …, 24 zero bytes
//! record: three little-endian 64-bit words
//!         CTA.x << 32 | CTA.y << 16 | CTA.z
//!         address
//!         SM << 32 | type << 28 | size in bytes       (types 1–13: Rieber 2017, table 5.1)
//! ```
//!
//! Each thread's access has its own record. Old files lack the LF after the size byte; [`Reader`] accepts both. A
//! kernel's name cannot start with LF, and is expected only at the start of a file and after a zero record, so records
//! are never mistaken for names.

mod export;
mod import;
mod reader;

pub use export::{export, export_file, file_name, parse_file_name};
pub use import::import;
pub use reader::{Item, Reader};

use crate::Op;

pub const RECORD_BYTES: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Record {
    /// CTA in x, y and z; y and z are below 65536.
    pub cta: [u32; 3],
    pub address: u64,
    pub sm: u32,
    /// Operation; never [`Op::AtomicOther`], which the format lacks.
    pub op: Op,
    /// Bytes accessed, below 2^28.
    pub width_bytes: u32,
}

impl Record {
    /// Encodes the record. Returns `None` if the CTA's y or z or the width is too large for the format.
    /// [`Op::AtomicOther`] becomes a compare-and-swap (10), the instruction from which these operations are built.
    pub fn to_bytes(&self) -> Option<[u8; RECORD_BYTES]> {
        let [x, y, z] = self.cta;
        if y > 0xffff || z > 0xffff || self.width_bytes >= 1 << 28 {
            return None;
        }
        let kind = match self.op {
            Op::AtomicOther => Op::AtomicCas,
            op => op,
        };
        let words = [
            u64::from(x) << 32 | u64::from(y) << 16 | u64::from(z),
            self.address,
            u64::from(self.sm) << 32 | u64::from(kind.code()) << 28 | u64::from(self.width_bytes),
        ];
        let mut bytes = [0; RECORD_BYTES];
        for (out, word) in bytes.chunks_exact_mut(8).zip(words) {
            out.copy_from_slice(&word.to_le_bytes());
        }
        Some(bytes)
    }

    /// Decodes a record; returns `None` if its type is unknown.
    pub fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<8>();
        let word = |index: usize| u64::from_le_bytes(words[index]);
        let (cta, address, access) = (word(0), word(1), word(2));
        let op = Op::from_code((access >> 28) as u8 & 0xf).filter(|&op| op != Op::AtomicOther)?;
        Some(Record {
            cta: [
                (cta >> 32) as u32,
                (cta >> 16) as u32 & 0xffff,
                cta as u32 & 0xffff,
            ],
            address,
            sm: (access >> 32) as u32,
            op,
            width_bytes: access as u32 & 0x0fff_ffff,
        })
    }
}
