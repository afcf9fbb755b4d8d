//! Launches from the device. A kernel queues its requests (`device/support_children.cu`). When it has ended, the host
//! carries them out, each child as a separate launch. Only one such kernel runs at a time.

use super::Call;
use crate::cuda::device::current_device;
use crate::cuda::memory::{self, Pinned};
use crate::cuda::{Binary, CudaError, Function, Status, Stream, cuda, driver};
use crate::model::modules::Kernel;
use crate::recorder::RecordError;
use crate::recorder::runtime::{runtime, session};
use cudarc::runtime::sys::dim3;
use parking_lot::Mutex;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, c_int, c_void};
use std::sync::Arc;
use superstep_runtime_core::children::{Child, run_all};
use superstep_trace::CopyDirection;

/// Maximum number of children per launch, and maximum total size of their arguments.
const CAPACITY: usize = 64 << 10;
const CAPACITY_BYTES: usize = 16 << 20;
/// Name of the module variable that contains the queue's address.
const VARIABLE: &CStr = c"__superstep_children";
const MOVES: &str = include_str!("../../../device/child_moves.ptx");
const MOVING: &str = "copy or fill memory for a kernel";

/// `SuperstepChild` in `device/children.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct DeviceRequest {
    kind: u32,
    stream: u32,
    cta: u64,
    function: u64,
    arguments: u64,
    to: u64,
    from: u64,
    bytes: u64,
    grid: [u32; 3],
    block: [u32; 3],
}

const LAUNCH: u32 = 0;
const COPY: u32 = 1;

/// `SuperstepChildren` in `device/children.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    used: u64,
    used_bytes: u64,
    streams: u64,
    capacity: u64,
    capacity_bytes: u64,
    children: u64,
    bytes: u64,
}

#[derive(Clone, Copy)]
struct Queue(Pinned);

impl Queue {
    const CHILDREN: usize = size_of::<Head>().next_multiple_of(64);
    const BYTES: usize =
        (Self::CHILDREN + CAPACITY * size_of::<DeviceRequest>()).next_multiple_of(64);

    fn new() -> Result<Self, CudaError> {
        let queue = Queue(Pinned::new(Self::BYTES + CAPACITY_BYTES)?);
        queue.clear(0);
        Ok(queue)
    }

    /// Empties the queue. `streams` is the number of streams in use.
    fn clear(self, streams: u64) {
        let head = Head {
            streams,
            capacity: CAPACITY as u64,
            capacity_bytes: CAPACITY_BYTES as u64,
            children: self.0.device + Self::CHILDREN as u64,
            bytes: self.0.device + Self::BYTES as u64,
            ..Head::default()
        };
        // SAFETY: the memory is aligned to a page and contains the head; no kernel that writes to it is running.
        unsafe { self.0.at::<Head>().write_volatile(head) };
    }

    /// Removes and returns the requests of a kernel that has ended, along with the bytes of all arguments.
    fn take(self, kernel: &str) -> Result<(Vec<DeviceRequest>, Vec<u8>), RecordError> {
        // SAFETY: the memory is aligned to a page and contains the head; the kernel that wrote it has ended.
        let head = unsafe { self.0.at::<Head>().read_volatile() };
        self.clear(head.streams);
        if head.used > CAPACITY as u64 || head.used_bytes > CAPACITY_BYTES as u64 {
            return Err(RecordError::TooManyChildren {
                kernel: kernel.to_owned(),
                launches: head.used,
                bytes: head.used_bytes,
                room: CAPACITY,
                room_bytes: CAPACITY_BYTES,
            });
        }
        let (requests, bytes) = (head.used as usize, head.used_bytes as usize);
        // SAFETY: the memory contains both arrays, and the kernel has written this many elements of each.
        unsafe {
            let first = self.0.at::<u8>();
            let requests = std::slice::from_raw_parts(first.add(Self::CHILDREN).cast(), requests);
            let bytes = std::slice::from_raw_parts(first.add(Self::BYTES), bytes);
            Ok((requests.to_vec(), bytes.to_vec()))
        }
    }
}

/// The kernel and the arguments of a requested launch.
struct Launch {
    parent: Option<u64>,
    kernel: Arc<Kernel>,
    arguments: Vec<Vec<u8>>,
}

#[derive(Default)]
struct State {
    queues: HashMap<c_int, Queue>,
    /// Devices and binaries for which the variable points to the queue.
    modules: HashSet<(c_int, Binary)>,
    /// The kernels of `device/child_moves.cu`, which copy and fill memory, by device.
    moves: HashMap<c_int, [Function; 2]>,
}

#[derive(Default)]
pub struct Children(Mutex<State>);

impl Children {
    pub fn forget(&self, device: c_int) {
        let mut state = self.0.lock();
        state.queues.remove(&device);
        state.moves.remove(&device);
        state.modules.retain(|&(loaded_on, _)| loaded_on != device);
    }

