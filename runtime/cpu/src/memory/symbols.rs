//! Host functions for `__device__` and `__constant__` variables: copies, addresses and sizes.

use crate::errors::{CudaError, check_sticky, cuda, put};
use crate::memory::copies::{KIND_DEFAULT, copy};
use crate::registry;
use crate::runtime::session;
use std::ffi::{c_int, c_void};

/// `cudaMemcpyHostToDevice` and `cudaMemcpyDeviceToHost`.
pub const TO_DEVICE: c_int = 1;
pub const FROM_DEVICE: c_int = 2;

/// Returns the address of the part of a variable that a copy accesses. The copy's kind must be `direction` or permit
/// device memory on both sides.
pub fn symbol_part(
    symbol: *const c_void,
    [bytes, offset]: [usize; 2],
    kind: c_int,
    direction: c_int,
) -> Result<*mut c_void, CudaError> {
    check_sticky()?;
    if kind != direction && !matches!(kind, 3 | KIND_DEFAULT) {
        return Err(CudaError::INVALID_MEMCPY_DIRECTION);
    }
    let symbol = registry::symbol(symbol)?;
    match (offset as u64).checked_add(bytes as u64) {
        Some(end) if end <= symbol.bytes => Ok((symbol.address + offset as u64) as *mut c_void),
        _ => {
            let text = format!(
                "a copy of {bytes} bytes at offset {offset} does not fit into the {}-byte variable {}",
                symbol.bytes, symbol.name
            );
            session().warning(text);
            Err(CudaError::INVALID_VALUE)
        }
    }
}

cuda! { in_stream Copy:
    fn [cudaMemcpyToSymbol cudaMemcpyToSymbol_ptds] [cudaMemcpyToSymbolAsync cudaMemcpyToSymbolAsync_ptsz](
        symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: c_int
    ) |call, stream| {
        let to = symbol_part(symbol, [bytes, offset], kind, TO_DEVICE)?;
        copy(call, to, from, bytes, kind, stream)
    }

    fn [cudaMemcpyFromSymbol cudaMemcpyFromSymbol_ptds] [cudaMemcpyFromSymbolAsync cudaMemcpyFromSymbolAsync_ptsz](
        to: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: c_int
    ) |call, stream| {
        let from = symbol_part(symbol, [bytes, offset], kind, FROM_DEVICE)?;
        copy(call, to, from, bytes, kind, stream)
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
