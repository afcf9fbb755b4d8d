//! Launches in a counting run. Device memory has a counter for each site; the counters are copied out after each launch.

use super::drain::monitor::{Item, LaunchResult, wait_for_none};
use super::drain::signals;
use super::launch::graph_nodes::{Insertion, graph_bits};
use super::launch::{Call, record};
use super::runtime::{monitor, runtime, session};
use super::selection::{device_selection, launch_bits};
use super::thesis::layout::{CONTEXT_VERSION, TraceContext, device_context};
use super::{RecordError, Recorder};
use crate::cuda::memory::{self, Pinned, device_words};
use crate::cuda::{Event, Status, Stream};
use crate::model::graphs::{Graphs, NodeRecording};
use crate::model::modules::Kernel;
use parking_lot::{Condvar, Mutex};
use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use superstep_runtime_core::ActiveLaunch;
use superstep_trace::{LaunchOutcome, ModuleTable, SiteId, StreamId};

/// Maximum number of launches per stream whose counts may be in flight.
const MOST_SLOTS: usize = 64;

#[derive(Default)]
pub struct Counting {
    counters: Mutex<HashMap<StreamId, Arc<Counters>>>,
}

pub struct Counters {
    /// The device address of the [`TraceContext`].
    pub context: u64,
    /// Number of modules whose sites are counted.
    modules: usize,
    /// Held while a launch is put into the stream, since one launch after another clears, uses and reads the counters.
    submit: Mutex<()>,
    counters: u64,
    sites: Arc<Vec<SiteId>>,
    slots: Arc<Slots>,
}

/// Page-locked memory for counts: the free slots, and how many exist.
#[derive(Default)]
struct Slots {
    state: Mutex<(Vec<Pinned>, usize)>,
    changed: Condvar,
}

struct Counted {
    done: Event,
    sites: Arc<Vec<SiteId>>,
    slot: Pinned,
    slots: Arc<Slots>,
}

impl Counting {
    pub fn clear(&self) {
        self.counters.lock().clear();
    }

    /// Returns the counters of a stream, for all modules registered so far.
    fn of_stream(&self, stream: StreamId) -> Result<Arc<Counters>, RecordError> {
        let registry = session().registry();
        let mut counters = self.counters.lock();
        match counters.get(&stream) {
            Some(known) if known.modules == registry.count() => Ok(known.clone()),
            _ => {
                let made = Arc::new(Counters::new(&registry.from(0))?);
                counters.insert(stream, made.clone());
                Ok(made)
            }
        }
    }
}

impl Recorder for Counting {
    fn launch(&self, call: &Call<'_>, kernel: &Kernel) -> Result<Status, RecordError> {
        let counters = self.of_stream(runtime().stream(call.stream))?;
        let stream = call.stream();
        let _submit = counters.submit.lock();
        let active = call.begin(kernel);
        let bits = launch_bits(active.recorded);
        let cleared = counters.clear(stream);
        let (status, mut queued) = call.surround(active, || {
            if cleared.is_success() {
                call.launch_with(kernel, counters.context, bits)
            } else {
                cleared
            }
        });
        if status.is_success() {
            match counters.fetch(stream, runtime().events.take()) {
                Ok(counted) => queued.result = Some(Box::new(counted)),
                Err(error) => session().fault(error),
            }
        }
        monitor().send(Item::Queued(queued));
        Ok(status)
    }

    fn add_to_graph(
        &self,
        kernel: &Kernel,
        place: &mut dyn Insertion,
    ) -> Result<NodeRecording, RecordError> {
        const DOING: &str = "add a counted kernel to a CUDA graph";
        let counters = Counters::new(&session().registry().from(0))?;
        let slot = counters.new_slot()?;
        let counted: &CountedNode = Box::leak(Box::new(CountedNode {
            counters,
            slot,
            pending: Mutex::new(VecDeque::new()),
        }));
        let memory = counted.counters.memory();
        place.clear(memory).ok()?;
        place.kernel(Some([counted.counters.context, graph_bits(kernel)]))?;
        place.copy(slot, memory).check(DOING)?;
        let data = std::ptr::from_ref(counted).cast_mut().cast::<c_void>();
        // SAFETY: the node is never freed.
        let queued = unsafe { place.host_function(counts_are_there, data) };
        queued.check(DOING)?;
        Ok(NodeRecording::Counted(counted))
    }
}

impl Counters {
    fn new(modules: &[Arc<ModuleTable>]) -> Result<Self, RecordError> {
        let mut sites = Vec::new();
        let rows = modules.iter().map(|module| module.module as usize + 1);
        let mut first_counter = vec![0usize; rows.max().unwrap_or(0)];
        for module in modules {
            first_counter[module.module as usize] = sites.len();
            // The device uses a site's local number as an index, so gaps in the numbers need counters as well.
            let locals = module.sites.iter().map(|site| site.id.local() + 1);
            let locals = 0..locals.max().unwrap_or(0);
            sites.extend(locals.map(|local| SiteId(module.module << 16 | local)));
        }
        let counters = device_words(&vec![0; sites.len().max(1)])?;
        let table = first_counter
            .iter()
            .map(|&first| counters + first as u64 * 8);
        let site_counts = device_words(&table.collect::<Vec<_>>())?;
        let context = device_context(&TraceContext {
            version: CONTEXT_VERSION,
            site_counts,
            selection: device_selection()?,
            ..TraceContext::default()
        })?;
        Ok(Counters {
            context,
            modules: modules.len(),
            submit: Mutex::new(()),
            counters,
            sites: Arc::new(sites),
            slots: Arc::default(),
        })
    }

