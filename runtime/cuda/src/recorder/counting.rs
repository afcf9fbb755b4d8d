//! Launches in a counting run. Device memory has a counter for each site; the counters are copied out after each
//! launch.

use super::drain::monitor::Results;
use super::drain::signals::{HAS_REST, wait_while};
use super::drain::slots::Slots;
use super::launch::Call;
use super::launch::graph_nodes::{Insertion, OwnNode, graph_bits};
use super::runtime::{runtime, session};
use super::selection::{device_selection, launch_bits};
use super::thesis::layout::{CONTEXT_VERSION, TraceContext, device_context};
use super::{RecordError, Recorder};
use crate::cuda::memory::{self, Pinned, device_words};
use crate::cuda::{Status, Stream};
use crate::model::graphs::NodeRecording;
use crate::model::modules::Kernel;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use superstep_runtime_core::ActiveLaunch;
use superstep_trace::{LaunchOutcome, ModuleTable, SiteId, StreamId};

/// Maximum number of launches per stream whose counts may be in flight.
const MAX_SLOTS: usize = 64;

#[derive(Default)]
pub struct Counting {
    counters: Mutex<HashMap<StreamId, Arc<Counters>>>,
    nodes: Mutex<Vec<&'static CountedNode>>,
}

pub struct Counters {
    /// The device address of the [`TraceContext`].
    pub context: u64,
    /// Number of modules whose sites are counted.
    modules: usize,
    /// Held while a launch is enqueued, since each launch must clear, use and read the counters before the next does.
    submit: Mutex<()>,
    counters: u64,
    sites: Arc<Vec<SiteId>>,
    slots: Arc<Slots>,
}

impl Counting {
    pub fn clear(&self) {
        self.counters.lock().clear();
        self.nodes.lock().clear();
    }

    /// Blocks until all counts of launched graphs have arrived. Returns `false` if there is no progress for `stall`.
    pub fn wait_for_graphs(&self, stall: Duration) -> bool {
        let nodes = self.nodes.lock().clone();
        let pending = |node: &&CountedNode| node.pending.lock().len() as u64;
        let left = || nodes.iter().map(pending).sum();
        wait_while(|| left() > 0, left, stall)
    }

    /// Returns the counters of a stream, for all modules registered so far.
    fn counters_of(&self, stream: StreamId) -> Result<Arc<Counters>, RecordError> {
        let registry = session().registry();
        let mut counters = self.counters.lock();
        match counters.get(&stream) {
            Some(current) if current.modules == registry.count() => Ok(current.clone()),
            _ => {
                let new = Arc::new(Counters::new(&registry.from(0))?);
                counters.insert(stream, new.clone());
                Ok(new)
            }
        }
    }
}

impl Recorder for Counting {
    fn launch(&self, call: &Call<'_>, kernel: &Kernel) -> Result<Status, RecordError> {
        let counters = self.counters_of(runtime().stream(call.stream))?;
        let stream = call.stream();
        let _submit = counters.submit.lock();
        let active = call.begin(kernel);
        let bits = launch_bits(active.recorded);
        let cleared = counters.clear(stream);
        let launch = || match cleared {
            Status::SUCCESS => call.launch_with(kernel, counters.context, bits),
            error => error,
        };
        let fetch = || counters.fetch(stream).map(Some);
        Ok(call.with_results(active, launch, fetch))
    }

    fn add_to_graph(
        &self,
        kernel: &Kernel,
        place: &mut dyn Insertion,
    ) -> Result<NodeRecording, RecordError> {
        const DOING: &str = "add a counted kernel to a CUDA graph";
        let counters = Counters::new(&session().registry().from(0))?;
        let slot = Pinned::new(counters.memory().1.max(8))?;
        let counted: &CountedNode = Box::leak(Box::new(CountedNode {
            counters,
            slot,
            pending: Mutex::new(VecDeque::new()),
        }));
        let memory = counted.counters.memory();
        // SAFETY: the counters are never freed.
        unsafe { place.add(OwnNode::Clear(memory)) }.ok()?;
        place.kernel(Some([counted.counters.context, graph_bits(kernel)]))?;
        let data = std::ptr::from_ref(counted).cast_mut().cast();
        for node in [
            OwnNode::Copy(slot, memory),
            OwnNode::Call(counts_arrived, data),
        ] {
            // SAFETY: the counters, the slot and the counted node are never freed.
            unsafe { place.add(node) }.check(DOING)?;
        }
        self.nodes.lock().push(counted);
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
        let slot_bytes = (sites.len() * 8).max(8);
        Ok(Counters {
            context,
            modules: modules.len(),
            submit: Mutex::new(()),
            counters,
            sites: Arc::new(sites),
            slots: Slots::new(slot_bytes, MAX_SLOTS, 0)?,
        })
    }

    /// Returns the counters' address and size in bytes on the device.
    fn memory(&self) -> (u64, usize) {
        (self.counters, self.sites.len() * 8)
    }

    fn clear(&self, stream: Stream) -> Status {
        let (address, bytes) = self.memory();
        // SAFETY: the counters are `bytes` bytes long and are never freed.
        unsafe { memory::fill(address, 0, bytes, stream) }
    }

    /// Copies the counters out, in stream order. Blocks while too many launches are in flight.
    fn fetch(&self, stream: Stream) -> Result<Results, RecordError> {
        let done = (runtime().events.take()).ok_or(RecordError::NoEventForResults)?;
        let slot = self.slots.take()?;
        let (from, bytes) = self.memory();
        // SAFETY: the slot is as large as the counters and no other launch uses it; both are never freed.
        let copied = unsafe { memory::copy_to_host(slot.memory().at(), from, bytes, stream) };
        copied.check("copy the site counters")?;
        done.record(stream);
        let sites = self.sites.clone();
        let write = move |active: &ActiveLaunch| record_counts(&sites, slot.memory(), active);
        Ok(Results {
            done,
            write: Box::new(write),
        })
    }
}

/// Records the counts of a launch and returns their sum.
fn record_counts(sites: &[SiteId], slot: Pinned, active: &ActiveLaunch) -> u64 {
    // SAFETY: the slot has one counter per site, and the copy into it has completed.
    let counts = unsafe { std::slice::from_raw_parts(slot.at::<u64>(), sites.len()) };
    let by_site = sites.iter().copied().zip(counts.iter().copied());
    session().site_counts(active, by_site);
    counts.iter().sum()
}

/// A kernel with the counting probe in a CUDA graph. The graph has a pointer to this value, which is therefore never
/// freed.
pub struct CountedNode {
    pub counters: Counters,
    slot: Pinned,
    /// Launches that have not ended yet, oldest first.
    pending: Mutex<VecDeque<ActiveLaunch>>,
}

impl CountedNode {
    pub fn announce(&self, active: ActiveLaunch) {
        HAS_REST.store(true, Ordering::Release);
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

/// Host function that runs after a counted kernel in a CUDA graph, once its counts are on the host.
unsafe extern "C" fn counts_arrived(data: *mut c_void) {
    // SAFETY: `Counting::add_to_graph` created the node, which is never freed.
    let node = unsafe { &*data.cast::<CountedNode>() };
    let mut pending = node.pending.lock();
    let Some(active) = pending.front().cloned() else {
        return;
    };
    let accesses = record_counts(&node.counters.sites, node.slot, &active);
    session().launch_end(&active, accesses, 0, LaunchOutcome::Completed);
    pending.pop_front();
}
