//! Tests for `pools`.

use super::*;
use std::ptr::null_mut;

#[test]
fn a_pool_counts_its_allocations() {
    let (default, current) = pools_of(0).unwrap();
    assert_eq!(default, current);
    assert_eq!(pools_of(7), Err(CudaError::INVALID_DEVICE));
    let own = POOLS.insert(Mutex::default());
    let mut address = null_mut();
    assert_eq!(
        allocate(&raw mut address, 1000, Some(own), null_mut()),
        Ok(())
    );
    let value = |number| read(&POOLS.get(own).unwrap().lock(), number);
    assert_eq!((value(USED_NOW), value(USED_MAX)), (Ok(1000), Ok(1000)));
    assert_eq!(graphs::free_in(null_mut(), address as u64), Ok(()));
    assert_eq!((value(USED_NOW), value(USED_MAX)), (Ok(0), Ok(1000)));
    let threshold = u64::MAX;
    let place = (&raw const threshold).cast();
    let set = |number| set(&mut POOLS.get(own).unwrap().lock(), number, place);
    assert_eq!(
        (set(RELEASE_THRESHOLD), value(RELEASE_THRESHOLD)),
        (Ok(()), Ok(u64::MAX))
    );
    assert_eq!(set(USED_NOW), Err(CudaError::INVALID_VALUE));
    // SAFETY: the function accepts invalid handles.
    let destroy = |pool| CudaError(unsafe { cudaMemPoolDestroy(pool) });
    assert_eq!(
        [destroy(own), destroy(own), destroy(default)],
        [
            CudaError(0),
            CudaError::INVALID_RESOURCE_HANDLE,
            CudaError::INVALID_VALUE
        ]
    );
}
