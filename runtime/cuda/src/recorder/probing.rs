//! Launches of kernels with a user's probe. Each has exclusive use of the probe's memory, which is cleared before the
//! kernel starts and read after it has ended; the launching thread waits until then. A launch without the probe runs
//! the kernel's native copy without waiting.

use super::drain::monitor::Item;
use super::launch::graph_nodes::Insertion;
use super::launch::{Call, Form, with_trailing};
use super::runtime::{monitor, runtime, session};
use super::{RecordError, Recorder};
use crate::cuda::device::current_device;
use crate::cuda::memory::{self, device_memory, free_device_memory, words_of};
use crate::cuda::{CudaError, Event, Function, Status, Stream, Stub, driver};
use crate::model::graphs::NodeRecording;
use crate::model::modules::Kernel;
use cudarc::driver::sys::CUfunction_attribute_enum;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::slice::from_ref;
use superstep_runtime_core::ActiveLaunch;
use superstep_runtime_core::probe::{Layout, ProbeContext};
use superstep_trace::probe::NATIVE_SUFFIX;

const CONTEXT_BYTES: usize = 128;

/// Bytes of dynamic shared memory that a kernel may use without opting in.
const DEFAULT_SHARED_BYTES: usize = 48 << 10;

#[derive(Default)]
pub struct Probing {
    /// Address and size in bytes of the probe's memory on each device.
    memory: Mutex<HashMap<i32, (u64, usize)>>,
    /// Native copies of kernels, by device and stub.
    natives: Mutex<HashMap<(i32, Stub), Option<Function>>>,
}

/// Bytes of the fields, words of the tables, and the kernel's time in nanoseconds.
type ProbeResults = (Vec<u8>, Vec<u64>, u64);

#[derive(Clone, Copy)]
struct LaunchMemory {
    base: u64,
    fields: u64,
    tables: u64,
    field_bytes: usize,
    table_bytes: usize,
}

impl Recorder for Probing {
    fn launch(&self, call: &Call<'_>, kernel: &Kernel) -> Result<Status, RecordError> {
        let sms = runtime().device().map_or(1, |device| device.sms as u32);
        let layout = session().probe_layout(&kernel.name, call.grid, call.block, sms)?;
        let active = call.begin(kernel);
        let Some((module, layout)) = layout else {
            return Ok(call.timed(active, || call.launch_with(kernel, 0, 0)));
        };
        let (parameters, wanted) = session().probe_parameters(&active, &module, &layout);
        let probe = module.defined.as_ref();
        let slots = probe.and_then(|probe| probe.kernels.get(&kernel.name));
        if !wanted
            && slots.is_some_and(|slots| slots.native)
            && let Some(function) = self.native(call, kernel)
        {
            return Ok(call.timed(active, || launch_native(call, function, kernel)));
        }
        let (status, found) =
            self.with_memory(call, kernel, active.clone(), &layout, &parameters)?;
        // Called without holding the lock, since the program's observers may launch kernels.
        if let Some((fields, tables, elapsed_ns)) = found.filter(|_| wanted) {
            session().probe_results(&active, &module, &layout, elapsed_ns, &fields, &tables);
        }
        Ok(status)
    }

    fn add_to_graph(
        &self,
        _kernel: &Kernel,
        _place: &mut dyn Insertion,
    ) -> Result<NodeRecording, RecordError> {
        Err(RecordError::ProbeInGraph)
    }
}

impl Probing {
    /// Launches the kernel, waits, and reads the probe's memory.
    fn with_memory(
        &self,
        call: &Call<'_>,
        kernel: &Kernel,
        active: ActiveLaunch,
        layout: &Layout,
        parameters: &[u64],
    ) -> Result<(Status, Option<ProbeResults>), RecordError> {
        let mut memory = self.memory.lock();
        let place = place(&mut memory, layout, parameters.len())?;
        let launch = active.launch.launch.0;
        let after_context = place.base + CONTEXT_BYTES as u64;
        let context = layout.context(place.fields, place.tables, after_context, launch);
        let stream = call.stream();
        write(place, &context, parameters, stream)?;
        let (status, queued) = call.surround(active, || {
            call.launch_with(kernel, place.base, u64::from(launch))
        });
        let found = if status.is_success() {
            let fault = |error| {
                session().fault(format!("failed to probe {}: {error}", kernel.name));
            };
            read(place, queued.events, stream).map_err(fault).ok()
        } else {
            None
        };
        monitor().send(Item::Queued(queued));
        Ok((status, found))
    }

