//! Tests for `memory`.

use super::*;

#[test]
fn ranges_follow_allocations() {
    let address = allocate(1000, AllocationKind::Device).unwrap();
    let is_global = |address| ranges().find(address).is_some();
    assert!(is_global(address + 999) && !is_global(address + 1000));
    assert_eq!(find(address + 5, |block| block.bytes), Some(1000));
    assert_eq!(
        free(address, &[AllocationKind::Pinned]),
        Err(CudaError::INVALID_VALUE),
        "an allocation of another kind"
    );
    assert_eq!(
        free(
            address + 1,
            &[AllocationKind::Device, AllocationKind::Managed]
        ),
        Err(CudaError::INVALID_VALUE)
    );
    assert_eq!(
        free(address, &[AllocationKind::Device, AllocationKind::Managed]),
        Ok(())
    );
    assert!(!is_global(address));
    assert_eq!(
        free(0, &[AllocationKind::Device, AllocationKind::Managed]),
        Ok(())
    );
}

#[test]
fn allocations_are_limited_to_the_machines_memory() {
    assert_eq!(
        allocate(usize::MAX, AllocationKind::Device),
        Err(CudaError::MEMORY_ALLOCATION)
    );
    assert_eq!(
        allocate(1 << 50, AllocationKind::Device),
        Err(CudaError::MEMORY_ALLOCATION)
    );
    assert_eq!(allocate(0, AllocationKind::Device), Ok(0));
}

#[test]
fn pointers_are_described() {
    let address = allocate(64, AllocationKind::Managed).unwrap();
    let kind = |pointer: *const c_void| attributes_of(pointer).type_;
    assert_eq!(
        kind(address as *const c_void),
        cudaMemoryType::cudaMemoryTypeManaged
    );
    let local = 0u8;
    assert_eq!(
        kind((&raw const local).cast()),
        cudaMemoryType::cudaMemoryTypeUnregistered
    );
    assert_eq!(pitch_of(513), Ok(1024));
}
