//! Launches from the device. A kernel's calls note what it asks for (`device/support_children.cu`); when it has ended, the host does that,
//! each child a launch of its own. One such kernel runs at a time.

use crate::cuda::device::{Pinned, current_device};
use crate::cuda::driver::{Driver, driver};
use crate::cuda::ffi::{self, Dim3, Error, Stream};
use crate::cuda::real;
use crate::model::modules::Kernel;
use crate::recorder::launch::{Call, Form, Origin};
use crate::recorder::runtime::Runtime;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, c_int, c_void};
use std::sync::Arc;
use superstep_runtime_core::children::{Child, run_all};
use superstep_trace::CopyDirection;

/// Children that one launch can ask for, and bytes of their arguments.
const CAPACITY: usize = 64 << 10;
const CAPACITY_BYTES: usize = 16 << 20;
/// The variable of a module that leads to the queue.
const VARIABLE: &CStr = c"__superstep_children";
const MOVES: &str = include_str!("../../device/child_moves.ptx");

/// `SuperstepChild` of `device/children.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
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

/// `SuperstepChildren` of `device/children.h`.
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

/// The memory in which the kernels of one device ask.
#[derive(Clone, Copy)]
struct Queue(Pinned);

impl Queue {
    const CHILDREN: usize = size_of::<Head>().next_multiple_of(64);
    const BYTES: usize = (Self::CHILDREN + CAPACITY * size_of::<Asked>()).next_multiple_of(64);

    fn new() -> Result<Self, String> {
        let queue = Queue(Pinned::new(Self::BYTES + CAPACITY_BYTES)?);
        queue.clear(0);
        Ok(queue)
    }

    /// Makes it empty; `streams` were given out.
    fn clear(self, streams: u64) {
        let head = Head {
            streams,
            capacity: CAPACITY as u64,
            capacity_bytes: CAPACITY_BYTES as u64,
            children: self.0.device + Self::CHILDREN as u64,
            bytes: self.0.device + Self::BYTES as u64,
            ..Head::default()
        };
        // SAFETY: the memory is aligned to a page and holds the head; no kernel that writes to it is running.
        unsafe { (self.0.host as *mut Head).write_volatile(head) };
    }

    /// Takes what the kernel that has just ended asked for, with the bytes of all arguments.
    fn take(self) -> Result<(Vec<Asked>, Vec<u8>), String> {
        // SAFETY: as in `clear`.
        let head = unsafe { (self.0.host as *const Head).read_volatile() };
        self.clear(head.streams);
        if head.used > CAPACITY as u64 || head.used_bytes > CAPACITY_BYTES as u64 {
            return Err(format!(
                "it asked for {} launches and copies with {} bytes of arguments; there is room for {CAPACITY} with {CAPACITY_BYTES}",
                head.used, head.used_bytes
            ));
        }
        let (asked, bytes) = (head.used as usize, head.used_bytes as usize);
        // SAFETY: the memory holds both arrays, and the kernel has written so much of them.
        unsafe {
            let asked =
                std::slice::from_raw_parts((self.0.host + Self::CHILDREN) as *const Asked, asked);
            let bytes = std::slice::from_raw_parts((self.0.host + Self::BYTES) as *const u8, bytes);
            Ok((asked.to_vec(), bytes.to_vec()))
        }
    }
}

enum Work {
    Launch(Launch),
    Copy { to: u64, from: u64, bytes: u64 },
    Fill { to: u64, value: u8, bytes: u64 },
}

struct Launch {
    parent: Option<u64>,
    kernel: Arc<Kernel>,
    grid: Dim3,
    block: Dim3,
    shared_bytes: usize,
    arguments: Vec<Vec<u8>>,
}

/// The kernels of `device/child_moves.cu`.
#[derive(Clone, Copy)]
enum Move {
    Copy,
    Fill,
}

#[derive(Default)]
struct State {
    queues: HashMap<c_int, Queue>,
    /// Devices and binaries whose variable leads to the queue.
    modules: HashSet<(c_int, usize)>,
    /// The functions of [`Move`], by device.
    moves: HashMap<c_int, [usize; 2]>,
}

