//! Tests for `streams`.

use super::*;

#[test]
fn streams_are_created_and_destroyed() {
    let mut stream = std::ptr::null_mut();
    assert_eq!(create(&mut stream, 0, -9), Ok(()));
    assert_eq!(get(stream).unwrap().unwrap().priority, -5);
    // SAFETY: the function accepts invalid handles.
    let destroy = |stream| CudaError(unsafe { cudaStreamDestroy(stream) });
    assert_eq!(
        (destroy(stream), destroy(stream)),
        (CudaError(0), CudaError::INVALID_RESOURCE_HANDLE)
    );
    assert_eq!(create(&mut stream, 7, 0), Err(CudaError::INVALID_VALUE));
    assert_eq!(stream_id(std::ptr::null_mut()), Ok(StreamId(0)));
}

#[test]
fn default_streams_have_distinct_ids() {
    let handle = |number| std::ptr::without_provenance_mut(number);
    let ids = move || [0, 1, 2].map(|number| unique_id(handle(number)).unwrap());
    let [null, legacy, own] = ids();
    let other = std::thread::spawn(ids).join().unwrap();
    assert!(null == legacy && other[..2] == [legacy; 2]);
    assert!(own != legacy && other[2] != own && other[2] != legacy);
    assert_eq!(resolve_stream("cudaMemsetAsync", handle(0)), handle(0));
    assert_eq!(resolve_stream("cudaMemsetAsync_ptsz", handle(0)), handle(2));
    assert_eq!(resolve_stream("cudaMemsetAsync_ptsz", handle(1)), handle(1));
    assert_eq!(default_of("cudaMemset_ptds"), handle(2));
}
