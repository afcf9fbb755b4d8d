//! The GPU that the program uses, events on it, and memory that both sides see.

use crate::cuda::ffi;
use crate::cuda::real;
use crate::recorder::thesis::bins::{Bins, Shape};
use crate::recorder::thesis::layout::{Bin, CONTEXT_VERSION, TraceContext};
use crate::recorder::thesis::record::Record;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::{CStr, c_int, c_void};
use superstep_trace::DeviceInfo;

/// The device that the program's first call went to.
#[derive(Clone, Debug)]
pub struct Device {
    pub ordinal: c_int,
    pub sms: usize,
    /// What captures and summaries say.
    pub info: DeviceInfo,
}

impl Device {
    /// The calling thread's device.
    pub fn current() -> Result<Self, String> {
        // SAFETY: the pointer leads to a number.
        let ask = |ordinal: &mut c_int| unsafe { real::get_device(ordinal) };
        let ordinal = real::answer("find a CUDA device", 0, ask)?;
        let attribute = |attribute| {
            // SAFETY: the pointer leads to a number.
            let ask =
                |value: &mut c_int| unsafe { real::device_attribute(value, attribute, ordinal) };
            real::answer("ask the CUDA device what it is", 0, ask)
                .map(|value| u32::try_from(value).unwrap_or(0))
        };
        let info = DeviceInfo {
            name: device_name(ordinal),
            compute_capability: [
                attribute(ffi::ATTRIBUTE_CAPABILITY_MAJOR)?,
                attribute(ffi::ATTRIBUTE_CAPABILITY_MINOR)?,
            ],
            driver: driver_version(),
        };
        let sms = attribute(ffi::ATTRIBUTE_SM_COUNT)? as usize;
        Ok(Device { ordinal, sms, info })
    }
}

fn device_name(ordinal: c_int) -> String {
    // `cudaDeviceProp` begins with the name and takes about a kilobyte; a later runtime may add to it.
    let mut properties = [0u64; 1024];
    // SAFETY: the buffer is several times as large as the structure.
    let error = unsafe { real::device_properties(properties.as_mut_ptr().cast(), ordinal) };
    let bytes: Vec<u8> = properties
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .take(256)
        .collect();
    match CStr::from_bytes_until_nul(&bytes) {
        Ok(name) if error == ffi::SUCCESS => name.to_string_lossy().into_owned(),
        _ => format!("CUDA device {ordinal}"),
    }
}

/// The driver's own version where the system tells it, and the CUDA version that it offers.
fn driver_version() -> Option<String> {
    let mut cuda: c_int = 0;
    // SAFETY: the pointer leads to a number.
    let known = unsafe { real::driver_version(&mut cuda) } == ffi::SUCCESS && cuda > 0;
    let cuda = known.then(|| format!("CUDA {}.{}", cuda / 1000, cuda % 1000 / 10));
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let is_version = |word: &&str| {
        word.split('.').count() >= 2
            && word
                .split('.')
                .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    };
    let mut words = text.lines().next().unwrap_or_default().split_whitespace();
    match (words.find(is_version), cuda) {
        (Some(driver), Some(cuda)) => Some(format!("{driver} ({cuda})")),
        (Some(driver), None) => Some(driver.to_owned()),
        (None, cuda) => cuda,
    }
}

/// Events that are not in use, each with its device. They are kept as numbers so that they can travel between threads.
#[derive(Default)]
pub struct EventPool(Mutex<Events>);

#[derive(Default)]
struct Events {
    free: HashMap<c_int, Vec<usize>>,
    device_of: HashMap<usize, c_int>,
}

impl EventPool {
    /// An event of the calling thread's device, or 0 when none can be made; the time is then unknown and nothing else.
    pub fn take(&self) -> usize {
        let device = current_device();
        if let Some(event) = self.0.lock().free.get_mut(&device).and_then(Vec::pop) {
            return event;
        }
        let mut event = std::ptr::null_mut();
        // SAFETY: the pointer leads to an event handle. Waiting threads sleep rather than spin.
        let error = unsafe { real::event_create(&mut event, ffi::EVENT_BLOCKING) };
        if error != ffi::SUCCESS {
            return 0;
        }
        self.0.lock().device_of.insert(event as usize, device);
        event as usize
    }

    /// Gives events back that no stream uses any more.
    pub fn give_back(&self, events: &[usize]) {
        let mut pool = self.0.lock();
        for &event in events {
            if let Some(&device) = pool.device_of.get(&event) {
                pool.free.entry(device).or_default().push(event);
            }
        }
    }

    /// Forgets all events: the device was reset.
    pub fn clear(&self) {
        *self.0.lock() = Events::default();
    }
}

/// The calling thread's device; 0 when there is none.
pub fn current_device() -> c_int {
    let mut ordinal = 0;
    // SAFETY: the pointer leads to a number.
    match unsafe { real::get_device(&mut ordinal) } {
        ffi::SUCCESS => ordinal,
        _ => 0,
    }
}

/// Does something with another current device.
pub fn with_device<T>(
    ordinal: c_int,
    work: impl FnOnce() -> Result<T, String>,
) -> Result<T, String> {
    let before = current_device();
    // SAFETY: no pointers.
    let set = |ordinal| unsafe { real::set_device(ordinal) };
    real::check(set(ordinal), "change the current CUDA device")?;
    let done = work();
    real::check(set(before), "change the current CUDA device")?;
    done
}

