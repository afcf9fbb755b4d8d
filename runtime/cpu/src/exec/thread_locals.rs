//! Finds the calling thread's thread-local variables, which hold the program's static shared memory.

use std::ffi::{c_int, c_void};

/// Returns the calling thread's block of thread-local variables that contains `address`, as its
/// first byte and one past its last, or an empty range if no such block is found.
pub fn around(address: u64) -> (u64, u64) {
    let mut search = Search {
        address,
        found: (0, 0),
    };
    // SAFETY: the callback only uses its arguments during the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

struct Search {
    address: u64,
    found: (u64, u64),
}

unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes a valid object, and `around` its own search.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    if info.dlpi_tls_data.is_null() || info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the object has this many program headers.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let mut headers = headers.iter();
    if let Some(header) = headers.find(|header| header.p_type == libc::PT_TLS) {
        let first = info.dlpi_tls_data as u64;
        let last = first + header.p_memsz;
        if (first..last).contains(&search.address) {
            search.found = (first, last);
            return 1;
        }
    }
    0
}

#[cfg(test)]
mod tests;
