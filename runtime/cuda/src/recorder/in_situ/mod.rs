//! The protocol `in-situ`: accesses are classified and added up on the device (`device/probe_trace_in-situ.cu`). Here are the shadow
//! memory that this takes, what the host does to it, and the sums' way into the capture.
//!
//! Launches, and what the host writes, run one after the other in the order of the host's calls, whatever their streams: a launch sees
//! the state that those before it left.

mod devices;
mod graph_nodes;
mod graphs;
mod launch;
mod layout;
mod room;
mod shadow;
mod sums;
mod tables;
#[cfg(test)]
mod tests;

pub use graphs::NOT_YET;
pub use launch::Summed;

use crate::cuda::device::{
    Pinned, current_device, device_memory, device_words, with_device, words_of,
};
use crate::cuda::driver::driver;
use crate::cuda::ffi::{self, Stream};
use crate::cuda::real;
use crate::recorder::drain::signals;
use crate::recorder::launch::real_stream;
use crate::recorder::runtime::Runtime;
use layout::{
    Block, COPIES, Context, INPUT, NOBODY_KNOWS, SLOTS, SUMS, Transfer, UNWRITTEN, VERSION,
};
use parking_lot::Mutex;
use shadow::Shadow;
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use superstep_trace::{AllocationKind, Parts, Probe, Protocol};
use tables::{Tables, clear, table};

/// Launches whose kernel the device knows, at first.
const LAUNCHES: usize = 1 << 16;
/// Rows that are read, or sorted and written, together. They lie in no order, and the more are sorted the smaller they get.
const PARTS: usize = 1 << 20;
/// A program that is killed loses the transfers of about so long. Copying the table takes a part of a second.
const OFTEN: Duration = Duration::from_secs(10);
const BLOCK_WORDS: usize = size_of::<Block>() / size_of::<u64>();
const SLOT_BYTES: usize = COPIES * SUMS * size_of::<u64>();

/// Everything of the protocol, by device.
#[derive(Default)]
pub struct InSitu {
    devices: Mutex<HashMap<c_int, Arc<OnDevice>>>,
    order: Arc<Mutex<Order>>,
    wanted: OnceLock<bool>,
    /// What instances of CUDA graphs do.
    plans: graphs::Plans,
}

/// What one device has.
pub struct OnDevice {
    ordinal: c_int,
    /// Comes behind what was put into a stream of the device last.
    event: usize,
    /// A stream of ours.
    own_stream: usize,
    /// Whether a kernel has stored where the device has no shadow, since somebody asked.
    stored_elsewhere: AtomicBool,
    /// The device's address of the [`Context`].
    context: u64,
    shared: Mutex<Shared>,
    order: Arc<Mutex<Order>>,
    /// Free slots: number, and page-locked memory for a copy.
    slots: Mutex<Receiver<Slot>>,
    give_back: Mutex<Sender<Slot>>,
    sums: u64,
    /// Rows of the table of transfers in use, as far as ended launches say.
    rows: AtomicU64,
    /// When they were last written into the capture.
    drained: Mutex<Instant>,
}

struct Slot {
    number: usize,
    copy: Pinned,
}

/// What kernels find through the context.
struct Shared {
    context: Context,
    shadow: Shadow,
    kernels: HashMap<String, u32>,
    launches: usize,
    /// The launch before which the cache of what CTAs know was cleared last.
    known_since: u64,
}

/// The stream that was used last, with its device, and the event behind what was put there; 0 at first.
#[derive(Default)]
struct Order {
    device: c_int,
    stream: usize,
    event: usize,
    launched_on: Option<c_int>,
}

impl InSitu {
    /// Whether this run uses the protocol. A counting run does not, for whatever protocol its program was built.
    pub fn is_wanted(&self, runtime: &Runtime) -> bool {
        let is_traced = || runtime.session.registry().probe() == Probe::Trace;
        *(self.wanted).get_or_init(|| is_traced() && runtime.protocol() == Ok(Protocol::InSitu))
    }

