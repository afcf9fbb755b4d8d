//! The `in-situ` protocol: the device aggregates accesses (`device/probe_trace_in-situ.cu`), using shadow memory that
//! the host updates.
//!
//! Launches and the host's writes run in sequence, in the order of the host's calls, regardless of their streams.

mod additions;
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

pub use graphs::{NodeChange, UNASSIGNED};

use super::RecordError;
use super::runtime::session;
use super::selection::device_selection;
use crate::cuda::device::{current_device, with_device};
use crate::cuda::memory::{self, device_words, words_of};
use crate::cuda::{CudaError, Event, Stream, StreamArgument};
use crate::recorder::drain::signals;
use crate::recorder::drain::slots::Slots;
use additions::Additions;
use layout::{COPIES, Context, INPUT, SLOTS, SUMS, Transfer, UNKNOWN, UNWRITTEN, VERSION};
use parking_lot::Mutex;
use shadow::Shadow;
use std::collections::HashMap;
use std::ffi::c_int;
use std::slice::from_ref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use superstep_trace::AllocationKind;

/// Initial length of the device's list of launches.
const LAUNCHES: usize = 1 << 16;
/// Number of rows that are read, or sorted and written, at a time. Larger batches compress better.
const BATCH_ROWS: usize = 1 << 20;
/// Interval at which transfers are written, so that a killed program does not lose all of them. Copying the table takes
/// a fraction of a second.
const DRAIN_INTERVAL: Duration = Duration::from_secs(10);
const SLOT_BYTES: usize = COPIES * SUMS * size_of::<u64>();

#[derive(Default)]
pub struct InSitu {
    devices: Mutex<HashMap<c_int, Arc<OnDevice>>>,
    order: Arc<Mutex<Order>>,
    used: AtomicBool,
    plans: graphs::Plans,
}

pub struct OnDevice {
    ordinal: c_int,
    /// Recorded after the most recent work in any stream of the device.
    event: Event,
    own_stream: Stream,
    /// Whether a kernel has stored to memory that has no shadow on this device since the last check.
    stored_elsewhere: AtomicBool,
    /// Device address of the [`Context`].
    context: u64,
    shared: Mutex<Shared>,
    order: Arc<Mutex<Order>>,
    slots: Arc<Slots>,
    /// Additions that the transfer table had no room for.
    additions: Arc<Additions>,
    /// Number of rows of the transfer table that finished launches have filled.
    rows: AtomicU64,
    /// Time when the transfer table was last written to the capture.
    drained: Mutex<Instant>,
}

struct Shared {
    context: Context,
    shadow: Shadow,
    kernels: HashMap<String, u32>,
    launches: usize,
    /// Number of the launch before which the cache `known` in the context was last cleared.
    known_since: u64,
}

/// The most recently used stream, its device, and the event recorded after the stream's work.
#[derive(Default)]
struct Order {
    device: c_int,
    stream: Option<Stream>,
    event: Option<Event>,
    launched_on: Option<c_int>,
}

impl InSitu {
    pub fn enable(&self) {
        self.used.store(true, Ordering::Release);
    }

    /// Returns whether the run uses the protocol. A counting run never does, whatever the program was built for.
    pub fn is_used(&self) -> bool {
        self.used.load(Ordering::Acquire)
    }

    fn on_device(&self) -> Result<Arc<OnDevice>, RecordError> {
        let mut devices = self.devices.lock();
        let device = current_device();
        if let Some(existing) = devices.get(&device) {
            return Ok(existing.clone());
        }
        let new = Arc::new(OnDevice::new(device, self.order.clone())?);
        devices.insert(device, new.clone());
        signals::HAS_REST.store(true, Ordering::Release);
        Ok(new)
    }

    pub fn allocated(&self, address: u64, bytes: u64, kind: &AllocationKind) {
        if !self.is_used() {
            return;
        }
        let pattern = match kind {
            AllocationKind::Array => return,
            AllocationKind::Device => UNWRITTEN,
            AllocationKind::Managed
            | AllocationKind::Pinned
            | AllocationKind::Imported
            | AllocationKind::Symbol { .. } => INPUT,
        };
        let result = self
            .on_device()
            .and_then(|device| device.allocated(address, bytes, pattern));
        if let Err(error) = result {
            session().warning(format!(
                "{error}; any data that kernels load from the {bytes} bytes at {address:#x} counts as unknown"
            ));
        }
    }

    pub fn freed(&self, address: u64) {
        for device in self.devices.lock().values() {
            device.shared.lock().shadow.live.remove(&address);
        }
    }

