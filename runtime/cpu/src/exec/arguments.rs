//! Kernel arguments that outlive the call that passed them.

use crate::errors::CudaError;
use crate::registry::Kernel;
use std::ffi::c_void;
use superstep_abi::cpu::Parameter;

/// Unit of storage for the copies; its alignment suffices for every parameter.
type Unit = u128;

#[derive(Debug)]
pub struct OwnedArguments {
    /// Copies of the arguments, to which `places` points.
    _values: Vec<Unit>,
    places: Vec<*mut c_void>,
}

// SAFETY: the fields are plain values that do not change, and pointers to them.
unsafe impl Send for OwnedArguments {}
// SAFETY: a shared reference exposes only the addresses of the copies.
unsafe impl Sync for OwnedArguments {}

impl OwnedArguments {
    /// Copies the kernel's arguments through the pointers in `arguments`.
    pub fn copy(kernel: &Kernel, arguments: *const *mut c_void) -> Result<Self, CudaError> {
        let parameters = kernel.parameters;
        if !parameters.is_empty() && arguments.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: the program passes a pointer to each of the kernel's arguments.
        let from = |index| unsafe { *arguments.add(index) }.cast_const();
        Ok(Self::new(parameters, from))
    }

    /// Copies the arguments from a block that device code filled.
    pub fn from_block(kernel: &Kernel, block: &[u8]) -> Result<Self, CudaError> {
        let parameters = kernel.parameters;
        let end = |p: &Parameter| p.offset_bytes as usize + p.bytes as usize;
        if parameters.iter().any(|p| end(p) > block.len()) {
            return Err(CudaError::INVALID_VALUE);
        }
        let first = |index: usize| parameters[index].offset_bytes as usize;
        Ok(Self::new(parameters, |index| {
            block[first(index)..].as_ptr().cast()
        }))
    }

    fn new(parameters: &[Parameter], from: impl Fn(usize) -> *const c_void) -> Self {
        let units = |p: &Parameter| (p.bytes as usize).div_ceil(size_of::<Unit>());
        let mut values = vec![0; parameters.iter().map(units).sum()];
        let mut rest = &mut values[..];
        let mut places = Vec::with_capacity(parameters.len());
        for (index, parameter) in parameters.iter().enumerate() {
            let (own, after) = rest.split_at_mut(units(parameter));
            let (place, bytes) = (own.as_mut_ptr().cast::<u8>(), parameter.bytes as usize);
            // SAFETY: the argument has the parameter's size, which fits in its units.
            unsafe { place.copy_from_nonoverlapping(from(index).cast(), bytes) };
            places.push(place.cast());
            rest = after;
        }
        OwnedArguments {
            _values: values,
            places,
        }
    }

    /// Returns pointers to the values, as `cudaLaunchKernel` expects them. Kernels only read through them.
    pub fn pointers(&self) -> *mut *mut c_void {
        self.places.as_ptr().cast_mut()
    }
}

#[cfg(test)]
mod tests;