/// Page-locked memory that the device sees, zeroed. It stays until the process or the device's context ends.
#[derive(Clone, Copy, Debug)]
pub struct Pinned {
    pub host: usize,
    pub device: u64,
}

impl Pinned {
    /// Allocates `bytes`. The program does not see a failure as its last error.
    pub fn new(bytes: usize) -> Result<Self, String> {
        let what = format!("allocate {bytes} bytes of page-locked host memory for the trace");
        // SAFETY: the pointer leads to a pointer.
        let ask = |host: &mut _| unsafe { real::host_alloc(host, bytes, ffi::HOST_ALLOC_MAPPED) };
        let host = forgotten(real::answer(&what, std::ptr::null_mut(), ask))?;
        // SAFETY: the pointer leads to a pointer; `host` comes from the call before.
        let ask = |device: &mut _| unsafe { real::host_device_pointer(device, host, 0) };
        let device = real::answer("map host memory into the device", std::ptr::null_mut(), ask)?;
        // SAFETY: `bytes` bytes were allocated, and nobody else knows them yet.
        unsafe { std::ptr::write_bytes(host.cast::<u8>(), 0, bytes) };
        Ok(Pinned {
            host: host as usize,
            device: device as u64,
        })
    }

    /// Gives the memory back, which nobody may use.
    pub fn free(self) {
        // SAFETY: the memory was allocated by `new`, and the caller is the last who knows it.
        unsafe { real::free_host(self.host as *mut c_void) };
    }
}

/// The program must not see a failure of ours as its last error.
fn forgotten<T>(result: Result<T, String>) -> Result<T, String> {
    result.inspect_err(|_| {
        // SAFETY: no arguments.
        unsafe { real::get_last_error() };
    })
}

/// Device memory for `purpose`. It stays until the context ends, or is given back with `cudaFree`.
pub fn device_memory(bytes: usize, purpose: &str) -> Result<*mut c_void, String> {
    let what = format!("allocate {bytes} bytes of device memory for the {purpose}");
    // SAFETY: the pointer leads to a pointer.
    let ask = |pointer: &mut _| unsafe { real::malloc(pointer, bytes) };
    forgotten(real::answer(&what, std::ptr::null_mut(), ask))
}

/// Device memory with a copy of `words`. It stays until the context ends.
pub fn device_words(words: &[u64]) -> Result<u64, String> {
    let bytes = size_of_val(words);
    let pointer = device_memory(bytes.max(8), "trace")?;
    let what = "write the trace's device memory";
    // In a stream of its own: the legacy one waits for all others, which is an error while one of them is captured into a graph.
    let make = |stream: &mut _| {
        // SAFETY: the pointer leads to a handle.
        unsafe { real::stream_create(stream, ffi::STREAM_NON_BLOCKING) }
    };
    let stream = real::answer(what, std::ptr::null_mut(), make)?;
    let words = words.as_ptr().cast();
    // SAFETY: both sides hold so many bytes, and the source lives until the stream was waited for; the stream is destroyed once.
    let errors = unsafe {
        [
            real::memcpy_async(pointer, words, bytes, ffi::HOST_TO_DEVICE, stream),
            real::stream_synchronize(stream),
            real::stream_destroy(stream),
        ]
    };
    for error in errors {
        real::check(error, what)?;
    }
    Ok(pointer as u64)
}

/// The words of a structure that the device reads.
///
/// # Safety
/// `T` is plain data without padding, of whole words.
pub unsafe fn words_of<T>(structure: &T) -> &[u64] {
    assert!(align_of::<T>() == 8);
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(structure).cast(), size_of::<T>() / 8) }
}

/// Device memory with a copy of `context`.
pub fn device_context(context: &TraceContext) -> Result<u64, String> {
    // SAFETY: the structure is plain data without padding (`pad` is a field).
    device_words(unsafe { words_of(context) })
}

/// The buffer of one stream: bins in host memory and the context that tells the device where they are.
pub struct Buffer {
    /// The device's address of the [`TraceContext`].
    pub context: u64,
    pub bins: Bins,
    /// What was allocated, which is less than asked for when memory is short.
    pub shape: Shape,
}

impl Buffer {
    /// Allocates a buffer; takes smaller bins where the host cannot lock that much memory.
    pub fn new(wanted: Shape) -> Result<Self, String> {
        let mut shape = wanted;
        let memory = loop {
            match Pinned::new(shape.index_bytes() + shape.record_bytes()) {
                Ok(memory) => break memory,
                Err(_) if shape.bin_records > 1024 => shape.bin_records /= 2,
                Err(error) => return Err(error),
            }
        };
        let context = device_context(&TraceContext {
            version: CONTEXT_VERSION,
            bin_mask: (shape.bins - 1) as u32,
            bin_records: shape.bin_records as u64,
            bin_records_log2: shape.bin_records.trailing_zeros(),
            bins: memory.device,
            records: memory.device + shape.index_bytes() as u64,
            selection: crate::recorder::selection::device_selection()?,
            ..TraceContext::default()
        })?;
        let indices = memory.host as *const Bin;
        let records = (memory.host + shape.index_bytes()) as *const Record;
        // SAFETY: the memory holds both arrays, zeroed and page-aligned, and is never freed; a device reset, which takes
        // it away, is announced to the consumers first.
        let bins = unsafe { Bins::new(shape, indices, records) };
        Ok(Buffer {
            context,
            bins,
            shape,
        })
    }
}