#[derive(Default)]
pub struct Children(Mutex<State>);

impl Children {
    /// A device forgot its memory and modules.
    pub fn forget(&self, device: c_int) {
        let mut state = self.0.lock();
        state.queues.remove(&device);
        state.moves.remove(&device);
        state.modules.retain(|&(of, _)| of != device);
    }

    /// Launches the kernel, waits for it, and does what it asked for.
    pub fn run(
        &self,
        runtime: &'static Runtime,
        call: &Call<'_>,
        kernel: &Kernel,
    ) -> Result<Error, String> {
        let mut state = self.0.lock();
        let driver = driver()?;
        let queue = state.queue(&driver, kernel)?;
        let error = call.now(runtime, kernel)?;
        if error != ffi::SUCCESS {
            return Ok(error);
        }
        let drain = |kernel: &Kernel, origin: &Origin| {
            // SAFETY: a stream of the program's.
            if unsafe { real::stream_synchronize(call.real_stream()) } != ffi::SUCCESS {
                // The program and the monitor see for themselves that the kernel failed.
                return Ok(Vec::new());
            }
            let (asked, arguments) =
                (queue.take()).map_err(|error| format!("{}: {error}", kernel.name))?;
            let work = asked.iter().map(|asked| {
                let launch = || resolve(runtime, &driver, kernel, origin, asked, &arguments);
                Ok(Child {
                    cta: asked.cta,
                    stream: asked.stream as usize,
                    work: work(asked, launch)?,
                })
            });
            work.collect::<Result<Vec<_>, String>>()
        };
        let children = drain(kernel, &call.origin)?;
        run_all(children, |work| match work {
            Work::Launch(launch) => {
                let (error, origin) = launch.run(runtime, call)?;
                real::check(
                    error,
                    &format!("launch {} from the device", launch.kernel.name),
                )?;
                drain(&launch.kernel, &origin)
            }
            Work::Copy { to, from, bytes } => {
                state.move_bytes(&driver, Move::Copy, call.real_stream(), [to, from, bytes])?;
                let stream = runtime.stream(call.stream, call.per_thread);
                (runtime.session).copy(CopyDirection::DeviceToDevice, to, from, bytes, stream);
                let into = (call.stream, call.per_thread);
                runtime.in_situ.host_wrote(runtime, to, bytes, into);
                Ok(Vec::new())
            }
            Work::Fill { to, value, bytes } => {
                state.move_bytes(
                    &driver,
                    Move::Fill,
                    call.real_stream(),
                    [to, value.into(), bytes],
                )?;
                let stream = runtime.stream(call.stream, call.per_thread);
                (runtime.session).memset(to, bytes, value, stream);
                let into = (call.stream, call.per_thread);
                runtime.in_situ.host_wrote(runtime, to, bytes, into);
                Ok(Vec::new())
            }
        })?;
        Ok(ffi::SUCCESS)
    }
}

impl State {
    /// The queue of the current device, which the kernel's module then knows.
    fn queue(&mut self, driver: &Driver, kernel: &Kernel) -> Result<Queue, String> {
        let device = current_device();
        let queue = match self.queues.get(&device) {
            Some(queue) => *queue,
            None => {
                let queue = Queue::new()?;
                self.queues.insert(device, queue);
                queue
            }
        };
        if !self.modules.contains(&(device, kernel.binary)) {
            let module = driver.module_of(kernel.stub as *const c_void)?;
            let variable = driver.global(module, VARIABLE)?;
            driver.write(variable, &[queue.0.device])?;
            self.modules.insert((device, kernel.binary));
        }
        Ok(queue)
    }

