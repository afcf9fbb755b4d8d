//! Launches of kernels with a probe that a user defined. Each has the probe's memory to itself: it is cleared before the kernel,
//! and read when the kernel has ended, for which the launching thread waits. The kernel's own time is measured as ever. A launch that
//! is to do without the probe runs the kernel's other half, without waiting.

use crate::cuda::device::{current_device, device_memory, words_of};
use crate::cuda::driver::driver;
use crate::cuda::ffi::{self, Error, Stream};
use crate::cuda::real;
use crate::model::modules::Kernel;
use crate::recorder::drain::monitor::Item;
use crate::recorder::launch::{Call, Form, with_trailing};
use crate::recorder::runtime::Runtime;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use superstep_runtime_core::ActiveLaunch;
use superstep_runtime_core::probe::{Layout, ProbeContext};
use superstep_trace::StreamId;
use superstep_trace::probe::NATIVE_SUFFIX;

const CONTEXT_BYTES: usize = 128;

/// Dynamic shared memory that a kernel gets without asking for more.
const DEFAULT_SHARED_BYTES: usize = 48 << 10;
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const MOST_DYNAMIC_SHARED_BYTES: i32 = 8;

#[derive(Debug, Default)]
pub struct ProbeMemory {
    /// The probe's memory on each device, with its size.
    memory: Mutex<HashMap<i32, (u64, usize)>>,
    /// By device and stub, the kernels without their probe that were found.
    natives: Mutex<HashMap<(i32, usize), Option<usize>>>,
}

/// Bytes of the fields, words of the tables, and the kernel's time in nanoseconds.
type Found = (Vec<u8>, Vec<u64>, u64);

/// One launch's pieces of that memory.
#[derive(Clone, Copy)]
struct Place {
    base: u64,
    fields: u64,
    tables: u64,
    field_bytes: usize,
    table_bytes: usize,
}

impl Place {
    fn cleared_bytes(self) -> usize {
        (self.tables - self.fields) as usize + self.table_bytes
    }
}

impl Call<'_> {
    /// Launches with the probe, waits, and keeps what it found; an error where there is no memory for it.
    pub(crate) fn probed(
        &self,
        runtime: &'static Runtime,
        kernel: &Kernel,
        stream: StreamId,
    ) -> Result<Error, String> {
        let session = runtime.session;
        let sms = runtime.device().map_or(1, |device| device.sms as u32);
        let (grid, block) = (self.grid.into(), self.block.into());
        let layout = session.probe_layout(&kernel.name, grid, block, sms);
        let layout = layout.map_err(|error| error.to_string())?;
        let active = self.begin(runtime, kernel, stream);
        let Some((module, layout)) = layout else {
            let launch = || self.launch_with(kernel, 0, 0);
            return Ok(self.timed(runtime, active, launch));
        };
        let (parameters, wanted) = session.probe_parameters(&active, &module, &layout);
        let slots = module
            .defined
            .as_ref()
            .and_then(|probe| probe.kernels.get(&kernel.name));
        if !wanted
            && slots.is_some_and(|slots| slots.native)
            && let Some(function) = self.native(runtime, kernel)
        {
            let launch = || self.launch_native(function, kernel);
            return Ok(self.timed(runtime, active, launch));
        }
        let (error, found) =
            self.with_memory(runtime, kernel, active.clone(), &layout, &parameters)?;
        // The program may ask for anything now, another launch too: no lock is held.
        if let Some((fields, tables, elapsed_ns)) = found.filter(|_| wanted) {
            session.probe_results(&active, &module, &layout, elapsed_ns, &fields, &tables);
        }
        Ok(error)
    }

    /// Launches with the probe's memory and waits; answers what is in it afterwards.
    fn with_memory(
        &self,
        runtime: &'static Runtime,
        kernel: &Kernel,
        active: ActiveLaunch,
        layout: &Layout,
        parameters: &[u64],
    ) -> Result<(Error, Option<Found>), String> {
        let mut memory = runtime.probe_memory.memory.lock();
        let place = place(&mut memory, layout, parameters.len())?;
        let launch = active.launch.launch.0;
        let after_context = place.base + CONTEXT_BYTES as u64;
        let context = layout.context(place.fields, place.tables, after_context, launch);
        let real_stream = self.real_stream();
        write(place, &context, parameters, real_stream)?;
        let (error, queued) = self.surround(runtime, active, || {
            self.launch_with(kernel, place.base, u64::from(launch))
        });
        let events = queued.events;
        let found = if error == ffi::SUCCESS {
            let fault = |error| {
                let name = &kernel.name;
                (runtime.session).fault(format!("failed to probe {name}: {error}"));
            };
            read(place, events, real_stream).map_err(fault).ok()
        } else {
            None
        };
        runtime.monitor().send(Item::Queued(queued));
        Ok((error, found))
    }

    /// The kernel without its probe, on this device. It takes ordinary launches only, since the driver launches it.
    fn native(&self, runtime: &'static Runtime, kernel: &Kernel) -> Option<usize> {
        if self.form != Form::Plain {
            return None;
        }
        let key = (current_device(), kernel.stub);
        let mut known = runtime.probe_memory.natives.lock();
        *known.entry(key).or_insert_with(|| match native(kernel) {
            Ok(function) => Some(function),
            Err(error) => {
                runtime.session.warning(format!(
                    "kernel {} keeps its probe in launches that could run without it: {error}",
                    kernel.name
                ));
                None
            }
        })
    }

    fn launch_native(&self, function: usize, kernel: &Kernel) -> Error {
        let Ok(driver) = driver() else {
            return ffi::SYMBOL_NOT_FOUND;
        };
        let function = std::ptr::with_exposed_provenance_mut(function);
        if self.shared_bytes > DEFAULT_SHARED_BYTES {
            let bytes = i32::try_from(self.shared_bytes).unwrap_or(i32::MAX);
            // SAFETY: the function is a handle of the driver's. Too much is refused by the launch, too.
            unsafe { (driver.set_attribute)(function, MOST_DYNAMIC_SHARED_BYTES, bytes) };
        }
        let shape = (self.grid, self.block);
        let bytes = u32::try_from(self.shared_bytes).unwrap_or(u32::MAX);
        let stream = self.real_stream();
        with_trailing(kernel, self.arguments, [0; 2], |arguments| {
            // SAFETY: the function takes the kernel's own parameters and two more of 64 bits; the stream is the program's.
            unsafe { driver.launch(function, shape, bytes, stream, arguments) }
        })
    }
}