    /// Returns the counters' address and size in bytes on the device.
    fn memory(&self) -> (u64, usize) {
        (self.counters, self.sites.len() * 8)
    }

    fn new_slot(&self) -> Result<Pinned, RecordError> {
        Ok(Pinned::new(self.memory().1.max(8))?)
    }

    fn clear(&self, stream: Stream) -> Status {
        let (address, bytes) = self.memory();
        // SAFETY: the counters are `bytes` bytes long and are never freed.
        unsafe { memory::fill(address, 0, bytes, stream) }
    }

    /// Copies the counters out, in stream order, and records `done`. Blocks while too many launches are in flight.
    fn fetch(&self, stream: Stream, done: Option<Event>) -> Result<Counted, RecordError> {
        let done = done.ok_or(RecordError::NoEventForCounters)?;
        let slot = match self.slots.take() {
            Some(slot) => slot,
            None => self.new_slot()?,
        };
        let counted = Counted {
            done,
            sites: self.sites.clone(),
            slot,
            slots: self.slots.clone(),
        };
        let (from, bytes) = self.memory();
        // SAFETY: the slot is as large as the counters and no other launch uses it; both are never freed.
        let copied = unsafe { memory::copy_to_host(slot.at(), from, bytes, stream) };
        match copied.check("copy the site counters") {
            Ok(()) => {
                record(Some(done), stream);
                Ok(counted)
            }
            Err(error) => {
                Box::new(counted).give_back();
                Err(error.into())
            }
        }
    }
}

impl Slots {
    /// Returns a free slot, or `None` if the caller may make another one.
    fn take(&self) -> Option<Pinned> {
        let mut state = self.state.lock();
        loop {
            if let Some(slot) = state.0.pop() {
                return Some(slot);
            }
            if state.1 < MOST_SLOTS {
                state.1 += 1;
                return None;
            }
            self.changed.wait(&mut state);
        }
    }
}

impl LaunchResult for Counted {
    fn done(&self) -> Option<Event> {
        Some(self.done)
    }

    fn keep(&self, active: &ActiveLaunch) -> u64 {
        note(&self.sites, self.slot, active)
    }

    fn give_back(self: Box<Self>) {
        self.slots.state.lock().0.push(self.slot);
        self.slots.changed.notify_one();
    }
}

/// Notes the counts of a launch; returns their sum.
fn note(sites: &[SiteId], slot: Pinned, active: &ActiveLaunch) -> u64 {
    // SAFETY: the slot holds one counter per site, and the copy into it has ended.
    let counts = unsafe { std::slice::from_raw_parts(slot.at::<u64>(), sites.len()) };
    let by_site = sites.iter().copied().zip(counts.iter().copied());
    session().site_counts(active, by_site);
    counts.iter().sum()
}

/// A kernel in a CUDA graph with the counting probe. The graph holds a pointer to this, so it is never freed.
pub struct CountedNode {
    pub counters: Counters,
    slot: Pinned,
    /// Launches that have not ended yet, oldest first.
    pending: Mutex<VecDeque<ActiveLaunch>>,
}

impl CountedNode {
    pub fn announce(&self, active: ActiveLaunch) {
        signals::HAS_REST.store(true, Ordering::Release);
        self.pending.lock().push_back(active);
    }

    pub fn take_back(&self, status: Status) {
        let mut pending = self.pending.lock();
        if let Some(active) = pending.pop_back() {
            let outcome = LaunchOutcome::Failed(status.to_string());
            session().launch_end(&active, 0, 0, outcome);
        }
    }
}

/// Host function that runs after a counted kernel in a CUDA graph, when its counts are on the host.
unsafe extern "C" fn counts_are_there(data: *mut c_void) {
    // SAFETY: `Counting::add_to_graph` made the node, which is never freed.
    let node = unsafe { &*data.cast::<CountedNode>() };
    let mut pending = node.pending.lock();
    let Some(active) = pending.front().cloned() else {
        return;
    };
    let accesses = note(&node.counters.sites, node.slot, &active);
    session().launch_end(&active, accesses, 0, LaunchOutcome::Completed);
    pending.pop_front();
}

/// Blocks until all counts of launched graphs have arrived. Returns `false` if there is no progress for `stall`.
pub fn wait_for_graphs(graphs: &Graphs, stall: Duration) -> bool {
    let counted = graphs.counted();
    let pending = |node: &&CountedNode| node.pending.lock().len() as u64;
    wait_for_none(|| counted.iter().map(pending).sum(), stall)
}