    /// Launches a kernel that takes these words.
    fn move_bytes(
        &mut self,
        driver: &Driver,
        by: Move,
        stream: Stream,
        mut words: [u64; 3],
    ) -> Result<(), String> {
        const WHAT: &str = "copy or fill memory for a kernel";
        let device = current_device();
        let functions = match self.moves.get(&device) {
            Some(functions) => *functions,
            None => {
                let load = |name| driver.load(MOVES, name, WHAT).map(|f| f as usize);
                let functions = [
                    load(c"__superstep_child_copy_bytes")?,
                    load(c"__superstep_child_fill_bytes")?,
                ];
                self.moves.insert(device, functions);
                functions
            }
        };
        let shape = |x| Dim3 { x, y: 1, z: 1 };
        let ctas = words[2].div_ceil(256).clamp(1, 1024) as u32;
        let mut arguments = words.each_mut().map(|word| std::ptr::from_mut(word).cast());
        let (function, grid) = (
            functions[by as usize] as *mut c_void,
            (shape(ctas), shape(256)),
        );
        // SAFETY: the function takes these three words.
        let error = unsafe { driver.launch(function, grid, 0, stream, arguments.as_mut_ptr()) };
        crate::cuda::driver::check(error, WHAT)
    }
}

fn work(asked: &Asked, launch: impl FnOnce() -> Result<Launch, String>) -> Result<Work, String> {
    let &Asked {
        to, from, bytes, ..
    } = asked;
    Ok(match asked.kind {
        LAUNCH => Work::Launch(launch()?),
        COPY => Work::Copy { to, from, bytes },
        _ => Work::Fill {
            to,
            value: from as u8,
            bytes,
        },
    })
}

/// The launch that a kernel of `parent`'s module asked for. `bytes` are those of all arguments.
fn resolve(
    runtime: &Runtime,
    driver: &Driver,
    parent: &Kernel,
    origin: &Origin,
    asked: &Asked,
    bytes: &[u8],
) -> Result<Launch, String> {
    let kernel = runtime
        .modules
        .lock()
        .numbered(parent.binary, asked.function);
    let Some(kernel) = kernel else {
        return Err(format!(
            "{} launches a kernel whose address it has from memory; name the kernel where it is launched",
            parent.name
        ));
    };
    let function = driver.function_of(kernel.stub as *const c_void)?;
    let argument = |index| {
        let [offset, size] = driver.parameter(function, index)?;
        let first = asked.arguments as usize + offset;
        let value = bytes.get(first..first + size);
        let value = value.ok_or_else(|| format!("{} got too few arguments", kernel.name))?;
        Ok(value.to_vec())
    };
    let arguments = (0..kernel.parameters).map(argument);
    let arguments = arguments.collect::<Result<_, String>>()?;
    let dim = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
    Ok(Launch {
        parent: origin.sequence.get(),
        kernel,
        grid: dim(asked.grid),
        block: dim(asked.block),
        shared_bytes: asked.bytes as usize,
        arguments,
    })
}

impl Launch {
    /// Launches into the stream of `call`, which the host made.
    fn run(&self, runtime: &'static Runtime, call: &Call<'_>) -> Result<(Error, Origin), String> {
        let pointers = self.arguments.iter();
        let mut pointers: Vec<*mut c_void> = pointers
            .map(|value| value.as_ptr().cast_mut().cast())
            .collect();
        let (stub, stream) = (self.kernel.stub as *const c_void, call.real_stream());
        let launch = |arguments: *mut *mut c_void| {
            let (grid, block) = (self.grid, self.block);
            // SAFETY: the stub was registered, and there is a pointer to each of the kernel's arguments, the trailing ones included.
            unsafe { real::launch_kernel(stub, grid, block, arguments, self.shared_bytes, stream) }
        };
        let child = Call {
            function: stub,
            grid: self.grid,
            block: self.block,
            arguments: pointers.as_mut_ptr(),
            shared_bytes: self.shared_bytes,
            stream: call.stream,
            per_thread: call.per_thread,
            form: Form::Plain,
            is_drivers: false,
            launch: &launch,
            origin: Origin {
                parent: self.parent,
                ..Origin::default()
            },
        };
        let error = child.now(runtime, &self.kernel)?;
        Ok((error, child.origin))
    }
}

#[cfg(test)]
mod tests;
