//! Handles that programs hold: boxes whose addresses are kept, so that a wrong handle is an error and not a crash.

use crate::errors::CudaError;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

/// Live objects of one type by handle.
pub struct Handles<T> {
    live: Mutex<Option<HashMap<usize, Arc<T>>>>,
}

impl<T> Handles<T> {
    pub const fn new() -> Self {
        Handles {
            live: Mutex::new(None),
        }
    }

    /// Makes a handle for `value`.
    pub fn insert(&self, value: T) -> *mut c_void {
        let value = Arc::new(value);
        let handle = Arc::as_ptr(&value).cast::<c_void>().cast_mut();
        self.live
            .lock()
            .get_or_insert_default()
            .insert(handle as usize, value);
        handle
    }

    /// The object behind a handle.
    ///
    /// # Errors
    /// [`CudaError::INVALID_RESOURCE_HANDLE`] when there is none.
    pub fn get(&self, handle: *const c_void) -> Result<Arc<T>, CudaError> {
        let live = self.live.lock();
        live.as_ref()
            .and_then(|live| live.get(&(handle as usize)))
            .cloned()
            .ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    /// Destroys a handle.
    ///
    /// # Errors
    /// [`CudaError::INVALID_RESOURCE_HANDLE`] when there is none.
    pub fn remove(&self, handle: *const c_void) -> Result<Arc<T>, CudaError> {
        let mut live = self.live.lock();
        live.as_mut()
            .and_then(|live| live.remove(&(handle as usize)))
            .ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }
}
