//! Memory pools. Memory is returned to the system immediately, so a pool only counts its allocations.

use crate::device::devices;
use crate::errors::{CudaError, CudaResult, check_not_null, check_sticky, cuda, fail_if, put};
use crate::handles::Handles;
use crate::streams::graphs;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

#[derive(Debug, Default)]
struct Pool {
    /// Attributes that the program has set, by attribute number.
    set: BTreeMap<c_int, u64>,
    used_bytes: u64,
    max_used_bytes: u64,
}

static POOLS: Handles<Mutex<Pool>> = Handles::new();
/// Default and current pool of each device.
static DEVICE_POOLS: Mutex<BTreeMap<c_int, (usize, usize)>> = Mutex::new(BTreeMap::new());
/// Pool and size in bytes of each live allocation, by address.
static LIVE: Mutex<BTreeMap<u64, (usize, u64)>> = Mutex::new(BTreeMap::new());

/// Values of `cudaMemPoolAttr`: three switches, the number of bytes that a pool retains, and its counters.
const SWITCHES: std::ops::RangeInclusive<c_int> = 1..=3;
const RELEASE_THRESHOLD: c_int = 4;
const RESERVED_NOW: c_int = 5;
const RESERVED_MAX: c_int = 6;
const USED_NOW: c_int = 7;
const USED_MAX: c_int = 8;
/// `cudaMemAccessFlagsProtReadWrite`.
const READ_AND_WRITE: c_int = 3;

fn pools_of(device: c_int) -> Result<(usize, usize), CudaError> {
    devices::check(device)?;
    let create = || {
        let pool = POOLS.insert(Mutex::default());
        (pool, pool)
    };
    Ok(*DEVICE_POOLS.lock().entry(device).or_insert_with(create))
}

/// Allocates memory from a pool, by default the current device's.
fn allocate(
    place: *mut *mut c_void,
    bytes: usize,
    pool: Option<usize>,
    stream: *mut c_void,
) -> CudaResult {
    check_sticky()?;
    check_not_null(place)?;
    let handle = match pool {
        Some(pool) => pool,
        None => pools_of(devices::current())?.1,
    };
    let pool = POOLS.get(handle)?;
    let address = graphs::allocate_in(stream, bytes)?;
    let mut pool = pool.lock();
    pool.used_bytes += bytes as u64;
    pool.max_used_bytes = pool.max_used_bytes.max(pool.used_bytes);
    LIVE.lock().insert(address as u64, (handle, bytes as u64));
    put(place, address)
}

/// Records that memory, which may belong to a pool, was freed.
pub fn freed(address: u64) {
    let Some((pool, bytes)) = LIVE.lock().remove(&address) else {
        return;
    };
    // The pool may have been destroyed.
    if let Ok(pool) = POOLS.get(pool) {
        pool.lock().used_bytes -= bytes;
    }
}

fn read(pool: &Pool, number: c_int) -> Result<u64, CudaError> {
    Ok(match number {
        RESERVED_NOW | USED_NOW => pool.used_bytes,
        RESERVED_MAX | USED_MAX => pool.max_used_bytes,
        RELEASE_THRESHOLD => pool.set.get(&number).copied().unwrap_or(0),
        _ if SWITCHES.contains(&number) => pool.set.get(&number).copied().unwrap_or(1),
        _ => return Err(CudaError::INVALID_VALUE),
    })
}

/// Sets an attribute: a 32-bit value for switches, a 64-bit value for the others.
fn set(pool: &mut Pool, number: c_int, value: *const c_void) -> CudaResult {
    check_not_null(value)?;
    let value = if SWITCHES.contains(&number) {
        // SAFETY: the program passes a value of the attribute's type.
        u64::from(unsafe { value.cast::<u32>().read() })
    } else {
        // SAFETY: all other attributes are 64-bit values.
        unsafe { value.cast::<u64>().read() }
    };
    match number {
        // The maximum can only be reset.
        RESERVED_MAX | USED_MAX if value == 0 => pool.max_used_bytes = pool.used_bytes,
        RELEASE_THRESHOLD => drop(pool.set.insert(number, value)),
        _ if SWITCHES.contains(&number) => drop(pool.set.insert(number, value)),
        _ => return Err(CudaError::INVALID_VALUE),
    }
    Ok(())
}

cuda! {
    // Streams run in order, so memory is allocated immediately.
    fn [cudaMallocAsync cudaMallocAsync_ptsz](place: *mut *mut c_void, bytes: usize, stream: *mut c_void) {
        allocate(place, bytes, None, stream)
    }

    fn [cudaMallocFromPoolAsync cudaMallocFromPoolAsync_ptsz](
        place: *mut *mut c_void, bytes: usize, pool: usize, stream: *mut c_void
    ) {
        allocate(place, bytes, Some(pool), stream)
    }

    fn [cudaMemPoolCreate](place: *mut usize, properties: *const c_void) {
        check_not_null(properties)?;
        put(place, POOLS.insert(Mutex::default()))
    }

    fn [cudaMemPoolDestroy](pool: usize) {
        let mut pools = DEVICE_POOLS.lock();
        fail_if(pools.values().any(|(default, _)| *default == pool), CudaError::INVALID_VALUE)?;
        for (default, current) in pools.values_mut() {
            if *current == pool {
                *current = *default;
            }
        }
        POOLS.remove(pool).map(drop)
    }

    fn [cudaDeviceGetDefaultMemPool](place: *mut usize, device: c_int) {
        put(place, pools_of(device)?.0)
    }

    fn [cudaDeviceGetMemPool](place: *mut usize, device: c_int) {
        put(place, pools_of(device)?.1)
    }

    fn [cudaDeviceSetMemPool](device: c_int, pool: usize) {
        let (default, _) = pools_of(device)?;
        POOLS.get(pool)?;
        DEVICE_POOLS.lock().insert(device, (default, pool));
        Ok(())
    }

    fn [cudaMemPoolGetAttribute](pool: usize, number: c_int, place: *mut c_void) {
        let value = read(&POOLS.get(pool)?.lock(), number)?;
        if SWITCHES.contains(&number) {
            put(place.cast::<u32>(), value as u32)
        } else {
            put(place.cast::<u64>(), value)
        }
    }

    fn [cudaMemPoolSetAttribute](pool: usize, number: c_int, value: *const c_void) {
        set(&mut POOLS.get(pool)?.lock(), number, value)
    }

    // `cudaMemPoolTrimTo`: has no effect, since a pool retains nothing, and every device can access all memory.
    fn [cudaMemPoolTrimTo cudaMemPoolSetAccess](pool: usize) {
        POOLS.get(pool).map(drop)
    }

    fn [cudaMemPoolGetAccess](flags: *mut c_int, pool: usize) {
        POOLS.get(pool)?;
        put(flags, READ_AND_WRITE)
    }
}

#[cfg(test)]
mod tests;
