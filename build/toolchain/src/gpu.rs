//! Detects the driver and the GPUs of this machine with the driver library, which is loaded at run time.
//!
//! libcuda is never linked, so that everything builds and starts on a machine without a driver; on such a machine,
//! [`Gpus::problem`] reports the missing driver.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::fmt;

use libloading::{Library, Symbol};
use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Gpus {
    pub driver: Option<Driver>,
    pub devices: Vec<Device>,
    pub problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Driver {
    pub cuda_version: (u32, u32),
    /// The kernel module's version, such as `580.65.06`, if known.
    pub version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    pub name: String,
    /// Major, minor; 9.0 is sm_90.
    pub compute_capability: (u32, u32),
    pub memory_bytes: u64,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.compute_capability;
        let (name, mib) = (&self.name, self.memory_bytes >> 20);
        write!(f, "{name} (sm_{major}{minor}, {mib} MiB)")
    }
}

pub fn detect() -> Gpus {
    let api = Api::load();
    let driver = api.as_ref().ok().and_then(|api| api.driver().ok());
    let devices = api.and_then(|api| api.devices());
    let problem = match &devices {
        Ok(devices) if devices.is_empty() => Some("the driver reports no GPU".to_owned()),
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    };
    Gpus {
        driver,
        devices: devices.unwrap_or_default(),
        problem,
    }
}

/// Calls a function of the driver library and checks its error code. Each argument is followed by its type in cuda.h.
macro_rules! call {
    ($api:ident.$name:ident($($argument:expr => $type:ty),*)) => {{
        let name = stringify!($name);
        let function = $api.function::<unsafe extern "C" fn($($type),*) -> c_int>(name)?;
        $api.check(name, function($($argument),*))
    }};
}

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `…_MINOR` from cuda.h.
const CAPABILITY_MAJOR: c_int = 75;
const CAPABILITY_MINOR: c_int = 76;

#[derive(Debug, Error)]
enum DriverError {
    #[error("no NVIDIA driver: {0}")]
    Missing(libloading::Error),
    #[error("the driver library lacks {0}: {1}")]
    Lacks(&'static str, libloading::Error),
    #[error("{0} failed: {2} (error {1})")]
    Failed(&'static str, c_int, String),
    #[error("{0} failed: error {1}")]
    UnknownCode(&'static str, c_int),
}

/// The driver library.
struct Api(Library);

impl Api {
    fn load() -> Result<Api, DriverError> {
        // SAFETY: loading runs the library's initialisers; libcuda is meant to be loaded this way and imposes no
        // conditions on the loading process.
        let library = unsafe { Library::new("libcuda.so.1") };
        library.map(Api).map_err(DriverError::Missing)
    }

    /// # Safety
    /// `F` must be the function's C type.
    unsafe fn function<F>(&self, name: &'static str) -> Result<Symbol<'_, F>, DriverError> {
        // SAFETY: `F` is the function's C type, as callers must ensure.
        let found = unsafe { self.0.get(name.as_bytes()) };
        found.map_err(|error| DriverError::Lacks(name, error))
    }

    fn driver(&self) -> Result<Driver, DriverError> {
        let mut number: c_int = 0;
        // SAFETY: the types are cuda.h's; one int is written through a valid pointer. The driver may be uninitialised.
        unsafe { call!(self.cuDriverGetVersion(&mut number => *mut c_int)) }?;
        let number = u32::try_from(number).unwrap_or(0);
        let text = std::fs::read_to_string("/proc/driver/nvidia/version");
        Ok(Driver {
            cuda_version: (number / 1000, number % 1000 / 10),
            version: text.ok().and_then(|text| kernel_module_version(&text)),
        })
    }

    fn devices(&self) -> Result<Vec<Device>, DriverError> {
        // SAFETY: the types are cuda.h's; cuInit takes flags, which must be 0, and can be called at any time.
        unsafe { call!(self.cuInit(0 => c_uint)) }?;
        let mut count: c_int = 0;
        // SAFETY: the types are cuda.h's; the driver is initialised, and one int is written through a valid pointer.
        unsafe { call!(self.cuDeviceGetCount(&mut count => *mut c_int)) }?;
        (0..count).map(|ordinal| self.device(ordinal)).collect()
    }

    fn device(&self, ordinal: c_int) -> Result<Device, DriverError> {
        let (mut device, mut memory_bytes): (c_int, usize) = (0, 0);
        let mut name: [c_char; 256] = [0; 256];
        // SAFETY: the types are cuda.h's; one int is written through a valid pointer. An uninitialised driver returns
        // an error.
        unsafe { call!(self.cuDeviceGet(&mut device => *mut c_int, ordinal => c_int)) }?;
        let attribute = |which: c_int| -> Result<u32, DriverError> {
            let mut value: c_int = 0;
            // SAFETY: the types are cuda.h's; the device is valid, and one int is written through a valid pointer.
            unsafe {
                call!(self.cuDeviceGetAttribute(&mut value => *mut c_int, which => c_int, device => c_int))
            }?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        // SAFETY: the types are cuda.h's, where `_v2` is the 64-bit form. The device is valid; at most 256 bytes,
        // including the final NUL, are written to a zeroed array of that size, and one size_t to a valid pointer.
        let name = unsafe {
            call!(self.cuDeviceGetName(name.as_mut_ptr() => *mut c_char, 256 => c_int, device => c_int))?;
            call!(self.cuDeviceTotalMem_v2(&mut memory_bytes => *mut usize, device => c_int))?;
            CStr::from_ptr(name.as_ptr())
        };
        Ok(Device {
            name: name.to_string_lossy().into_owned(),
            compute_capability: (attribute(CAPABILITY_MAJOR)?, attribute(CAPABILITY_MINOR)?),
            memory_bytes: memory_bytes as u64,
        })
    }

    fn check(&self, function: &'static str, code: c_int) -> Result<(), DriverError> {
        if code == 0 {
            return Ok(());
        }
        let mut text: *const c_char = std::ptr::null();
        type GetErrorString = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
        // SAFETY: the type is cuda.h's; the function writes one pointer through a valid pointer.
        unsafe {
            let get = self.function::<GetErrorString>("cuGetErrorString");
            get.map(|get| get(code, &mut text)).ok();
        }
        if text.is_null() {
            return Err(DriverError::UnknownCode(function, code));
        }
        // SAFETY: the driver returns a static NUL-terminated string, or null for an unknown code.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        Err(DriverError::Failed(function, code, text.into_owned()))
    }
}

fn kernel_module_version(text: &str) -> Option<String> {
    let is_version =
        |word: &&str| word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok());
    text.lines()
        .next()?
        .split_whitespace()
        .find(is_version)
        .map(str::to_owned)
}

#[cfg(test)]
mod tests;
