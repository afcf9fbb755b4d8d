//! Launches of kernels with a probe that a user defined. Each has the probe's memory to itself: it is cleared before the kernel,
//! and read when the kernel has ended, for which the launching thread waits. The kernel's own time is measured as ever.

use crate::device::current_device;
use crate::ffi::{self, Error, Stream};
use crate::launch::Call;
use crate::modules::Kernel;
use crate::monitor::Item;
use crate::real;
use crate::runtime::Runtime;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};
use superstep_runtime_core::probe::{Layout, ProbeContext};

/// Bytes before the parameters.
const CONTEXT_BYTES: usize = 128;

/// The probe's memory on each device, with its size.
#[derive(Debug, Default)]
pub struct ProbeMemory(Mutex<HashMap<i32, (u64, usize)>>);

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
        let (Some(layout), Some((module, _))) = (layout, module) else {
            let active = self.begin(runtime, kernel, stream);
            return self.skipped(runtime, kernel, active, 0, 0);
        };
        let mut memory = runtime
            .probe_memory
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut parameters = runtime.session.config().probe_parameters.clone();
        let count = module
            .defined
            .as_ref()
            .map_or(0, |p| p.spec.parameters.len());
        parameters.resize(count, 0);
        let place = match place(&mut memory, &layout, parameters.len()) {
            Ok(place) => place,
            Err(error) => return self.cannot(runtime, &kernel.name, &error),
        };
        let active = self.begin(runtime, kernel, stream);
        let real_stream = self.real_stream();
        let context = layout.context(
            place.fields,
            place.tables,
            place.base + CONTEXT_BYTES as u64,
            active.launch.launch.0,
        );
        if let Err(error) = write(place, &context, &parameters, real_stream) {
            return self.cannot(runtime, &kernel.name, &error);
        }
        let (error, queued) = self.surround(runtime, active.clone(), || {
            self.launch_with(kernel, place.base, u64::from(active.launch.launch.0))
        });
        let events = queued.events;
        if error == ffi::SUCCESS {
            match read(place, events, real_stream) {
                Ok((fields, tables, elapsed_ns)) => runtime
                    .session
                    .probe_results(&active, &module, &layout, elapsed_ns, &fields, &tables),
                Err(error) => runtime
                    .session
                    .fault(format!("failed to probe {}: {error}", kernel.name)),
            }
        }
        runtime.monitor().send(Item::Queued(queued));
        error
    }
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
fn read(
    place: Place,
    events: [usize; 2],
    stream: Stream,
) -> Result<(Vec<u8>, Vec<u64>, u64), String> {
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
