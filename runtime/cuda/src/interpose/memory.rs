//! Allocations, through the runtime and driver APIs.

use super::{interposed, stored, then};
use crate::cuda::memory::forget_last_error;
use crate::cuda::{Status, Stream};
use crate::recorder::runtime::runtime;
use cudarc::runtime::sys::{cudaChannelFormatDesc, cudaExtent, cudaPitchedPtr};
use std::ffi::{c_uint, c_void};
use superstep_trace::AllocationKind;

fn record(status: Status, place: *mut *mut c_void, bytes: usize, kind: AllocationKind) -> Status {
    if let Some(address) = stored(status, place).filter(|_| bytes > 0) {
        runtime().allocated(address as u64, bytes as u64, kind);
    }
    status
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Api {
    Runtime,
    Driver,
}

/// Retries an allocation of device memory while shadow memory can make room for it. Both APIs return the same code when
/// memory runs out, but only the runtime remembers it.
fn with_room(api: Api, bytes: usize, real: impl Fn() -> Status) -> Status {
    let runtime = runtime();
    runtime.prepare();
    let mut status = real();
    while status == Status::MEMORY_ALLOCATION && runtime.in_situ.make_room(bytes) {
        if api == Api::Runtime {
            forget_last_error();
        }
        status = real();
    }
    status
}

fn on_device(
    api: Api,
    pointer: *mut *mut c_void,
    bytes: usize,
    real: impl Fn() -> Status,
) -> Status {
    let status = with_room(api, bytes, real);
    record(status, pointer, bytes, AllocationKind::Device)
}

/// Records a free before it happens, since another thread may get the memory immediately afterwards.
fn record_free(pointer: *mut c_void, real: impl FnOnce() -> Status) -> Status {
    runtime().freed(pointer as u64);
    real()
}

fn pitched(status: Status, pointer: *mut *mut c_void, pitch: *const usize, rows: usize) -> Status {
    let bytes = stored(status, pitch).map_or(0, |pitch| pitch * rows);
    record(status, pointer, bytes, AllocationKind::Device)
}

type Channels = *const cudaChannelFormatDesc;

fn element_bytes(channels: Channels) -> usize {
    if channels.is_null() {
        return 0;
    }
    // SAFETY: the program passes a description. Only its integers are read, because newer versions of CUDA may add
    // kinds.
    let bits = unsafe { (*channels).x + (*channels).y + (*channels).z + (*channels).w };
    usize::try_from(bits).unwrap_or(0) / 8
}

interposed! {
    [cudaMalloc](pointer: *mut *mut c_void, bytes: usize) |real| { on_device(Api::Runtime, pointer, bytes, real) }
    [cudaMallocManaged](pointer: *mut *mut c_void, bytes: usize, flags: c_uint) |real| {
        runtime().prepare();
        record(real(), pointer, bytes, AllocationKind::Managed)
    }
    [cudaMallocHost](pointer: *mut *mut c_void, bytes: usize) |real| {
        record(real(), pointer, bytes, AllocationKind::Pinned)
    }
    [cudaHostAlloc](pointer: *mut *mut c_void, bytes: usize, flags: c_uint) |real| {
        record(real(), pointer, bytes, AllocationKind::Pinned)
    }
    [cudaHostRegister](pointer: *mut c_void, bytes: usize, flags: c_uint) |real| {
        then!(real, runtime().allocated(pointer as u64, bytes as u64, AllocationKind::Pinned))
    }
    [cudaMallocAsync, cudaMallocAsync_ptsz: true](pointer: *mut *mut c_void, bytes: usize, stream: Stream)
    |real| { on_device(Api::Runtime, pointer, bytes, real) }
    [cudaMallocFromPoolAsync, cudaMallocFromPoolAsync_ptsz: true](
        pointer: *mut *mut c_void, bytes: usize, pool: *mut c_void, stream: Stream,
    ) |real| { on_device(Api::Runtime, pointer, bytes, real) }
    [cudaMallocPitch](pointer: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) |real| {
        pitched(with_room(Api::Runtime, width * height, real), pointer, pitch, height)
    }
    [cudaMalloc3D](pitched: *mut cudaPitchedPtr, extent: cudaExtent) |real| {
        let status = with_room(Api::Runtime, extent.width * extent.height * extent.depth, real);
        if let Some(memory) = stored(status, pitched) {
            let bytes = memory.pitch * extent.height * extent.depth;
            runtime().allocated(memory.ptr as u64, bytes as u64, AllocationKind::Device);
        }
        status
    }
    [cudaMallocArray](array: *mut *mut c_void, channels: Channels, width: usize, height: usize, flags: c_uint)
    |real| {
        let bytes = element_bytes(channels) * width * height.max(1);
        record(with_room(Api::Runtime, bytes, real), array, bytes, AllocationKind::Array)
    }
    [cudaMalloc3DArray](array: *mut *mut c_void, channels: Channels, extent: cudaExtent, flags: c_uint)
    |real| {
        let elements = extent.width * extent.height.max(1) * extent.depth.max(1);
        let bytes = element_bytes(channels) * elements;
        record(with_room(Api::Runtime, bytes, real), array, bytes, AllocationKind::Array)
    }
    [cudaFree, cudaFreeHost, cudaHostUnregister, cudaFreeArray](pointer: *mut c_void) |real| { record_free(pointer, real) }
    [cudaFreeAsync, cudaFreeAsync_ptsz: true](pointer: *mut c_void, stream: Stream) |real| { record_free(pointer, real) }
}

// `CUdeviceptr` is as large as a pointer.
interposed! { driver:
    [cuMemAlloc_v2](pointer: *mut *mut c_void, bytes: usize) |real| { on_device(Api::Driver, pointer, bytes, real) }
    [cuMemAllocAsync, cuMemAllocAsync_ptsz: true](pointer: *mut *mut c_void, bytes: usize, stream: Stream) |real| {
        on_device(Api::Driver, pointer, bytes, real)
    }
    [cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz: true](
        pointer: *mut *mut c_void, bytes: usize, pool: *mut c_void, stream: Stream,
    ) |real| { on_device(Api::Driver, pointer, bytes, real) }
    [cuMemAllocPitch_v2](pointer: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize, element_bytes: c_uint) |real| {
        pitched(with_room(Api::Driver, width * height, real), pointer, pitch, height)
    }
    [cuMemAllocManaged](pointer: *mut *mut c_void, bytes: usize, flags: c_uint) |real| {
        record(real(), pointer, bytes, AllocationKind::Managed)
    }
    [cuMemAllocHost_v2](pointer: *mut *mut c_void, bytes: usize) |real| {
        record(real(), pointer, bytes, AllocationKind::Pinned)
    }
    [cuMemHostAlloc](pointer: *mut *mut c_void, bytes: usize, flags: c_uint) |real| {
        record(real(), pointer, bytes, AllocationKind::Pinned)
    }
    [cuMemHostRegister_v2](pointer: *mut c_void, bytes: usize, flags: c_uint) |real| {
        then!(real, runtime().allocated(pointer as u64, bytes as u64, AllocationKind::Pinned))
    }
    [cuMemFree_v2, cuMemFreeHost, cuMemHostUnregister](pointer: *mut c_void) |real| { record_free(pointer, real) }
    [cuMemFreeAsync, cuMemFreeAsync_ptsz: true](pointer: *mut c_void, stream: Stream) |real| { record_free(pointer, real) }
}
