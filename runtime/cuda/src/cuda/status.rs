//! CUDA's result codes, and the errors created from them.

use super::Entry;
use super::loader::find_or_report;
use cudarc::runtime::sys::cudaError;
use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use thiserror::Error;

/// A `cudaError_t` or a `CUresult`, which use the same values for the errors that they share.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Status(pub c_int);

/// Defines constants of a newtype around CUDA's integer codes.
macro_rules! codes {
    ($type:ident of $enumeration:ident: $($(#[$doc:meta])* $name:ident = $code:ident;)*) => {
        impl $type {
            $($(#[$doc])* pub const $name: Self = $type($enumeration::$code as c_int);)*
        }
    };
}
pub(super) use codes;

codes! { Status of cudaError:
    SUCCESS = cudaSuccess;
    MEMORY_ALLOCATION = cudaErrorMemoryAllocation;
    /// Result of every call in a child forked from a process that has used CUDA, and of driver functions if there is no
    /// driver.
    INITIALIZATION_ERROR = cudaErrorInitializationError;
    /// Result after CUDA's own exit handler has run.
    CUDART_UNLOADING = cudaErrorCudartUnloading;
    INVALID_DEVICE_FUNCTION = cudaErrorInvalidDeviceFunction;
    NO_KERNEL_IMAGE = cudaErrorNoKernelImageForDevice;
    /// Result if a CUDA library lacks the function.
    SYMBOL_NOT_FOUND = cudaErrorSharedObjectSymbolNotFound;
    NAMED_SYMBOL_NOT_FOUND = cudaErrorSymbolNotFound;
    NOT_READY = cudaErrorNotReady;
    LAUNCH_OUT_OF_RESOURCES = cudaErrorLaunchOutOfResources;
    COOPERATIVE_LAUNCH_TOO_LARGE = cudaErrorCooperativeLaunchTooLarge;
    /// Result of calls that a traced program must not make.
    NOT_SUPPORTED = cudaErrorNotSupported;
}

impl Status {
    pub fn is_success(self) -> bool {
        self == Self::SUCCESS
    }

    pub fn check(self, doing: impl Into<Cow<'static, str>>) -> Result<(), CudaError> {
        self.ok().map_err(CudaError::of(doing))
    }

    pub fn ok(self) -> Result<(), Self> {
        if self.is_success() { Ok(()) } else { Err(self) }
    }
}

/// Writes the name and the meaning: `cudaErrorIllegalAddress (an illegal memory access was encountered)`.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        static NAME: Entry = Entry::new(find_or_report, c"cudaGetErrorName");
        static TEXT: Entry = Entry::new(find_or_report, c"cudaGetErrorString");
        let text = |entry: &Entry| {
            type Get = unsafe extern "C" fn(Status) -> *const c_char;
            // SAFETY: CUDA's header declares both functions with this type.
            let get = unsafe { std::mem::transmute::<*mut c_void, Get>(entry.address()?) };
            // SAFETY: the functions accept any integer.
            let text = unsafe { get(*self) };
            // SAFETY: if it is not null, the text is constant and ends with a zero byte.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
        };
        match (text(&NAME), text(&TEXT)) {
            (Some(name), Some(text)) => {
                write!(f, "{} ({})", name.to_string_lossy(), text.to_string_lossy())
            }
            _ => write!(f, "CUDA error {}", self.0),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CudaError {
    #[error("failed to {doing}: {status}")]
    Call {
        doing: Cow<'static, str>,
        status: Status,
    },
    #[error(
        "failed to find the driver's functions in libcuda.so.1; install NVIDIA's driver for CUDA 12 or newer, or use --protocol thesis"
    )]
    NoDriver,
    #[error("kernels that launch kernels need NVIDIA's driver for CUDA 12.4 or newer")]
    DriverBefore12_4,
    #[error("failed to find the heap of device-side malloc: it has no room for even one byte")]
    NoHeap,
}

impl CudaError {
    pub fn of(doing: impl Into<Cow<'static, str>>) -> impl FnOnce(Status) -> Self {
        let doing = doing.into();
        move |status| CudaError::Call { doing, status }
    }
}

pub fn ask<T>(
    doing: impl Into<Cow<'static, str>>,
    mut place: T,
    ask: impl FnOnce(&mut T) -> Status,
) -> Result<T, CudaError> {
    ask(&mut place).check(doing)?;
    Ok(place)
}
