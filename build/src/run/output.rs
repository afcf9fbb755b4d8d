//! Copies a program's output into a file, up to a limit.

use std::fs::File;
use std::io::{self, Read};

/// Copies `from` into `to`, keeping the first `limit_bytes`; the rest is read and discarded, so that the program never
/// blocks on a full pipe. Returns whether anything was discarded.
pub(super) fn copy(mut from: impl Read, mut to: File, limit_bytes: u64) -> io::Result<bool> {
    io::copy(&mut from.by_ref().take(limit_bytes), &mut to)?;
    Ok(io::copy(&mut from, &mut io::sink())? > 0)
}

#[cfg(test)]
mod tests;
