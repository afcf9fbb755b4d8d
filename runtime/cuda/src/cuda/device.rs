//! Devices, their events, and kernel attributes from the runtime.

use super::loader::find_in_runtime;
use super::memory::free_and_total;
use super::{CudaError, Event, Status, Stub, ask, cuda};
use cudarc::runtime::sys::{cudaDeviceAttr, cudaFuncAttributes};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use superstep_trace::{DeviceInfo, KernelResources};

/// The current device at the program's first CUDA call.
#[derive(Clone, Debug)]
pub struct Device {
    pub ordinal: c_int,
    pub sms: usize,
    pub info: DeviceInfo,
}

impl Device {
    pub fn current() -> Result<Self, CudaError> {
        let ordinal = current_ordinal()?;
        let attribute = |attribute| {
            attribute_of(ordinal, attribute).map(|value| u32::try_from(value).unwrap_or(0))
        };
        let info = DeviceInfo {
            name: device_name(ordinal),
            compute_capability: [
                attribute(cudaDeviceAttr::cudaDevAttrComputeCapabilityMajor)?,
                attribute(cudaDeviceAttr::cudaDevAttrComputeCapabilityMinor)?,
            ],
            driver: driver_version(),
        };
        let sms = attribute(cudaDeviceAttr::cudaDevAttrMultiProcessorCount)? as usize;
        Ok(Device { ordinal, sms, info })
    }
}

pub fn attribute_of(ordinal: c_int, attribute: cudaDeviceAttr) -> Result<c_int, CudaError> {
    // SAFETY: the pointer refers to a local integer.
    ask("query an attribute of the CUDA device", 0, |value| unsafe {
        cuda!(cudaDeviceGetAttribute(value, attribute, ordinal))
    })
}

fn device_name(ordinal: c_int) -> String {
    type Get = unsafe extern "C" fn(*mut c_void, c_int) -> Status;
    // In all versions, `cudaDeviceProp` starts with the name and occupies about 1 KiB; a later runtime may add to it.
    let mut properties = [0u64; 1024];
    let names = [c"cudaGetDeviceProperties_v2", c"cudaGetDeviceProperties"];
    let status = names.into_iter().find_map(find_in_runtime).map(|address| {
        // SAFETY: CUDA's headers declare both functions with this type, for every version of the structure.
        let get = unsafe { std::mem::transmute::<*mut c_void, Get>(address) };
        // SAFETY: the buffer is several times as large as the structure.
        unsafe { get(properties.as_mut_ptr().cast(), ordinal) }
    });
    let bytes: Vec<u8> = properties
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .take(256)
        .collect();
    match CStr::from_bytes_until_nul(&bytes) {
        Ok(name) if status == Some(Status::SUCCESS) => name.to_string_lossy().into_owned(),
        _ => format!("CUDA device {ordinal}"),
    }
}

/// Returns the driver's own version, if the system reports it, and the CUDA version that it supports.
fn driver_version() -> Option<String> {
    let mut cuda: c_int = 0;
    // SAFETY: the pointer refers to a local integer.
    let is_known = unsafe { cuda!(cudaDriverGetVersion(&mut cuda)) }.is_success() && cuda > 0;
    let cuda = is_known.then(|| format!("CUDA {}.{}", cuda / 1000, cuda % 1000 / 10));
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_version = |word: &&str| word.contains('.') && word.split('.').all(is_number);
    let mut words = text.lines().next().unwrap_or_default().split_whitespace();
    match (words.find(is_version), cuda) {
        (Some(driver), Some(cuda)) => Some(format!("{driver} ({cuda})")),
        (Some(driver), None) => Some(driver.to_owned()),
        (None, cuda) => cuda,
    }
}

fn current_ordinal() -> Result<c_int, CudaError> {
    // SAFETY: the pointer refers to a local integer.
    ask("find a CUDA device", 0, |ordinal| unsafe {
        cuda!(cudaGetDevice(ordinal))
    })
}

/// Returns the calling thread's device, or 0 if there is none.
pub fn current_device() -> c_int {
    current_ordinal().unwrap_or(0)
}

