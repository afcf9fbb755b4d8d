//! cuBLAS handles and their settings, and copies of vectors and matrices.

use crate::errors;
use crate::handles::Handles;
use crate::memory::copies::{Rows, copy_rows};
use crate::streams::stream_id;
use parking_lot::Mutex;
use std::ffi::{c_char, c_int, c_void};
use superstep_trace::StreamId;

pub const SUCCESS: c_int = 0;
pub const NOT_INITIALIZED: c_int = 1;
pub const INVALID_VALUE: c_int = 7;

/// Settings of a handle. Only the stream has an effect: all memory is host memory, and there is only one algorithm.
#[derive(Default)]
struct Settings {
    stream: usize,
    math: c_int,
    pointers: c_int,
    atomics: c_int,
}

static HANDLES: Handles<Mutex<Settings>> = Handles::new();

pub fn stream_of(handle: usize) -> Option<StreamId> {
    let settings = HANDLES.get(handle).ok()?;
    let stream = settings.lock().stream;
    stream_id(stream as *mut c_void).ok()
}

fn change(handle: usize, change: impl FnOnce(&mut Settings)) -> c_int {
    let changed = HANDLES.get(handle).map(|it| change(&mut it.lock()));
    changed.map_or(NOT_INITIALIZED, |()| SUCCESS)
}

fn get<T>(handle: usize, place: *mut T, read: impl FnOnce(&Settings) -> T) -> c_int {
    let value = HANDLES.get(handle).map(|it| read(&it.lock()));
    value.map_or(NOT_INITIALIZED, |value| put(place, value))
}

fn put<T>(place: *mut T, value: T) -> c_int {
    errors::put(place, value).map_or(INVALID_VALUE, |()| SUCCESS)
}

macro_rules! cublas {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $body:block)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, clippy::not_unsafe_ptr_arg_deref, reason = "the C interface")]
        pub extern "C" fn $name($($argument: $type),*) -> c_int $body
    )*};
}

/// Defines cuBLAS's setter and getter for each setting.
macro_rules! settings {
    ($($set:ident $get:ident $field:ident;)*) => {
        cublas! {$(
            fn $set(handle: usize, value: c_int) {
                change(handle, |settings| settings.$field = value)
            }
            fn $get(handle: usize, place: *mut c_int) {
                get(handle, place, |settings| settings.$field)
            }
        )*}
    };
}

settings! {
    cublasSetMathMode cublasGetMathMode math;
    cublasSetPointerMode_v2 cublasGetPointerMode_v2 pointers;
    cublasSetAtomicsMode cublasGetAtomicsMode atomics;
}

cublas! {
    fn cublasCreate_v2(place: *mut usize) {
        put(place, HANDLES.insert(Mutex::default()))
    }
    fn cublasDestroy_v2(handle: usize) {
        HANDLES.remove(handle).map_or(NOT_INITIALIZED, |_| SUCCESS)
    }
    fn cublasSetStream_v2(handle: usize, stream: *mut c_void) {
        change(handle, |settings| settings.stream = stream as usize)
    }
    fn cublasGetStream_v2(handle: usize, place: *mut *mut c_void) {
        get(handle, place, |settings| settings.stream as *mut c_void)
    }
    fn cublasSetWorkspace_v2(handle: usize, _workspace: *mut c_void, _bytes: usize) {
        change(handle, |_| ())
    }
    fn cublasGetVersion_v2(_handle: usize, place: *mut c_int) {
        put(place, 120_901)
    }
    fn cublasSetVector(count: c_int, element: c_int, from: usize, from_pitch: c_int, to: usize, to_pitch: c_int) {
        copy([1, count, element], [from, to], [from_pitch, to_pitch], 1, 0)
    }
    fn cublasGetVector(count: c_int, element: c_int, from: usize, from_pitch: c_int, to: usize, to_pitch: c_int) {
        copy([1, count, element], [from, to], [from_pitch, to_pitch], 2, 0)
    }
    fn cublasSetMatrix(
        rows: c_int, columns: c_int, element: c_int, from: usize, from_pitch: c_int, to: usize, to_pitch: c_int
    ) {
        copy([rows, columns, element], [from, to], [from_pitch, to_pitch], 1, 0)
    }
    fn cublasGetMatrix(
        rows: c_int, columns: c_int, element: c_int, from: usize, from_pitch: c_int, to: usize, to_pitch: c_int
    ) {
        copy([rows, columns, element], [from, to], [from_pitch, to_pitch], 2, 0)
    }
    fn cublasSetMatrixAsync(
        rows: c_int, columns: c_int, element: c_int, from: usize, from_pitch: c_int, to: usize, to_pitch: c_int, stream: usize
    ) {
        copy([rows, columns, element], [from, to], [from_pitch, to_pitch], 1, stream)
    }
    fn cublasGetMatrixAsync(
        rows: c_int, columns: c_int, element: c_int, from: usize, from_pitch: c_int, to: usize, to_pitch: c_int, stream: usize
    ) {
        copy([rows, columns, element], [from, to], [from_pitch, to_pitch], 2, stream)
    }
}

fn copy(
    [rows, columns, element]: [c_int; 3],
    [from, to]: [usize; 2],
    [from_pitch, to_pitch]: [c_int; 2],
    kind: c_int,
    stream: usize,
) -> c_int {
    let number = |number: c_int| u64::try_from(number).ok();
    let copied = (|| {
        let element = number(element)?;
        let rows = Rows {
            to: to as u64,
            from: from as u64,
            bytes: number(rows)? * element,
            rows: number(columns)?,
            to_pitch: number(to_pitch)? * element,
            from_pitch: number(from_pitch)? * element,
        };
        let stream = stream_id(stream as *mut c_void).ok()?;
        copy_rows("a cuBLAS copy", rows, kind, stream).ok()
    })();
    copied.map_or(INVALID_VALUE, |()| SUCCESS)
}

#[unsafe(no_mangle)]
pub extern "C" fn cublasGetStatusString(status: c_int) -> *const c_char {
    let text = match status {
        SUCCESS => c"success",
        NOT_INITIALIZED => c"the library was not initialized",
        INVALID_VALUE => c"an unsupported value or parameter was passed to the function",
        _ => c"unknown cuBLAS error",
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn cublasGetStatusName(status: c_int) -> *const c_char {
    let text = match status {
        SUCCESS => c"CUBLAS_STATUS_SUCCESS",
        NOT_INITIALIZED => c"CUBLAS_STATUS_NOT_INITIALIZED",
        INVALID_VALUE => c"CUBLAS_STATUS_INVALID_VALUE",
        _ => c"CUBLAS_STATUS_UNKNOWN",
    };
    text.as_ptr()
}
