//! Host functions for `__device__` and `__constant__` variables: copies, addresses and sizes.

use crate::errors::{CudaError, CudaResult, check_sticky, cuda, put};
use crate::memory::copies::{KIND_DEFAULT, copy};
use crate::registry;
use crate::runtime::session;
use std::ffi::{c_int, c_void};

fn symbol_part(symbol: *const c_void, bytes: usize, offset: usize) -> Result<u64, CudaError> {
    let symbol = registry::symbol(symbol)?;
    match (offset as u64).checked_add(bytes as u64) {
        Some(end) if end <= symbol.bytes => Ok(symbol.address + offset as u64),
        _ => {
            let text = format!(
                "a copy of {bytes} bytes at offset {offset} does not fit in variable {} of {} bytes",
                symbol.name, symbol.bytes
            );
            session().warning(text);
            Err(CudaError::INVALID_VALUE)
        }
    }
}

pub fn copy_to_symbol(
    call: &str,
    symbol: *const c_void,
    from: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
    stream: *mut c_void,
) -> CudaResult {
    check_sticky()?;
    if !matches!(kind, 1 | 3 | KIND_DEFAULT) {
        return Err(CudaError::INVALID_MEMCPY_DIRECTION);
    }
    let to = symbol_part(symbol, bytes, offset)?;
    copy(call, to as *mut c_void, from, bytes, kind, stream)
}

pub fn copy_from_symbol(
    call: &str,
    to: *mut c_void,
    symbol: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
    stream: *mut c_void,
) -> CudaResult {
    check_sticky()?;
    if !matches!(kind, 2 | 3 | KIND_DEFAULT) {
        return Err(CudaError::INVALID_MEMCPY_DIRECTION);
    }
    let from = symbol_part(symbol, bytes, offset)?;
    copy(call, to, from as *const c_void, bytes, kind, stream)
}

cuda! { in_stream Copy:
    fn [cudaMemcpyToSymbol cudaMemcpyToSymbol_ptds] [cudaMemcpyToSymbolAsync cudaMemcpyToSymbolAsync_ptsz](
        symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: c_int
    ) |call, stream| {
        copy_to_symbol(call, symbol, from, bytes, offset, kind, stream)
    }

    fn [cudaMemcpyFromSymbol cudaMemcpyFromSymbol_ptds] [cudaMemcpyFromSymbolAsync cudaMemcpyFromSymbolAsync_ptsz](
        to: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: c_int
    ) |call, stream| {
        copy_from_symbol(call, to, symbol, bytes, offset, kind, stream)
    }
}

cuda! {
    fn [cudaGetSymbolAddress](address: *mut *mut c_void, symbol: *const c_void) {
        check_sticky()?;
        put(address, registry::symbol(symbol)?.address as *mut c_void)
    }

    fn [cudaGetSymbolSize](bytes: *mut usize, symbol: *const c_void) {
        check_sticky()?;
        put(bytes, registry::symbol(symbol)?.bytes as usize)
    }
}