    /// Returns the native copy of a kernel on this device. Returns `None` unless `call` is plain, since the copy is
    /// launched through the driver.
    fn native(&self, call: &Call<'_>, kernel: &Kernel) -> Option<Function> {
        if call.form != Form::Plain {
            return None;
        }
        let key = (current_device(), kernel.stub);
        let mut known = self.natives.lock();
        let warn = |error| {
            session().warning(format!(
                "kernel {} keeps its probe in launches that could run without it: {error}",
                kernel.name
            ));
        };
        let find = || native(kernel).map_err(warn).ok();
        *known.entry(key).or_insert_with(find)
    }
}

fn launch_native(call: &Call<'_>, function: Function, kernel: &Kernel) -> Status {
    if call.shared_bytes > DEFAULT_SHARED_BYTES {
        let bytes = i32::try_from(call.shared_bytes).unwrap_or(i32::MAX);
        let attribute = CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the driver returned the function. If this fails, the launch fails as well.
        unsafe { driver!(cuFuncSetAttribute(function.raw(), attribute, bytes)) };
    }
    let bytes = u32::try_from(call.shared_bytes).unwrap_or(u32::MAX);
    with_trailing(kernel, call.arguments, [0; 2], |arguments| {
        // SAFETY: the function accepts the kernel's own parameters and two additional 64-bit ones.
        unsafe {
            let shape = [call.grid, call.block];
            driver::launch(function, shape, bytes, call.stream(), arguments)
        }
    })
}

fn native(kernel: &Kernel) -> Result<Function, CudaError> {
    let module = driver::module_of(kernel.stub)?;
    let name = CString::new(format!("{}{NATIVE_SUFFIX}", kernel.name)).unwrap_or_default();
    driver::function(module, &name, "find the kernel's native copy")
}

fn place(
    memory: &mut HashMap<i32, (u64, usize)>,
    layout: &Layout,
    parameters: usize,
) -> Result<LaunchMemory, CudaError> {
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
            // SAFETY: no launch uses the memory any longer, since the launching thread waits for each one.
            unsafe { free_device_memory(known) };
        }
        let allocated = device_memory(bytes, "probe")?;
        memory.insert(device, (allocated, bytes));
        allocated
    };
    Ok(LaunchMemory {
        base,
        fields: base + head,
        tables: base + head + fields,
        field_bytes: layout.field_bytes() as usize,
        table_bytes: layout.table_bytes() as usize,
    })
}

/// Clears the fields and tables and writes the context and parameters, in stream order.
fn write(
    place: LaunchMemory,
    context: &ProbeContext,
    parameters: &[u64],
    stream: Stream,
) -> Result<(), CudaError> {
    let bytes = (place.tables - place.fields) as usize + place.table_bytes;
    // SAFETY: the allocation is as large as the layout requires; the caller waits for the launch that uses it.
    let cleared = unsafe { memory::fill(place.fields, 0, bytes, stream) };
    cleared.check("clear the probe's memory")?;
    // SAFETY: the context is plain data without padding.
    let mut words = unsafe { words_of(from_ref(context)) }.to_vec();
    words.resize(CONTEXT_BYTES / 8, 0);
    words.extend_from_slice(parameters);
    let (from, bytes) = (words.as_ptr().cast(), size_of_val(&words[..]));
    // SAFETY: both sides are `bytes` bytes long, and the source is pageable.
    let copied = unsafe { memory::copy_to_device(place.base, from, bytes, stream) };
    copied.check("write the probe's memory")
}

fn read(
    place: LaunchMemory,
    events: [Option<Event>; 2],
    stream: Stream,
) -> Result<ProbeResults, RecordError> {
    let mut fields = vec![0u8; place.field_bytes];
    let mut tables = vec![0u64; place.table_bytes / 8];
    let copy = |to: *mut c_void, from: u64, bytes: usize| {
        // SAFETY: both sides are `bytes` bytes long, and the destination is pageable.
        unsafe { memory::copy_to_host(to, from, bytes, stream) }
    };
    copy(fields.as_mut_ptr().cast(), place.fields, fields.len())
        .check("read the probe's fields")?;
    if !tables.is_empty() {
        let copied = copy(tables.as_mut_ptr().cast(), place.tables, place.table_bytes);
        copied.check("read the probe's tables")?;
    }
    let [Some(start), Some(end)] = events else {
        return Err(RecordError::NoEvent);
    };
    end.synchronize().check("wait for the kernel")?;
    let elapsed_ns = Event::elapsed_ns([start, end]).map_err(RecordError::NoTime)?;
    Ok((fields, tables, elapsed_ns))
}