    /// Records that the host has written this range, or will write it in stream order.
    pub fn host_wrote(&self, address: u64, bytes: u64, into: StreamArgument) {
        self.fill(&[(address, bytes)], INPUT, into);
    }

    /// Records that unrecorded code may write to `ranges` or, if they are unknown (`None`), to all memory.
    pub fn may_have_written(&self, ranges: Option<&[(u64, u64)]>, into: StreamArgument) {
        match ranges {
            Some(ranges) => self.fill(ranges, UNKNOWN, into),
            None => {
                let live = |device: &Arc<OnDevice>| device.shared.lock().shadow.live.clone();
                let all: Vec<_> = self.devices.lock().values().flat_map(live).collect();
                self.fill(&all, UNKNOWN, into);
            }
        }
    }

    /// Writes the remaining transfers. No launch may be running.
    pub fn write_rest(&self) {
        for device in self.devices.lock().values() {
            if let Err(error) = with_device(device.ordinal, || device.drain()) {
                session().fault(error);
            }
        }
    }

    fn fill(&self, ranges: &[(u64, u64)], pattern: u8, into: StreamArgument) {
        if !self.is_used() {
            return;
        }
        let done = self.on_device().and_then(|device| {
            let order = &mut *self.order.lock();
            device.fill_all(order, ranges, pattern, into.stream())?;
            self.others(device.ordinal).iter().try_for_each(|other| {
                let stream = other.own_stream;
                with_device(other.ordinal, || {
                    other.fill_all(order, ranges, pattern, stream)
                })
            })
        });
        if let Err(error) = done {
            session().fault(error);
        }
    }
}

impl OnDevice {
    fn new(ordinal: c_int, order: Arc<Mutex<Order>>) -> Result<Self, RecordError> {
        let tables = tables::allocate()?;
        let mut shadow = Shadow::default();
        let places = shadow.table()?;
        let mut context = Context {
            version: VERSION,
            // SAFETY: the places are plain data consisting of whole words.
            blocks: device_words(unsafe { words_of(&places) })?,
            block_mask: places.len() as u64 - 1,
            selection: device_selection()?,
            block_bits: Context::block_bits(session().cta_blocks()),
            ..tables
        };
        let additions = Additions::new(&mut context)?;
        additions.start()?;
        // SAFETY: the structure is plain data consisting of whole words.
        let address = device_words(unsafe { words_of(from_ref(&context)) })?;
        Ok(OnDevice {
            ordinal,
            event: Event::create()?,
            own_stream: Stream::create()?,
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
            slots: Slots::new(SLOT_BYTES, SLOTS, SLOTS)?,
            additions,
            rows: AtomicU64::new(0),
            drained: Mutex::new(Instant::now()),
        })
    }

    /// Writes the rows of the transfer table to the capture and clears the table. No launch may be running.
    fn drain(&self) -> Result<(), CudaError> {
        let (address, rows) = {
            let context = &self.shared.lock().context;
            (context.transfers, context.transfer_mask as usize + 1)
        };
        let (mut used, mut part) = (Vec::new(), vec![Transfer::default(); rows.min(BATCH_ROWS)]);
        let bytes = size_of_val(part.as_slice());
        for start in (0..rows).step_by(part.len()) {
            // SAFETY: the rows are plain data consisting of whole words, and nothing else refers to the slice.
            let place = unsafe { std::slice::from_raw_parts_mut(part.as_mut_ptr().cast(), bytes) };
            memory::read(place, address + (start * size_of::<Transfer>()) as u64)?;
            used.extend(part.iter().filter(|row| row.source != 0));
        }
        tables::clear(address, rows * size_of::<Transfer>())?;
        self.rows.store(0, Ordering::Relaxed);
        *self.drained.lock() = Instant::now();
        for rows in used.chunks(BATCH_ROWS) {
            session().parts(sums::parts(rows));
        }
        self.additions.take();
        session().parts(self.additions.rest());
        Ok(())
    }
}

impl Order {
    /// Makes later work in `stream` wait for the most recent work in any stream.
    fn begin(&self, device: c_int, stream: Stream) -> Result<(), CudaError> {
        match self.event {
            Some(event) if (self.device, self.stream) != (device, Some(stream)) => {
                (stream.wait_for(event)).check("order launches across streams")
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, device: &OnDevice, stream: Stream) -> Result<(), CudaError> {
        (self.device, self.stream) = (device.ordinal, Some(stream));
        self.event = Some(device.event);
        (device.event.record(stream)).check("order launches across streams")
    }

    fn wait(&self) -> Result<(), CudaError> {
        match self.event {
            Some(event) => event.synchronize().check("wait for a launch"),
            None => Ok(()),
        }
    }
}
