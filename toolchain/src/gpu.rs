//! Which driver and GPUs are here, asked of the driver library loaded at run time.
//!
//! libcuda is never linked: a machine without a driver builds and starts everything, and gets [`Gpus::problem`].

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::fmt;

use libloading::{Library, Symbol};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Gpus {
    /// The driver, when its library could be loaded.
    pub driver: Option<Driver>,
    /// The devices, in the driver's order; empty when there is a problem.
    pub devices: Vec<Device>,
    /// Why no device can be used.
    pub problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Driver {
    /// The newest CUDA version that the driver serves: major, minor.
    pub cuda_version: (u32, u32),
    /// The kernel module's version, such as `580.65.06`, where the system tells it.
    pub version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    pub name: String,
    /// Major, minor; 9.0 is sm_90.
    pub compute_capability: (u32, u32),
    pub memory_bytes: u64,
}

impl Device {
    /// The architecture's name for compilers, such as `sm_90`.
    pub fn arch(&self) -> String {
        format!(
            "sm_{}{}",
            self.compute_capability.0, self.compute_capability.1
        )
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({}, {} MiB)",
            self.name,
            self.arch(),
            self.memory_bytes >> 20
        )
    }
}

/// Asks the driver. Never fails: what is wrong is in [`Gpus::problem`].
pub fn detect() -> Gpus {
    match Api::load() {
        Ok(api) => api.detect(),
        Err(problem) => Gpus {
            problem: Some(problem),
            ..Gpus::default()
        },
    }
}

type DriverGetVersion = unsafe extern "C" fn(*mut c_int) -> c_int;
type Init = unsafe extern "C" fn(c_uint) -> c_int;
type DeviceGetCount = unsafe extern "C" fn(*mut c_int) -> c_int;
type DeviceGet = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
type DeviceGetName = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
type DeviceGetAttribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
type DeviceTotalMem = unsafe extern "C" fn(*mut usize, c_int) -> c_int;
type GetErrorString = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `…_MINOR` of cuda.h.
const CAPABILITY_ATTRIBUTES: (c_int, c_int) = (75, 76);

struct Api(Library);

impl Api {
    fn load() -> Result<Api, String> {
        // SAFETY: loading runs the library's initialisers; libcuda is meant to be loaded this way and has no
        // conditions on the loading process.
        let library = unsafe { Library::new("libcuda.so.1") };
        library
            .map(Api)
            .map_err(|error| format!("no NVIDIA driver: {error}"))
    }

