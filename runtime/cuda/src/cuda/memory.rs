//! This library's memory on the device and the host.

use super::{CudaError, Status, Stream, ask, cuda};
use cudarc::runtime::sys::{
    cudaHostAllocMapped, cudaHostAllocPortable, cudaMemAttachGlobal, cudaMemcpyKind,
};
use std::ffi::c_void;
use std::ptr::null_mut;

/// Zeroed page-locked memory that is mapped into the device's address space. It is valid until the process exits
/// or the device's context is destroyed.
#[derive(Clone, Copy, Debug)]
pub struct Pinned {
    pub host: usize,
    pub device: u64,
}

impl Pinned {
    pub fn new(bytes: usize) -> Result<Self, CudaError> {
        let doing = format!("allocate {bytes} bytes of page-locked host memory for the trace");
        let flags = cudaHostAllocMapped | cudaHostAllocPortable;
        // SAFETY: the pointer points to a pointer.
        let allocate = |host: &mut _| unsafe { cuda!(cudaHostAlloc(host, bytes, flags)) };
        let host = ask(doing, null_mut(), allocate).inspect_err(|_| forget_last_error())?;
        // SAFETY: the pointer points to a pointer; `host` was just allocated.
        let map = |device: &mut _| unsafe { cuda!(cudaHostGetDevicePointer(device, host, 0)) };
        let device = ask("map host memory for the device", null_mut(), map)?;
        // SAFETY: `bytes` bytes were allocated, and nothing else has their address yet.
        unsafe { std::ptr::write_bytes(host.cast::<u8>(), 0, bytes) };
        Ok(Pinned {
            host: host as usize,
            device: device as u64,
        })
    }

    pub fn at<T>(self) -> *mut T {
        self.host as *mut T
    }

    pub fn free(self) {
        // SAFETY: `new` allocated the memory, and the caller does not use it again.
        unsafe { cuda!(cudaFreeHost(self.at())) };
    }
}

/// Clears the last error, so that the program does not see a failure of this library.
pub fn forget_last_error() {
    // SAFETY: the call takes no arguments.
    unsafe { cuda!(cudaGetLastError()) };
}

/// Allocates device memory for `purpose`, valid until [`free_device_memory`] frees it or the context is destroyed.
pub fn device_memory(bytes: usize, purpose: &str) -> Result<u64, CudaError> {
    let doing = format!("allocate {bytes} bytes of device memory for the {purpose}");
    // SAFETY: the pointer points to a pointer.
    let allocate = |pointer: &mut _| unsafe { cuda!(cudaMalloc(pointer, bytes)) };
    let memory: *mut c_void =
        ask(doing, null_mut(), allocate).inspect_err(|_| forget_last_error())?;
    Ok(memory as u64)
}

/// Reserves managed memory that the driver provides page by page. It is valid until the context is destroyed.
pub fn managed_memory(bytes: usize) -> Result<u64, CudaError> {
    let doing = format!("reserve {bytes} bytes of managed memory");
    let flags = cudaMemAttachGlobal;
    // SAFETY: the pointer points to a pointer.
    let reserve = |pointer: &mut _| unsafe { cuda!(cudaMallocManaged(pointer, bytes, flags)) };
    let memory: *mut c_void =
        ask(doing, null_mut(), reserve).inspect_err(|_| forget_last_error())?;
    Ok(memory as u64)
}

/// # Safety
///
/// No kernel may still use the memory.
pub unsafe fn free_device_memory(address: u64) -> Status {
    // SAFETY: `device_memory` returned the address; by the contract above, no kernel uses it.
    unsafe { cuda!(cudaFree(address as *mut c_void)) }
}

/// Allocates device memory with a copy of `words`. It is valid until the context is destroyed.
pub fn device_words(words: &[u64]) -> Result<u64, CudaError> {
    let address = device_memory(size_of_val(words).max(8), "trace")?;
    write(address, words)?;
    Ok(address)
}

/// Runs `work` in a new stream and waits only for that stream, because a kernel in one of the program's streams may be
/// waiting for a later launch. The legacy stream would wait for all other streams, which is an error while one of them
/// is being captured into a graph.
pub fn alone(doing: &'static str, work: impl FnOnce(Stream) -> Status) -> Result<(), CudaError> {
    let stream = Stream::create()?;
    let status = work(stream);
    let wait_status = stream.synchronize().max(stream.destroy());
    status.max(wait_status).check(doing)
}