pub fn set_device(ordinal: c_int) -> Result<(), CudaError> {
    // SAFETY: the call takes no pointers.
    unsafe { cuda!(cudaSetDevice(ordinal)) }.check("change the current CUDA device")
}

pub fn with_device<T, E: From<CudaError>>(
    ordinal: c_int,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let previous = current_device();
    set_device(ordinal)?;
    let result = work();
    set_device(previous)?;
    result
}

#[derive(Default)]
pub struct EventPool(Mutex<Events>);

#[derive(Default)]
struct Events {
    free: HashMap<c_int, Vec<Event>>,
    device_of: HashMap<Event, c_int>,
}

impl EventPool {
    /// Returns an event on the calling thread's device, or `None` if CUDA cannot create one.
    pub fn take(&self) -> Option<Event> {
        let device = current_device();
        if let Some(event) = self.0.lock().free.get_mut(&device).and_then(Vec::pop) {
            return Some(event);
        }
        let event = Event::create().ok()?;
        self.0.lock().device_of.insert(event, device);
        Some(event)
    }

    /// Puts back events that no stream uses any more.
    pub fn give_back(&self, events: impl IntoIterator<Item = Option<Event>>) {
        let mut pool = self.0.lock();
        for event in events.into_iter().flatten() {
            if let Some(&device) = pool.device_of.get(&event) {
                pool.free.entry(device).or_default().push(event);
            }
        }
    }

    pub fn clear(&self) {
        *self.0.lock() = Events::default();
    }
}

/// Returns the attributes of a kernel. Loads its module.
pub fn attributes_of(stub: Stub) -> Option<cudaFuncAttributes> {
    // Room for later versions of the structure.
    let mut attributes = MaybeUninit::<[cudaFuncAttributes; 8]>::zeroed();
    let place = attributes.as_mut_ptr().cast();
    // SAFETY: the array is large enough for the structure of any version of the runtime; the stub was registered.
    let status = unsafe { cuda!(cudaFuncGetAttributes(place, stub.raw())) };
    // SAFETY: the structure consists of integers, for which zero is valid.
    status
        .is_success()
        .then(|| unsafe { attributes.assume_init() }[0])
}

pub fn ctas_on_sm(stub: Stub, cta_threads: c_int, dynamic_shared_bytes: usize) -> Option<c_int> {
    let mut ctas = 0;
    // SAFETY: the pointer refers to a local integer; the stub was registered.
    let status = unsafe {
        cuda!(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &mut ctas,
            stub.raw(),
            cta_threads,
            dynamic_shared_bytes
        ))
    };
    status.is_success().then_some(ctas)
}

pub fn resources_of(
    attributes: &cudaFuncAttributes,
    stub: Stub,
    cta_threads: u32,
    dynamic_shared_bytes: usize,
) -> Option<KernelResources> {
    let sm_threads = attribute_of(
        current_device(),
        cudaDeviceAttr::cudaDevAttrMaxThreadsPerMultiProcessor,
    );
    let threads = c_int::try_from(cta_threads).ok()?;
    let sm_ctas = ctas_on_sm(stub, threads, dynamic_shared_bytes)?;
    let number = |value: c_int| u32::try_from(value).unwrap_or(0);
    Some(KernelResources {
        registers: number(attributes.numRegs),
        local_bytes: attributes.localSizeBytes as u64,
        cta_threads,
        shared_bytes: (attributes.sharedSizeBytes + dynamic_shared_bytes) as u64,
        sm_ctas: number(sm_ctas),
        sm_threads: number(sm_threads.ok()?),
    })
}

/// Returns whether CUDA's own exit handler has run.
pub fn is_unloading() -> bool {
    let is_unloading = |status| status == Status::CUDART_UNLOADING;
    matches!(free_and_total(), Err(CudaError::Call { status, .. }) if is_unloading(status))
}

/// Returns the address of a device variable, given its shadow on the host. Loads its module.
pub fn symbol_address(shadow: *const c_void) -> Result<u64, Status> {
    let mut address = std::ptr::null_mut();
    // SAFETY: the pointer points to a pointer; the runtime rejects unknown shadows.
    unsafe { cuda!(cudaGetSymbolAddress(&mut address, shadow)) }.ok()?;
    Ok(address as u64)
}
