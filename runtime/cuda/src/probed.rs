//! Launches of kernels with a probe that a user defined. Each has the probe's memory to itself: it is cleared before the kernel,
//! and read when the kernel has ended, for which the launching thread waits. The kernel's own time is measured as ever. A launch that
//! is to do without the probe runs the kernel's other half, without waiting.

use crate::device::current_device;
use crate::driver::{check, driver};
use crate::ffi::{self, Error, Stream};
use crate::launch::Call;
use crate::modules::Kernel;
use crate::monitor::Item;
use crate::real;
use crate::runtime::Runtime;
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::{Mutex, PoisonError};
use superstep_runtime_core::ActiveLaunch;
use superstep_runtime_core::probe::{Layout, ProbeContext};
use superstep_trace::probe::NATIVE_SUFFIX;

const CONTEXT_BYTES: usize = 128;

/// Dynamic shared memory that a kernel gets without asking for more.
const DEFAULT_SHARED_BYTES: usize = 48 << 10;
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const MOST_DYNAMIC_SHARED_BYTES: i32 = 8;

/// The probe's memory on each device, with its size; and, by device and stub, the kernels without their probe that were found.
#[derive(Debug, Default)]
pub struct ProbeMemory(
    Mutex<HashMap<i32, (u64, usize)>>,
    Mutex<HashMap<(i32, usize), Option<usize>>>,
);

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
    /// Launches with the probe, waits, and keeps what it found.
    pub(crate) fn probed(&self, runtime: &'static Runtime, kernel: &Kernel) -> Error {
        let stream = runtime.stream(self.stream, self.per_thread);
        let module = runtime.session.registry().kernel(&kernel.name);
        let sms = runtime.device().map_or(1, |device| device.sms as u32);
        let layout = match module
            .as_ref()
            .and_then(|(module, _)| module.defined.as_ref())
        {
            Some(probe) => Layout::of(
                probe,
                &kernel.name,
                self.grid.into(),
                self.block.into(),
                sms,
            ),
            None => Ok(None),
        };
        let layout = match layout {
            Ok(layout) => layout,
            Err(error) => return self.cannot(runtime, &kernel.name, &error.to_string()),
        };
        let active = self.begin(runtime, kernel, stream);
        let (Some(layout), Some((module, _))) = (layout, module) else {
            return self.skipped(runtime, kernel, active, 0, 0);
        };
        let probe = module.defined.as_ref();
        let mut parameters = runtime.session.config().probe_parameters.clone();
        parameters.resize(probe.map_or(0, |probe| probe.spec.parameters.len()), 0);
        let wanted = runtime.session.wants_probe(&active)
            && (runtime.session).ask_about_probe(&active, &module, &layout, &mut parameters);
        let slots = probe.and_then(|probe| probe.kernels.get(&kernel.name));
        if !wanted
            && slots.is_some_and(|slots| slots.native)
            && let Some(function) = self.native(runtime, kernel)
        {
            let launch = || self.launch_native(function, kernel);
            let (error, queued) = self.surround(runtime, active, launch);
            runtime.monitor().send(Item::Queued(queued));
            return error;
        }
        match self.with_memory(runtime, kernel, active.clone(), &layout, &parameters) {
            // The program may ask for anything now, another launch too: no lock is held.
            Ok((error, Some(found))) if wanted => {
                let (fields, tables, elapsed_ns) = found;
                (runtime.session)
                    .probe_results(&active, &module, &layout, elapsed_ns, &fields, &tables);
                error
            }
            Ok((error, _)) => error,
            Err(error) => self.cannot(runtime, &kernel.name, &error),
        }
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
        let memory = runtime.probe_memory.0.lock();
        let mut memory = memory.unwrap_or_else(PoisonError::into_inner);
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
            let read = read(place, events, real_stream);
            let fault = |error| {
                let name = &kernel.name;
                (runtime.session).fault(format!("failed to probe {name}: {error}"));
            };
            read.map_err(fault).ok()
        } else {
            None
        };
        runtime.monitor().send(Item::Queued(queued));
        Ok((error, found))
    }

    /// The kernel without its probe, on this device. It takes ordinary launches only, since the driver launches it.
    fn native(&self, runtime: &'static Runtime, kernel: &Kernel) -> Option<usize> {
        if !self.is_plain {
            return None;
        }
        let key = (current_device(), kernel.stub);
        let known = runtime.probe_memory.1.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
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
        let mut zero = 0u64;
        let mut arguments = Vec::with_capacity(kernel.parameters + 2);
        if !self.arguments.is_null() {
            // SAFETY: the program gives one pointer for each of the kernel's own parameters.
            arguments.extend_from_slice(unsafe {
                std::slice::from_raw_parts(self.arguments, kernel.parameters)
            });
        }
        arguments.extend([(&raw mut zero).cast::<c_void>(); 2]);
        let (grid, block) = (self.grid, self.block);
        let bytes = u32::try_from(self.shared_bytes).unwrap_or(u32::MAX);
        // SAFETY: the function takes the kernel's own parameters and two more of 64 bits; the stream is the program's.
        unsafe {
            (driver.launch)(
                function,
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                bytes,
                self.real_stream(),
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        }
    }
}