    fn on_device(&self, runtime: &Runtime) -> Result<Arc<OnDevice>, String> {
        let mut devices = self.devices.lock();
        let device = current_device();
        if let Some(known) = devices.get(&device) {
            return Ok(known.clone());
        }
        let made = Arc::new(OnDevice::new(runtime, device, self.order.clone())?);
        devices.insert(device, made.clone());
        signals::HAS_REST.store(true, Ordering::Release);
        Ok(made)
    }

    /// The program has new memory.
    pub fn allocated(&self, runtime: &Runtime, address: u64, bytes: u64, kind: &AllocationKind) {
        if !self.is_wanted(runtime) || *kind == AllocationKind::Array {
            return;
        }
        let pattern = match kind {
            AllocationKind::Device | AllocationKind::Array => UNWRITTEN,
            AllocationKind::Managed
            | AllocationKind::Pinned
            | AllocationKind::Imported
            | AllocationKind::Symbol { .. } => INPUT,
        };
        let done = self
            .on_device(runtime)
            .and_then(|device| device.allocated(address, bytes, pattern));
        if let Err(error) = done {
            runtime.session.warning(format!(
                "{error}; what kernels load from {bytes} bytes at {address:#x} counts as unknown"
            ));
        }
    }

    pub fn freed(&self, runtime: &Runtime, address: u64) {
        if self.is_wanted(runtime) {
            for device in self.devices.lock().values() {
                device.shared.lock().shadow.freed(address);
            }
        }
    }

    /// The host wrote, or will when the stream comes there.
    pub fn host_wrote(&self, runtime: &Runtime, address: u64, bytes: u64, at: (Stream, bool)) {
        self.fill(runtime, &[(address, bytes)], INPUT, at);
    }

    /// Nobody knows what was written to these ranges; without any, to all memory.
    pub fn opaque(&self, runtime: &Runtime, ranges: Option<&[(u64, u64)]>, at: (Stream, bool)) {
        if !self.is_wanted(runtime) {
            return;
        }
        match ranges {
            Some(ranges) => self.fill(runtime, ranges, NOBODY_KNOWS, at),
            None => self.fill(runtime, &self.live(), NOBODY_KNOWS, at),
        }
    }

    fn fill(&self, runtime: &Runtime, ranges: &[(u64, u64)], pattern: u8, at: (Stream, bool)) {
        if !self.is_wanted(runtime) {
            return;
        }
        let done = self.on_device(runtime).and_then(|device| {
            let stream = real_stream(at.0, at.1);
            let order = &mut *self.order.lock();
            device.fill_all(order, ranges, pattern, stream)?;
            self.fill_others(device.ordinal, order, ranges, pattern)
        });
        if let Err(error) = done {
            runtime.session.fault(error);
        }
    }

    /// Writes what is still in the tables of transfers; no launch may be under way.
    pub fn finish(&self, runtime: &Runtime) {
        for device in self.devices.lock().values() {
            if let Err(error) = with_device(device.ordinal, || device.drain(runtime)) {
                runtime.session.fault(error);
            }
        }
    }
}

