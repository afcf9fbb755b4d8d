//! C types of the CUDA runtime API that both runtimes use.

use cudarc::runtime::sys::{cudaExtent, cudaPitchedPtr, cudaPos, dim3};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use superstep_trace::CopyDirection;

pub fn extents(dim3 { x, y, z }: dim3) -> [u32; 3] {
    [x, y, z]
}

/// `cudaMemcpy3DParms`, with a kind that can be from a newer CUDA version.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Copy3d {
    pub source_array: *mut c_void,
    pub source_position: cudaPos,
    /// Source if `source_array` is null.
    pub source: cudaPitchedPtr,
    pub destination_array: *mut c_void,
    pub destination_position: cudaPos,
    /// Destination if `destination_array` is null.
    pub destination: cudaPitchedPtr,
    pub extent: cudaExtent,
    /// `cudaMemcpyKind`.
    pub kind: c_int,
}

/// An object's device code, as `__cudaRegisterFatBinary` receives it.
#[repr(C)]
pub struct FatBinaryWrapper {
    magic: c_uint,
    version: c_uint,
    data: *const c_char,
    unused: *mut c_void,
}

impl FatBinaryWrapper {
    const MAGIC: c_uint = 0x4662_43b1;

    pub fn new(data: *const c_char) -> Self {
        Self {
            magic: Self::MAGIC,
            version: 1,
            data,
            unused: std::ptr::null_mut(),
        }
    }

    /// # Safety
    /// `wrapper` must be null or point to a wrapper.
    pub unsafe fn image(wrapper: *const Self) -> Option<*const c_char> {
        // SAFETY: null or points to a wrapper, by the contract above.
        let wrapper = unsafe { wrapper.as_ref() }?;
        (wrapper.magic == Self::MAGIC && !wrapper.data.is_null()).then_some(wrapper.data)
    }
}

pub fn direction(from_device: bool, to_device: bool) -> CopyDirection {
    match (from_device, to_device) {
        (false, false) => CopyDirection::HostToHost,
        (false, true) => CopyDirection::HostToDevice,
        (true, false) => CopyDirection::DeviceToHost,
        (true, true) => CopyDirection::DeviceToDevice,
    }
}

/// Copies a C string; returns an empty string for null.
///
/// # Safety
///
/// `text` must be null or NUL-terminated.
pub unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not null, so it is NUL-terminated, by the contract above.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}

/// Returns a list that the program passed, or an empty list for null.
///
/// # Safety
///
/// `first` must be null or point to `count` values, which must outlive the result.
pub unsafe fn slice<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if first.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: not null, so it points to `count` values, by the contract above.
    unsafe { std::slice::from_raw_parts(first, count) }
}

/// Converts the name of a function, which must end with a NUL.
pub const fn c_name(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("not a function name"),
    }
}