    /// A function of the driver library.
    ///
    /// # Safety
    /// `F` must be the function's C type.
    unsafe fn function<F>(&self, name: &CStr) -> Result<Symbol<'_, F>, String> {
        // SAFETY: the caller vouches for the type.
        unsafe { self.0.get(name.to_bytes_with_nul()) }.map_err(|error| {
            format!(
                "the driver library lacks {}: {error}",
                name.to_string_lossy()
            )
        })
    }

    fn detect(&self) -> Gpus {
        let driver = self.driver().ok();
        match self.devices() {
            Ok(devices) if devices.is_empty() => Gpus {
                driver,
                devices,
                problem: Some("the driver reports no GPU".to_owned()),
            },
            Ok(devices) => Gpus {
                driver,
                devices,
                problem: None,
            },
            Err(problem) => Gpus {
                driver,
                devices: Vec::new(),
                problem: Some(problem),
            },
        }
    }

    fn driver(&self) -> Result<Driver, String> {
        // SAFETY: the type is cuda.h's declaration of cuDriverGetVersion.
        let get: Symbol<DriverGetVersion> = unsafe { self.function(c"cuDriverGetVersion") }?;
        let mut number: c_int = 0;
        // SAFETY: the function writes one int through a valid pointer and may be called before cuInit.
        self.check("cuDriverGetVersion", unsafe { get(&mut number) })?;
        let number = u32::try_from(number).unwrap_or(0);
        let version = std::fs::read_to_string("/proc/driver/nvidia/version")
            .ok()
            .and_then(|text| kernel_module_version(&text));
        Ok(Driver {
            cuda_version: (number / 1000, number % 1000 / 10),
            version,
        })
    }

    fn devices(&self) -> Result<Vec<Device>, String> {
        // SAFETY: the type is cuda.h's declaration of cuInit.
        let init: Symbol<Init> = unsafe { self.function(c"cuInit") }?;
        // SAFETY: cuInit takes flags, which must be 0, and may be called at any time.
        self.check("cuInit", unsafe { init(0) })?;
        // SAFETY: the type is cuda.h's declaration of cuDeviceGetCount.
        let get_count: Symbol<DeviceGetCount> = unsafe { self.function(c"cuDeviceGetCount") }?;
        let mut count: c_int = 0;
        // SAFETY: the driver is initialised; the function writes one int through a valid pointer.
        self.check("cuDeviceGetCount", unsafe { get_count(&mut count) })?;
        (0..count).map(|ordinal| self.device(ordinal)).collect()
    }

    fn device(&self, ordinal: c_int) -> Result<Device, String> {
        // SAFETY: the types are cuda.h's declarations; the `_v2` name is the 64-bit form of cuDeviceTotalMem.
        let (get, get_name, get_attribute, total_memory): (
            Symbol<DeviceGet>,
            Symbol<DeviceGetName>,
            Symbol<DeviceGetAttribute>,
            Symbol<DeviceTotalMem>,
        ) = unsafe {
            (
                self.function(c"cuDeviceGet")?,
                self.function(c"cuDeviceGetName")?,
                self.function(c"cuDeviceGetAttribute")?,
                self.function(c"cuDeviceTotalMem_v2")?,
            )
        };
        let mut device: c_int = 0;
        // SAFETY: the driver is initialised; the function writes one int through a valid pointer.
        self.check("cuDeviceGet", unsafe { get(&mut device, ordinal) })?;
        let mut name: [c_char; 256] = [0; 256];
        // SAFETY: at most 256 bytes with their final zero are written into an array of that length.
        self.check("cuDeviceGetName", unsafe {
            get_name(name.as_mut_ptr(), 256, device)
        })?;
        let attribute = |which: c_int| -> Result<u32, String> {
            let mut value: c_int = 0;
            // SAFETY: the device is valid; the function writes one int through a valid pointer.
            self.check("cuDeviceGetAttribute", unsafe {
                get_attribute(&mut value, which, device)
            })?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        let capability = (
            attribute(CAPABILITY_ATTRIBUTES.0)?,
            attribute(CAPABILITY_ATTRIBUTES.1)?,
        );
        let mut memory_bytes: usize = 0;
        // SAFETY: the device is valid; the function writes one size_t through a valid pointer.
        self.check("cuDeviceTotalMem", unsafe {
            total_memory(&mut memory_bytes, device)
        })?;
        // SAFETY: the array was zeroed and the driver ends the name with a zero inside it.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }
            .to_string_lossy()
            .into_owned();
        Ok(Device {
            name,
            compute_capability: capability,
            memory_bytes: memory_bytes as u64,
        })
    }

    fn check(&self, function: &str, code: c_int) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        Err(format!("{function} failed: {}", self.error_text(code)))
    }

    fn error_text(&self, code: c_int) -> String {
        let mut text: *const c_char = std::ptr::null();
        // SAFETY: the type is cuda.h's declaration of cuGetErrorString.
        let get = unsafe { self.function::<GetErrorString>(c"cuGetErrorString") };
        // SAFETY: the function writes one pointer through a valid pointer.
        let known = get.is_ok_and(|get| unsafe { get(code, &mut text) } == 0);
        if !known || text.is_null() {
            return format!("error {code}");
        }
        // SAFETY: on success the driver gives a static string that ends with a zero.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        format!("{text} (error {code})")
    }
}

/// The version in `/proc/driver/nvidia/version`: the first word of its first line that is numbers and dots.
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
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_devices_says_why() {
        let gpus = detect();
        assert_eq!(gpus.devices.is_empty(), gpus.problem.is_some(), "{gpus:?}");
    }

    #[test]
    fn both_kernel_modules_versions_are_read() {
        let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:15:17 UTC 2025\nGCC";
        let open =
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build";
        assert_eq!(kernel_module_version(closed).as_deref(), Some("580.65.06"));
        assert_eq!(kernel_module_version(open).as_deref(), Some("575.57.08"));
        assert_eq!(kernel_module_version("nothing"), None);
    }

    #[test]
    fn a_device_is_named_with_its_architecture() {
        let device = Device {
            name: "NVIDIA H100".into(),
            compute_capability: (9, 0),
            memory_bytes: 80 << 30,
        };
        assert_eq!(device.to_string(), "NVIDIA H100 (sm_90, 81920 MiB)");
    }
}
