//! Anonymous memory from `mmap`: reserved address space costs nothing until it is touched.

use std::io::Error;
use std::ptr::null_mut;

pub const PAGE_BYTES: usize = 4096;

/// Memory obtained with `mmap`, unmapped on drop.
#[derive(Debug)]
pub struct Mapping {
    base: *mut u8,
    bytes: usize,
}

// SAFETY: a mapping is plain memory; users of its pointer synchronise.
unsafe impl Send for Mapping {}
// SAFETY: `&Mapping` exposes only the pointer.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` zero bytes (rounded up to whole pages), which use no memory until they are touched.
    pub fn new(bytes: usize) -> Result<Self, Error> {
        Self::with_protection(bytes, libc::PROT_READ | libc::PROT_WRITE)
    }

    /// Reserves `bytes` of address space that must not be touched.
    pub fn reserve(bytes: usize) -> Result<Self, Error> {
        Self::with_protection(bytes, libc::PROT_NONE)
    }

    fn with_protection(bytes: usize, protection: i32) -> Result<Self, Error> {
        let bytes = bytes
            .max(1)
            .checked_next_multiple_of(PAGE_BYTES)
            .ok_or_else(|| Error::from_raw_os_error(libc::ENOMEM))?;
        // SAFETY: a new mapping at an address that the OS chooses touches no existing memory.
        let base = unsafe { map(null_mut(), bytes, protection, 0) }?;
        Ok(Mapping { base, bytes })
    }

    /// Avoids huge pages, which would stay mostly unused.
    pub fn with_small_pages(self) -> Self {
        // SAFETY: this is advice about this mapping alone, which the OS may ignore.
        unsafe { libc::madvise(self.base.cast(), self.bytes, libc::MADV_NOHUGEPAGE) };
        self
    }

    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// Returns the address one past the last byte.
    pub fn end(&self) -> *mut u8 {
        self.base.wrapping_add(self.bytes)
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes `bytes` starting at `offset` readable and writable; both are multiples of the page size.
    pub fn open(&self, offset: usize, bytes: usize) -> Result<(), Error> {
        if offset.checked_add(bytes).is_none_or(|end| end > self.bytes) {
            return Err(Error::from_raw_os_error(libc::EINVAL));
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the range is inside this mapping.
        match unsafe { libc::mprotect(self.base.add(offset).cast(), bytes, access) } {
            0 => Ok(()),
            _ => Err(Error::last_os_error()),
        }
    }

    /// Frees the memory but keeps the address space, so that later accesses fault.
    pub fn close(&self) -> Result<(), Error> {
        // SAFETY: the new mapping replaces exactly this one, whose contents are no longer used.
        unsafe { map(self.base, self.bytes, libc::PROT_NONE, libc::MAP_FIXED) }.map(drop)
    }
}

/// # Safety
/// With `MAP_FIXED`, the memory at `base` must not be in use.
unsafe fn map(base: *mut u8, bytes: usize, protection: i32, flags: i32) -> Result<*mut u8, Error> {
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: the caller ensures that an existing mapping is replaced only if it is unused.
    let base = unsafe { libc::mmap(base.cast(), bytes, protection, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return Err(Error::last_os_error());
    }
    Ok(base.cast())
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to `self` alone and is not used after this.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests;
