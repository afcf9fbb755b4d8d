//! The device's tables other than shadow memory.

use super::layout::{Context, KNOWN_BYTES, SLOTS, Transfer};
use super::room::fill_and_wait;
use super::{LAUNCHES, SLOT_BYTES};
use crate::cuda::CudaError;
use crate::cuda::device::{attribute_of, current_device};
use crate::cuda::memory::{device_memory, free_and_total, managed_memory};
use cudarc::runtime::sys::cudaDeviceAttr;

/// Number of rows in the set of received words; GPUs with a lot of memory get more.
const READERS: usize = 1 << 24;
/// The largest share of the GPU's memory that this set may occupy (1/32).
const READERS_SHARE: usize = 32;
const READER_BYTES: usize = 16;
const TRANSFERS: usize = 1 << 25;
/// Number of words with a separate entry for each byte, before managed memory is used; GPUs with a lot of memory get
/// more.
const SPLITS: usize = 1 << 22;
/// The largest share of the GPU's memory that these entries may occupy (1/64).
const SPLITS_SHARE: usize = 64;
const SPLIT_BYTES: usize = 64;
const MIN_ROWS: usize = 1 << 12;

/// Allocates the tables; returns a context that refers to them.
pub fn allocate() -> Result<Context, CudaError> {
    let (readers, transfers, splits, more_splits) = if limits_address_space() {
        // Device memory takes up address space, which the program may need.
        (READERS, TRANSFERS / 4, SPLITS, 0)
    } else {
        let (_, total) = free_and_total()?;
        let max_rows = (total / READERS_SHARE / READER_BYTES).max(READERS);
        let splits = (total / SPLITS_SHARE / SPLIT_BYTES).max(SPLITS);
        let more_splits = total / SPLIT_BYTES;
        (1 << max_rows.ilog2(), TRANSFERS, splits, more_splits)
    };
    let (readers, reader_rows) = table(readers, READER_BYTES, "set of received words")?;
    let (transfers, transfer_rows) = table(transfers, size_of::<Transfer>(), "table of transfers")?;
    let (split, split_most) = table(splits, SPLIT_BYTES, "shadow memory of single bytes")?;
    let (more_split, more_split_most) = managed(more_splits);
    Ok(Context {
        readers,
        reader_mask: reader_rows - 1,
        transfers,
        transfer_mask: transfer_rows - 1,
        split,
        split_most,
        more_split,
        more_split_most,
        known: cleared(KNOWN_BYTES, "cache of known words")?,
        sums: table(SLOTS, SLOT_BYTES, "sums")?.0,
        kernels: table(LAUNCHES, 4, "list of launches")?.0,
        ..Context::default()
    })
}

fn limits_address_space() -> bool {
    let infinite = libc::RLIM_INFINITY;
    let mut limit = libc::rlimit {
        rlim_cur: infinite,
        rlim_max: infinite,
    };
    // SAFETY: the pointer points to a `rlimit`. The call fails only for an unknown limit or a bad pointer.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) };
    limit.rlim_cur != infinite
}

/// Allocates cleared device memory for `rows` rows, or for fewer if memory is short; returns its address and the number
/// of rows.
fn table(mut rows: usize, row_bytes: usize, what: &str) -> Result<(u64, u64), CudaError> {
    loop {
        match cleared(rows * row_bytes, what) {
            Ok(memory) => return Ok((memory, rows as u64)),
            Err(_) if rows / 2 >= MIN_ROWS => rows /= 2,
            Err(error) => return Err(error),
        }
    }
}

/// Reserves managed memory for the entries of up to `groups` more words; returns its address and the number of words.
/// The driver provides this memory when it is first used, and moves some of it to the host if the GPU's memory is full.
fn managed(mut groups: usize) -> (u64, u64) {
    let is_on_demand = attribute_of(
        current_device(),
        cudaDeviceAttr::cudaDevAttrConcurrentManagedAccess,
    );
    if !matches!(is_on_demand, Ok(1)) {
        return (0, 0);
    }
    while groups >= SPLITS {
        match managed_memory(groups * SPLIT_BYTES) {
            Ok(memory) => return (memory, groups as u64),
            Err(_) => groups /= 2,
        }
    }
    (0, 0)
}

fn cleared(bytes: usize, what: &str) -> Result<u64, CudaError> {
    let memory = device_memory(bytes, what)?;
    clear(memory, bytes)?;
    Ok(memory)
}

pub fn clear(address: u64, bytes: usize) -> Result<(), CudaError> {
    fill_and_wait(&[((address, bytes as u64), 0)])
}
