//! Handles for the program: addresses of known objects, so that an invalid handle causes an error instead of a crash.

use crate::errors::CudaError;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

pub struct Handles<T>(Mutex<BTreeMap<usize, Arc<T>>>);

impl<T> Handles<T> {
    pub const fn new() -> Self {
        Handles(Mutex::new(BTreeMap::new()))
    }

    pub fn insert(&self, value: T) -> usize {
        let value = Arc::new(value);
        let handle = Arc::as_ptr(&value) as usize;
        self.0.lock().insert(handle, value);
        handle
    }

    pub fn get(&self, handle: usize) -> Result<Arc<T>, CudaError> {
        let value = self.0.lock().get(&handle).cloned();
        value.ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    pub fn remove(&self, handle: usize) -> Result<Arc<T>, CudaError> {
        let value = self.0.lock().remove(&handle);
        value.ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }
}