/// Copies `out.len()` bytes from the device.
pub fn read(out: &mut [u8], address: u64) -> Result<(), CudaError> {
    alone("read device memory", |stream| {
        // SAFETY: the destination is as large as the copy, and is not used until the stream has been synchronised.
        unsafe { copy_to_host(out.as_mut_ptr().cast(), address, out.len(), stream) }
    })
}

pub fn write(address: u64, words: &[u64]) -> Result<(), CudaError> {
    alone("write the trace's device memory", |stream| {
        let (from, bytes) = (words.as_ptr().cast(), size_of_val(words));
        // SAFETY: both sides are `bytes` bytes long; the source outlives the wait for the stream.
        unsafe { copy_to_device(address, from, bytes, stream) }
    })
}

/// Returns the words of structures that the device reads.
///
/// # Safety
///
/// `T` must be plain data that consists of whole words, without padding.
pub unsafe fn words_of<T>(structures: &[T]) -> &[u64] {
    const { assert!(align_of::<T>() == 8) };
    let words = size_of_val(structures) / 8;
    // SAFETY: the structures consist of initialised words, by the contract above, and live as long as the slice.
    unsafe { std::slice::from_raw_parts(structures.as_ptr().cast(), words) }
}

/// Sets device memory to `value`, in stream order.
///
/// # Safety
/// The memory must belong to this library and be at least `bytes` bytes long when the stream reaches the fill.
pub unsafe fn fill(address: u64, value: u8, bytes: usize, stream: Stream) -> Status {
    let to = address as *mut c_void;
    // SAFETY: by the contract above, the memory is at least `bytes` bytes long.
    unsafe { cuda!(cudaMemsetAsync(to, value.into(), bytes, stream.raw())) }
}

/// Copies in stream order. The source has been read when this returns, unless it is page-locked.
///
/// # Safety
/// Both sides must be `bytes` bytes long; page-locked memory must stay valid until the stream reaches the copy.
pub unsafe fn copy_to_device(to: u64, from: *const c_void, bytes: usize, stream: Stream) -> Status {
    let (to, kind) = (to as *mut c_void, cudaMemcpyKind::cudaMemcpyHostToDevice);
    // SAFETY: by the contract above, both sides are at least `bytes` bytes long.
    unsafe { cuda!(cudaMemcpyAsync(to, from, bytes, kind, stream.raw())) }
}

/// Copies in stream order. The destination has been written when this returns, unless it is page-locked.
///
/// # Safety
///
/// The requirements are those of [`copy_to_device`].
pub unsafe fn copy_to_host(to: *mut c_void, from: u64, bytes: usize, stream: Stream) -> Status {
    let kind = cudaMemcpyKind::cudaMemcpyDeviceToHost;
    let from = from as *const c_void;
    // SAFETY: by the contract above, both sides are at least `bytes` bytes long.
    unsafe { cuda!(cudaMemcpyAsync(to, from, bytes, kind, stream.raw())) }
}

pub fn free_and_total() -> Result<(usize, usize), CudaError> {
    // SAFETY: both pointers point to integers.
    ask("query the GPU's memory", (0, 0), |(free, total)| unsafe {
        cuda!(cudaMemGetInfo(free, total))
    })
}

/// Returns whether the runtime considers an address to be in device memory. Managed memory counts, as it does for
/// `cudaMemcpyDefault`.
pub fn is_on_device(address: u64) -> bool {
    const DEVICE: i32 = cudarc::runtime::sys::cudaMemoryType::cudaMemoryTypeDevice as i32;
    // The memory type comes first. Later versions of the structure are larger.
    let mut attributes = [0u64; 32];
    let place = attributes.as_mut_ptr().cast();
    // SAFETY: the buffer is several times as large as the structure; CUDA rejects unknown addresses.
    let status = unsafe { cuda!(cudaPointerGetAttributes(place, address as *const c_void)) };
    status.is_success() && attributes[0] as i32 >= DEVICE
}