    /// Launches the kernel, waits for it, and carries out its requests.
    pub fn run(&self, call: &Call<'_>, kernel: &Kernel) -> Result<Status, RecordError> {
        let mut state = self.0.lock();
        let queue = state.queue(kernel)?;
        let status = call.record(kernel)?;
        if !status.is_success() {
            return Ok(status);
        }
        let drain = |kernel: &Kernel, sequence: Option<u64>| {
            if !call.stream().synchronize().is_success() {
                // The program and the monitor notice on their own that the kernel failed.
                return Ok(Vec::new());
            }
            let (requests, arguments) = queue.take(&kernel.name)?;
            let children = requests.into_iter().map(|request| {
                let launch = match request.kind {
                    LAUNCH => Some(resolve(kernel, sequence, &request, &arguments)?),
                    _ => None,
                };
                Ok(Child {
                    cta: request.cta,
                    stream: request.stream as usize,
                    work: (request, launch),
                })
            });
            children.collect::<Result<Vec<_>, RecordError>>()
        };
        let children = drain(kernel, call.sequence.get())?;
        run_all(children, |(request, launch)| {
            if let Some(launch) = launch {
                let (status, sequence) = launch.run(&request, call)?;
                let name = &launch.kernel.name;
                status.check(format!("launch {name} from the device"))?;
                return drain(&launch.kernel, sequence);
            }
            let (to, bytes, stream) = (request.to, request.bytes, call.stream());
            let number = runtime().stream(call.stream);
            let [copies, fills] = state.moves()?;
            if request.kind == COPY {
                let from = request.from;
                move_bytes(copies, stream, [to, from, bytes])?;
                session().copy(CopyDirection::DeviceToDevice, to, from, bytes, number);
            } else {
                let value = request.from as u8;
                move_bytes(fills, stream, [to, value.into(), bytes])?;
                session().memset(to, bytes, value, number);
            }
            runtime().in_situ.host_wrote(to, bytes, call.stream);
            Ok(Vec::new())
        })?;
        Ok(Status::SUCCESS)
    }
}

impl State {
    /// Returns the current device's queue, after writing its address to the kernel's module.
    fn queue(&mut self, kernel: &Kernel) -> Result<Queue, CudaError> {
        let device = current_device();
        let queue = match self.queues.entry(device) {
            Entry::Occupied(queue) => *queue.get(),
            Entry::Vacant(place) => *place.insert(Queue::new()?),
        };
        if !self.modules.contains(&(device, kernel.binary)) {
            let module = driver::module_of(kernel.stub)?;
            let variable = driver::global(module, VARIABLE)?;
            let (variable, _) = variable.ok_or(CudaError::Call {
                doing: "find the variable __superstep_children".into(),
                status: Status::NAMED_SYMBOL_NOT_FOUND,
            })?;
            memory::write(variable, &[queue.0.device])?;
            self.modules.insert((device, kernel.binary));
        }
        Ok(queue)
    }

    fn moves(&mut self) -> Result<[Function; 2], CudaError> {
        let load = |name| driver::load(MOVES, name, MOVING);
        Ok(match self.moves.entry(current_device()) {
            Entry::Occupied(functions) => *functions.get(),
            Entry::Vacant(place) => *place.insert([
                load(c"__superstep_child_copy_bytes")?,
                load(c"__superstep_child_fill_bytes")?,
            ]),
        })
    }
}

/// Launches one of the kernels of `device/child_moves.cu`.
fn move_bytes(function: Function, stream: Stream, mut words: [u64; 3]) -> Result<(), CudaError> {
    let ctas = words[2].div_ceil(256).clamp(1, 1024) as u32;
    let mut arguments = words.each_mut().map(|word| std::ptr::from_mut(word).cast());
    let shape = [[ctas, 1, 1], [256, 1, 1]];
    // SAFETY: the function accepts these three words.
    let status = unsafe { driver::launch(function, shape, 0, stream, arguments.as_mut_ptr()) };
    driver::check(status, MOVING)
}

/// Resolves the launch that `parent` requested. `bytes` contains the arguments of all launches.
fn resolve(
    parent: &Kernel,
    sequence: Option<u64>,
    request: &DeviceRequest,
    bytes: &[u8],
) -> Result<Launch, RecordError> {
    let mut modules = runtime().modules.lock();
    let kernel = modules.numbered(parent.binary, request.function);
    drop(modules);
    let kernel = kernel.ok_or_else(|| RecordError::UnnamedChild(parent.name.clone()))?;
    let function = driver::function_of(kernel.stub)?;
    let argument = |index| {
        let [offset, size] = driver::parameter(function, index)?;
        let first = request.arguments as usize + offset;
        let value = bytes.get(first..first + size);
        let value = value.ok_or_else(|| RecordError::TooFewArguments(kernel.name.clone()))?;
        Ok(value.to_vec())
    };
    let arguments = (0..kernel.parameters).map(argument);
    let arguments = arguments.collect::<Result<_, RecordError>>()?;
    Ok(Launch {
        parent: sequence,
        kernel,
        arguments,
    })
}

impl Launch {
    /// Launches into the stream of `call`, which is a launch by the host.
    fn run(
        &self,
        request: &DeviceRequest,
        call: &Call<'_>,
    ) -> Result<(Status, Option<u64>), RecordError> {
        let pointers = self.arguments.iter();
        let mut pointers: Vec<*mut c_void> = pointers
            .map(|value| value.as_ptr().cast_mut().cast())
            .collect();
        let (stub, stream) = (self.kernel.stub, call.stream());
        let shape = [request.grid, request.block];
        let [grid, block] = shape.map(|[x, y, z]| dim3 { x, y, z });
        let bytes = request.bytes as usize;
        let launch = |arguments: *mut *mut c_void| {
            // SAFETY: the stub was registered, and there is a pointer to each argument, including the trailing ones.
            unsafe {
                cuda!(cudaLaunchKernel(
                    stub.raw(),
                    grid,
                    block,
                    arguments,
                    bytes,
                    stream.raw()
                ))
            }
        };
        let arguments = pointers.as_mut_ptr();
        let child = Call {
            parent: self.parent,
            ..Call::new(stub, shape, bytes, call.stream, arguments, &launch)
        };
        let status = child.record(&self.kernel)?;
        Ok((status, child.sequence.get()))
    }
}

#[cfg(test)]
mod tests;