/// The kernel without its probe: it is in the same module.
fn native(kernel: &Kernel) -> Result<usize, String> {
    let driver = driver()?;
    let module = driver.module_of(std::ptr::with_exposed_provenance(kernel.stub))?;
    let name = CString::new(format!("{}{NATIVE_SUFFIX}", kernel.name)).unwrap_or_default();
    let function = driver.function(module, &name, "find the kernel without its probe")?;
    Ok(function.expose_provenance())
}

fn place(
    memory: &mut HashMap<i32, (u64, usize)>,
    layout: &Layout,
    parameters: usize,
) -> Result<Place, String> {
    let aligned = |bytes: u64| bytes.next_multiple_of(256);
    let head = aligned((CONTEXT_BYTES + parameters * 8) as u64);
    let fields = aligned(layout.field_bytes());
    let bytes = (head + fields + layout.table_bytes()) as usize;
    let device = current_device();
    let (known, size) = memory.get(&device).copied().unwrap_or_default();
    let base = if size >= bytes {
        known
    } else {
        if known != 0 {
            memory.remove(&device);
            // SAFETY: the memory is ours, and no launch uses it: each is waited for.
            unsafe { real::free(known as *mut c_void) };
        }
        let made = device_memory(bytes, "probe")? as u64;
        memory.insert(device, (made, bytes));
        made
    };
    Ok(Place {
        base,
        fields: base + head,
        tables: base + head + fields,
        field_bytes: layout.field_bytes() as usize,
        table_bytes: layout.table_bytes() as usize,
    })
}

/// Clears fields and tables, and writes context and parameters, in stream order.
fn write(
    place: Place,
    context: &ProbeContext,
    parameters: &[u64],
    stream: Stream,
) -> Result<(), String> {
    let (fields, bytes) = (place.fields as *mut c_void, place.cleared_bytes());
    // SAFETY: the place is as long as the layout says.
    let error = unsafe { real::memset_async(fields, 0, bytes, stream) };
    real::check(error, "clear the probe's memory")?;
    // SAFETY: the context is plain data without padding.
    let mut words = unsafe { words_of(context) }.to_vec();
    words.resize(CONTEXT_BYTES / 8, 0);
    words.extend_from_slice(parameters);
    let (to, from, bytes) = (
        place.base as *mut c_void,
        words.as_ptr().cast(),
        size_of_val(&words[..]),
    );
    // SAFETY: both sides hold so many bytes; a copy from pageable memory has read its source when it returns.
    let error = unsafe { real::memcpy_async(to, from, bytes, ffi::HOST_TO_DEVICE, stream) };
    real::check(error, "write the probe's memory")
}

/// Waits for the kernel; answers fields, tables and nanoseconds.
fn read(place: Place, events: [usize; 2], stream: Stream) -> Result<Found, String> {
    let mut fields = vec![0u8; place.field_bytes];
    let mut tables = vec![0u64; place.table_bytes / 8];
    let copy = |to: *mut c_void, from: u64, bytes: usize| {
        let from = from as *const c_void;
        // SAFETY: both sides hold so many bytes; a copy to pageable memory has ended when it returns.
        unsafe { real::memcpy_async(to, from, bytes, ffi::DEVICE_TO_HOST, stream) }
    };
    let copied = copy(fields.as_mut_ptr().cast(), place.fields, fields.len());
    real::check(copied, "read the probe's fields")?;
    if !tables.is_empty() {
        let copied = copy(tables.as_mut_ptr().cast(), place.tables, place.table_bytes);
        real::check(copied, "read the probe's tables")?;
    }
    if events.contains(&0) {
        return Err("failed to make a CUDA event".to_owned());
    }
    // SAFETY: the event was recorded behind the kernel.
    let error = unsafe { real::event_synchronize(events[1] as ffi::Event) };
    real::check(error, "wait for the kernel")?;
    let time = real::elapsed_ns(events);
    let failed = |error| format!("failed to time the kernel: {}", real::describe(error));
    Ok((fields, tables, time.map_err(failed)?))
}