/// The kernel without its probe: it is in the same module.
fn native(kernel: &Kernel) -> Result<usize, String> {
    let driver = driver()?;
    let (mut own, mut module, mut function) = (
        std::ptr::null_mut(),
        std::ptr::null_mut(),
        std::ptr::null_mut(),
    );
    let stub = std::ptr::with_exposed_provenance(kernel.stub);
    // SAFETY: the pointer leads to a handle; the stub was registered.
    let error = unsafe { real::function_by_symbol(&mut own, stub) };
    real::check(error, "find a kernel's module")?;
    // SAFETY: the pointer leads to a handle; the function is the runtime's own.
    let error = unsafe { (driver.module_of)(&mut module, own) };
    check(error, "find a kernel's module")?;
    let name = CString::new(format!("{}{NATIVE_SUFFIX}", kernel.name)).unwrap_or_default();
    // SAFETY: the pointer leads to a handle; the name ends with 0.
    let error = unsafe { (driver.get_function)(&mut function, module, name.as_ptr()) };
    check(error, "find the kernel without its probe")?;
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
        let mut pointer = std::ptr::null_mut();
        // SAFETY: the pointer leads to a pointer.
        let error = unsafe { real::malloc(&mut pointer, bytes) };
        real::check(
            error,
            &format!("allocate {bytes} bytes of device memory for the probe"),
        )?;
        memory.insert(device, (pointer as u64, bytes));
        pointer as u64
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
    // SAFETY: the place is as long as the layout says.
    let error = unsafe {
        real::memset_async(
            place.fields as *mut c_void,
            0,
            place.cleared_bytes(),
            stream,
        )
    };
    real::check(error, "clear the probe's memory")?;
    let mut words = [0u64; CONTEXT_BYTES / 8];
    // SAFETY: the context is plain data and fits into the words, as a test of its layout says.
    unsafe {
        std::ptr::copy_nonoverlapping(
            std::ptr::from_ref(context).cast::<u8>(),
            words.as_mut_ptr().cast::<u8>(),
            size_of::<ProbeContext>(),
        );
    }
    let words: Vec<u64> = words
        .into_iter()
        .chain(parameters.iter().copied())
        .collect();
    // SAFETY: both sides hold so many bytes; a copy from pageable memory has read its source when it returns.
    let error = unsafe {
        real::memcpy_async(
            place.base as *mut c_void,
            words.as_ptr().cast(),
            size_of_val(&words[..]),
            ffi::HOST_TO_DEVICE,
            stream,
        )
    };
    real::check(error, "write the probe's memory")
}

/// Waits for the kernel; answers fields, tables and nanoseconds.
fn read(place: Place, events: [usize; 2], stream: Stream) -> Result<Found, String> {
    let mut fields = vec![0u8; place.field_bytes];
    let mut tables = vec![0u64; place.table_bytes / 8];
    let copy = |to: *mut c_void, from: u64, bytes: usize| {
        // SAFETY: both sides hold so many bytes; a copy to pageable memory has ended when it returns.
        unsafe {
            real::memcpy_async(
                to,
                from as *const c_void,
                bytes,
                ffi::DEVICE_TO_HOST,
                stream,
            )
        }
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
    let mut milliseconds = 0f32;
    // SAFETY: the pointer leads to a number; both events have happened.
    let error = unsafe {
        real::event_elapsed(
            &mut milliseconds,
            events[0] as ffi::Event,
            events[1] as ffi::Event,
        )
    };
    real::check(error, "time the kernel")?;
    Ok((fields, tables, (f64::from(milliseconds) * 1e6) as u64))
}
