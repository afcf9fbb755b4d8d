//! Arguments of a kernel that outlive the call that passed them.

use crate::errors::CudaError;
use crate::registry::Kernel;
use std::ffi::c_void;

/// Every parameter begins at a multiple of this many bytes: none needs more.
const ALIGNMENT_BYTES: usize = 16;

#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
struct Unit([u8; ALIGNMENT_BYTES]);

/// Copies of a kernel's arguments.
#[derive(Debug)]
pub struct OwnedArguments {
    /// The values; `places` point into them.
    _values: Vec<Unit>,
    places: Vec<*mut c_void>,
}

// SAFETY: plain values that nobody changes; the pointers lead to them.
unsafe impl Send for OwnedArguments {}
// SAFETY: as above.
unsafe impl Sync for OwnedArguments {}

impl OwnedArguments {
    /// Copies what `arguments` points to, a pointer for each of the kernel's parameters.
    pub fn copy(kernel: &Kernel, arguments: *const *mut c_void) -> Result<Self, CudaError> {
        let bytes = kernel.parameter_bytes;
        if bytes.is_empty() {
            return Ok(Self::new(0, bytes, |_| std::ptr::null()));
        }
        if arguments.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: the program passes a pointer to each of the kernel's arguments.
        Ok(Self::new(bytes.len(), bytes, |index| unsafe {
            *arguments.add(index)
        }))
    }

    fn new(count: usize, bytes: &[u32], from: impl Fn(usize) -> *const c_void) -> Self {
        let units = |bytes: u32| (bytes as usize).div_ceil(ALIGNMENT_BYTES);
        let all = bytes.iter().map(|&bytes| units(bytes)).sum();
        let mut values = vec![Unit([0; ALIGNMENT_BYTES]); all];
        let mut rest = &mut values[..];
        let mut places = Vec::with_capacity(count);
        for (index, &bytes) in bytes.iter().enumerate() {
            let (own, behind) = rest.split_at_mut(units(bytes));
            let place = own.as_mut_ptr().cast::<u8>();
            // SAFETY: the program's argument has as many bytes as the parameter, and so much room was set aside.
            unsafe { place.copy_from_nonoverlapping(from(index).cast(), bytes as usize) };
            places.push(place.cast());
            rest = behind;
        }
        OwnedArguments {
            _values: values,
            places,
        }
    }

    /// A pointer to each value, as `cudaLaunchKernel` takes it. Kernels only read through it.
    pub fn pointers(&self) -> *mut *mut c_void {
        self.places.as_ptr().cast_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept() {
        let (mut a, mut b) = ([1u64, 2, 3], 4u8);
        let from = [(&raw const a).cast(), (&raw const b).cast::<c_void>()];
        let owned = OwnedArguments::new(2, &[24, 1], |index| from[index]);
        (a, b) = ([0; 3], 0);
        // SAFETY: two places, with as many bytes as the values have.
        let (first, second) = unsafe {
            let places = owned.pointers();
            (
                *(*places).cast::<[u64; 3]>(),
                *(*places.add(1)).cast::<u8>(),
            )
        };
        assert_eq!((first, second, a, b), ([1, 2, 3], 4, [0; 3], 0));
    }
}
