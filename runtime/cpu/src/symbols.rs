//! `__device__` and `__constant__` variables as the host sees them: copies to and from them, address and size.

use crate::copies::copy;
use crate::errors::{CudaError, CudaResult, check_sticky, cuda, put};
use crate::registry;
use crate::runtime::session;
use std::ffi::{c_int, c_void};

/// `cudaMemcpyDefault`.
const KIND_DEFAULT: c_int = 4;
const DEFAULT_STREAM: *mut c_void = std::ptr::null_mut();

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

fn to_symbol(
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
    copy(
        "cudaMemcpyToSymbol",
        to as *mut c_void,
        from,
        bytes,
        kind,
        stream,
    )
}

fn from_symbol(
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
    copy(
        "cudaMemcpyFromSymbol",
        to,
        from as *const c_void,
        bytes,
        kind,
        stream,
    )
}

cuda! {
    fn cudaMemcpyToSymbol(symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: c_int) also cudaMemcpyToSymbol_ptds {
        to_symbol(symbol, from, bytes, offset, kind, DEFAULT_STREAM)
    }

    fn cudaMemcpyToSymbolAsync(
        symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: c_int, stream: *mut c_void
    ) also cudaMemcpyToSymbolAsync_ptsz {
        to_symbol(symbol, from, bytes, offset, kind, stream)
    }

    fn cudaMemcpyFromSymbol(to: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: c_int) also cudaMemcpyFromSymbol_ptds {
        from_symbol(to, symbol, bytes, offset, kind, DEFAULT_STREAM)
    }

    fn cudaMemcpyFromSymbolAsync(
        to: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: c_int, stream: *mut c_void
    ) also cudaMemcpyFromSymbolAsync_ptsz {
        from_symbol(to, symbol, bytes, offset, kind, stream)
    }

    fn cudaGetSymbolAddress(address: *mut *mut c_void, symbol: *const c_void) {
        check_sticky()?;
        put(address, registry::symbol(symbol)?.address as *mut c_void)
    }

    fn cudaGetSymbolSize(bytes: *mut usize, symbol: *const c_void) {
        check_sticky()?;
        put(bytes, registry::symbol(symbol)?.bytes as usize)
    }
}
