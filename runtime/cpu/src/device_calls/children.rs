//! Functions that device code calls to launch kernels.

use crate::device_calls::{device_heap, enter};
use crate::errors::{CudaError, CudaResult, cudaGetErrorName, cudaGetErrorString};
use crate::exec::arguments::OwnedArguments;
use crate::exec::launch::{self, LaunchRequest};
use crate::exec::worker::Worker;
use crate::memory::copies::Rows;
use crate::registry::{self, Kernel};
use cudarc::runtime::sys::dim3;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use superstep_runtime_core::children;

pub type Child = children::Child<Work>;

const LAUNCH: &str = "a launch from the device";

pub enum Work {
    Launch(Launch),
    Copy(Rows),
    /// A memset: address, value and bytes.
    Fill(u64, u8, u64),
}

pub struct Launch {
    /// Sequence number of the launch that requested this one.
    pub parent: u64,
    pub kernel: Arc<Kernel>,
    pub request: LaunchRequest,
    pub arguments: OwnedArguments,
}

/// Size and alignment of an argument block's header, which contains the length. No argument needs a larger alignment.
const HEAD_BYTES: usize = 64;

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.checked_add(HEAD_BYTES)?, HEAD_BYTES).ok()
}

#[unsafe(no_mangle)]
pub extern "C" fn __superstep_child_arguments(_alignment: usize, bytes: usize) -> *mut c_void {
    enter(LAUNCH, |_| {
        // SAFETY: the layout is not empty.
        let block = layout(bytes).map(|layout| unsafe { alloc_zeroed(layout) });
        let Some(block) = block.filter(|block| !block.is_null()) else {
            return std::ptr::null_mut();
        };
        // SAFETY: the block was just allocated with room for its length, and is aligned for it.
        unsafe {
            block.cast::<usize>().write(bytes);
            block.add(HEAD_BYTES).cast()
        }
    })
}

/// Returns the error code of a request.
fn request(add: impl FnOnce(&Worker) -> CudaResult) -> c_int {
    enter(LAUNCH, add).map_or_else(|error| error.0, |()| 0)
}

fn add(worker: &Worker, stream: *mut c_void, work: Work) -> CudaResult {
    let job = worker.job().ok_or(CudaError::INVALID_VALUE)?;
    let (cta, stream) = (worker.cta_number.get(), stream as usize);
    job.children.lock().push(Child { cta, stream, work });
    Ok(())
}

/// Requests a copy, which runs in order with the child launches.
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_child_copy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    _kind: c_int,
    stream: *mut c_void,
) -> c_int {
    let rows = Rows::one(to as u64, from as u64, bytes as u64);
    request(|worker| add(worker, stream, Work::Copy(rows)))
}

/// Requests a memset, which runs in order with the child launches.
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_child_fill(
    address: *mut c_void,
    value: c_int,
    bytes: usize,
    stream: *mut c_void,
) -> c_int {
    let work = Work::Fill(address as u64, value as u8, bytes as u64);
    request(|worker| add(worker, stream, work))
}

/// Requests a launch.
///
/// # Safety
///
/// `grid` and `block` must be valid, and `arguments` a block from [`__superstep_child_arguments`] or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_child_launch(
    function: *const c_void,
    arguments: *mut c_void,
    grid: *const dim3,
    block: *const dim3,
    shared_bytes: c_uint,
    stream: *mut c_void,
) -> c_int {
    request(|worker| {
        let kernel = registry::device_kernel(function).ok_or(CudaError::INVALID_DEVICE_FUNCTION)?;
        let copied = if arguments.is_null() {
            OwnedArguments::from_block(&kernel, &[])?
        } else {
            let first = arguments.cast::<u8>().wrapping_sub(HEAD_BYTES);
            // SAFETY: the block comes from `__superstep_child_arguments`, which wrote its length in front of it.
            let bytes = unsafe {
                let bytes = first.cast::<usize>().read();
                std::slice::from_raw_parts(arguments.cast(), bytes)
            };
            let copied = OwnedArguments::from_block(&kernel, bytes)?;
            if let Some(layout) = layout(bytes.len()) {
                // SAFETY: the block was allocated with this layout, and is used for one launch.
                unsafe { dealloc(first, layout) };
            }
            copied
        };
        // SAFETY: device code passes the addresses of two valid `dim3` values.
        let (grid, block) = unsafe { (*grid, *block) };
        let request = LaunchRequest {
            function: function as usize,
            grid,
            block,
            shared_bytes: shared_bytes as usize,
            is_cooperative: false,
        };
        launch::check(&kernel, &request)?;
        let job = worker.job().ok_or(CudaError::INVALID_VALUE)?;
        let launch = Launch {
            parent: job.active.launch.sequence,
            kernel,
            request,
            arguments: copied,
        };
        add(worker, stream, Work::Launch(launch))
    })
}

/// Creates a device-side stream, which is only a number.
///
/// # Safety
/// `place` must be valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_child_stream_create(
    place: *mut *mut c_void,
    _flags: c_uint,
) -> c_int {
    // SAFETY: device code passes a valid pointer to a stream.
    unsafe { place.write(NEXT_STREAM.fetch_add(1, Ordering::Relaxed) as *mut c_void) };
    0
}

/// Next stream handle; CUDA reserves small values.
static NEXT_STREAM: AtomicUsize = AtomicUsize::new(0x100);

#[unsafe(no_mangle)]
pub extern "C" fn __superstep_child_stream_destroy(_stream: *mut c_void) -> c_int {
    0
}

/// Returns success: a rejected launch has already returned its error.
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_child_error() -> c_int {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn __superstep_child_error_name(code: c_int) -> *const c_char {
    cudaGetErrorName(code)
}

#[unsafe(no_mangle)]
pub extern "C" fn __superstep_child_error_string(code: c_int) -> *const c_char {
    cudaGetErrorString(code)
}

/// # Safety
/// `place` must be valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_child_device(place: *mut c_int) -> c_int {
    // SAFETY: device code passes a valid pointer to an `int`.
    unsafe { place.write(0) };
    0
}

/// # Safety
/// `place` must be valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_child_malloc(place: *mut *mut c_void, bytes: usize) -> c_int {
    enter(LAUNCH, |_| {
        let address = device_heap::allocate(bytes as u64) as *mut c_void;
        // SAFETY: device code passes a valid pointer to an address.
        unsafe { place.write(address) };
        match address.is_null() {
            true => CudaError::MEMORY_ALLOCATION.0,
            false => 0,
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn __superstep_child_free(address: *mut c_void) -> c_int {
    enter(LAUNCH, |_| {
        match address.is_null() || device_heap::free(address as u64) {
            true => 0,
            false => CudaError::INVALID_VALUE.0,
        }
    })
}