impl OnDevice {
    fn new(runtime: &Runtime, ordinal: c_int, order: Arc<Mutex<Order>>) -> Result<Self, String> {
        let tables = Tables::new()?;
        let (sums, _) = table(SLOTS, SLOT_BYTES, "sums")?;
        let (kernels, _) = table(LAUNCHES, 4, "list of launches")?;
        let mut shadow = Shadow::new(runtime.session.config().shadow_memory);
        let places = shadow.table()?.places;
        let context = Context {
            version: VERSION,
            blocks: device_words(&vec![0; BLOCK_WORDS * places.len()])?,
            block_mask: places.len() as u64 - 1,
            known: tables.known,
            sums,
            readers: tables.readers.0,
            reader_mask: tables.readers.1 as u64 - 1,
            transfers: tables.transfers.0,
            transfer_mask: tables.transfers.1 as u64 - 1,
            kernels,
            split: tables.splits.0,
            split_most: tables.splits.1 as u64,
            selection: crate::recorder::selection::device_selection()?,
            block_bits: Context::block_bits(runtime.session.cta_blocks()),
        };
        // SAFETY: the structure is plain data of whole words.
        let address = device_words(unsafe { words_of(&context) })?;
        let make = |event: &mut _| {
            // SAFETY: the pointer leads to an event handle.
            unsafe { real::event_create(event, ffi::EVENT_BLOCKING) }
        };
        let event = real::answer("make a CUDA event", std::ptr::null_mut(), make)?;
        let make = |stream: &mut _| {
            // SAFETY: the pointer leads to a stream handle.
            unsafe { real::stream_create(stream, ffi::STREAM_NON_BLOCKING) }
        };
        let own_stream = real::answer("make a CUDA stream", std::ptr::null_mut(), make)?;
        let (give_back, slots) = channel();
        for number in 0..SLOTS {
            let copy = Pinned::new(SLOT_BYTES)?;
            // The receiver lives beside the sender.
            let _ = give_back.send(Slot { number, copy });
        }
        Ok(OnDevice {
            ordinal,
            event: event as usize,
            own_stream: own_stream as usize,
            stored_elsewhere: AtomicBool::new(false),
            context: address,
            shared: Mutex::new(Shared {
                context,
                shadow,
                kernels: HashMap::new(),
                launches: LAUNCHES,
                known_since: 0,
            }),
            order,
            slots: Mutex::new(slots),
            give_back: Mutex::new(give_back),
            sums,
            rows: AtomicU64::new(0),
            drained: Mutex::new(Instant::now()),
        })
    }

    /// Writes the rows of the table of transfers into the capture and empties it; no launch may be under way.
    fn drain(&self, runtime: &Runtime) -> Result<(), String> {
        let (address, rows) = {
            let context = &self.shared.lock().context;
            (context.transfers, context.transfer_mask as usize + 1)
        };
        let (mut used, mut part) = (Vec::new(), vec![Transfer::default(); rows.min(PARTS)]);
        let bytes = size_of_val(part.as_slice());
        for start in (0..rows).step_by(part.len()) {
            // SAFETY: the rows are plain data of whole words, and nobody else has the slice.
            let place = unsafe { std::slice::from_raw_parts_mut(part.as_mut_ptr().cast(), bytes) };
            driver()?.read(place, address + (start * size_of::<Transfer>()) as u64)?;
            used.extend(part.iter().filter(|row| row.source != 0));
        }
        clear(address, rows * size_of::<Transfer>())?;
        self.rows.store(0, Ordering::Relaxed);
        *self.drained.lock() = Instant::now();
        for rows in used.chunks(PARTS) {
            let parts: Parts = sums::parts(rows);
            runtime.session.parts(parts);
        }
        Ok(())
    }
}

impl Order {
    /// What comes into `stream` of a device now comes after what came last.
    fn begin(&self, device: c_int, stream: Stream) -> Result<(), String> {
        if self.event == 0 || (self.device, self.stream) == (device, stream as usize) {
            return Ok(());
        }
        // SAFETY: the event was made for this, on a device that was not reset since.
        let error = unsafe { real::stream_wait_event(stream, self.event as ffi::Event, 0) };
        real::check(error, "put launches of several streams in order")
    }

    fn end(&mut self, device: &OnDevice, stream: Stream) -> Result<(), String> {
        (self.device, self.stream, self.event) = (device.ordinal, stream as usize, device.event);
        // SAFETY: the event was made for this, on the stream's device.
        let error = unsafe { real::event_record(self.event as ffi::Event, stream) };
        real::check(error, "put launches of several streams in order")
    }

    /// Waits until nothing of ours is under way.
    fn wait(&self) -> Result<(), String> {
        if self.event == 0 {
            return Ok(());
        }
        // SAFETY: the event was made for this, on a device that was not reset since.
        let error = unsafe { real::event_synchronize(self.event as ffi::Event) };
        real::check(error, "wait for a launch")
    }
}
