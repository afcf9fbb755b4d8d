//! Tests of `streams`.

use super::*;

#[test]
fn streams_are_made_and_destroyed() {
    let mut stream = std::ptr::null_mut();
    assert_eq!(create(&mut stream, 0, -9), Ok(()));
    assert_eq!(get(stream).unwrap().unwrap().priority, -5);
    assert_eq!(destroy(stream), Ok(()));
    assert_eq!(destroy(stream), Err(CudaError::INVALID_RESOURCE_HANDLE));
    assert_eq!(create(&mut stream, 7, 0), Err(CudaError::INVALID_VALUE));
    assert_eq!(stream_id(std::ptr::null_mut()), Ok(StreamId(0)));
}

#[test]
fn default_streams_are_told_apart() {
    let handle = |number| std::ptr::without_provenance_mut(number);
    let ids = move || [0, 1, 2].map(|number| unique_id(handle(number)).unwrap());
    let [null, legacy, own] = ids();
    let there = std::thread::spawn(ids).join().unwrap();
    assert!(null == legacy && there[..2] == [legacy; 2]);
    assert!(own != legacy && there[2] != own && there[2] != legacy);
    assert_eq!(as_given_to("cudaMemsetAsync", handle(0)), handle(0));
    assert_eq!(as_given_to("cudaMemsetAsync_ptsz", handle(0)), handle(2));
    assert_eq!(as_given_to("cudaMemsetAsync_ptsz", handle(1)), handle(1));
    assert_eq!(default_of("cudaMemset_ptds"), handle(2));
}
