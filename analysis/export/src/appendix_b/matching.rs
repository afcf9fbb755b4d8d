//! Matches each load, by address, with the stores whose values it reads.

use rustc_hash::{FxHashMap, FxHashSet};

use super::structures::{ByKernel, ByPart, LoadStore, SizeCount, Transfers, Volumes};
use super::{Accesses, Record, Step};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    pub volumes: Volumes,
    pub transfers: Transfers,
    /// Communicating addresses, in ascending order.
    pub addresses: Vec<u64>,
}

#[derive(Default)]
struct Sums {
    by_cta: FxHashMap<(u32, u32), LoadStore>,
    by_sm: FxHashMap<(u32, u32), LoadStore>,
}

/// Source launch and CTA, receiving launch and CTA.
type Pair = (u32, u32, u32, u32);

#[derive(Default)]
struct State {
    data: Sums,
    communication: Sums,
    transfers: FxHashMap<Pair, SizeCount>,
    addresses: Vec<u64>,
}

impl Matched {
    pub fn new(accesses: &Accesses) -> Self {
        let (mut state, steps) = (State::default(), &accesses.steps);
        for record in &accesses.records {
            (state.data).add(record, record.op.reads(), record.op.writes());
        }
        for at_address in accesses.records.chunk_by(|a, b| a.address == b.address) {
            state.address(at_address, steps);
        }
        let cta_communication = by_part(&state.communication.by_cta, steps);
        let cta_data = by_part(&state.data.by_cta, steps);
        Self {
            volumes: Volumes {
                kernel_communication: by_kernel(&cta_communication),
                kernel_data: by_kernel(&cta_data),
                cta_communication,
                cta_data,
                sm_communication: by_part(&state.communication.by_sm, steps),
                sm_data: by_part(&state.data.by_sm, steps),
            },
            transfers: nested(&state.transfers, steps),
            addresses: state.addresses,
        }
    }
}

impl Sums {
    fn add(&mut self, record: &Record, load: bool, store: bool) {
        let bytes = u64::from(record.width_bytes);
        let bytes = LoadStore {
            load: if load { bytes } else { 0 },
            store: if store { bytes } else { 0 },
        };
        let by_cta = self.by_cta.entry((record.launch, record.cta));
        *by_cta.or_default() += bytes;
        let by_sm = self.by_sm.entry((record.launch, u32::from(record.sm)));
        *by_sm.or_default() += bytes;
    }
}

impl State {
    fn address(&mut self, records: &[Record], steps: &[Step]) {
        let mut stores: &[Record] = &[];
        let mut read_from: FxHashSet<u32> = FxHashSet::default();
        let mut communicates = false;
        let entity = |record: &Record| (steps[record.launch as usize].kernel_number, record.cta);
        for launch in records.chunk_by(|a, b| a.launch == b.launch) {
            let mut counted: FxHashSet<(u32, u32)> = FxHashSet::default();
            for load in launch.iter().filter(|record| record.op.reads()) {
                let mut from_another = false;
                let others = stores.iter().filter(|store| entity(store) != entity(load));
                for store in others.filter(|store| store.op.writes()) {
                    from_another = true;
                    read_from.insert(store.cta);
                    if counted.insert((store.cta, load.cta)) {
                        let pair = (store.launch, store.cta, load.launch, load.cta);
                        let sum = self.transfers.entry(pair).or_default();
                        sum.size += u64::from(load.width_bytes);
                        sum.count += 1;
                    }
                }
                if from_another {
                    communicates = true;
                    self.communication.add(load, true, false);
                }
            }
            if launch.iter().any(|record| record.op.writes()) {
                self.stored(stores, &mut read_from);
                stores = launch;
            }
        }
        self.stored(stores, &mut read_from);
        if communicates {
            self.addresses.push(records[0].address);
        }
    }

    /// Counts the stores by the CTAs in `read_from` as communicated, once `stores` can no longer be read.
    fn stored(&mut self, stores: &[Record], read_from: &mut FxHashSet<u32>) {
        let read = stores.iter().filter(|store| read_from.contains(&store.cta));
        for store in read.filter(|store| store.op.writes()) {
            self.communication.add(store, false, true);
        }
        read_from.clear();
    }
}

fn by_kernel(parts: &ByPart) -> ByKernel {
    let mut table = ByKernel::new();
    for (kernel, supersteps) in parts {
        let sums = table.entry(kernel.clone()).or_default();
        for (&superstep, parts) in supersteps {
            parts
                .values()
                .for_each(|&bytes| *sums.entry(superstep).or_default() += bytes);
        }
    }
    table
}

fn by_part(sums: &FxHashMap<(u32, u32), LoadStore>, steps: &[Step]) -> ByPart {
    let mut table = ByPart::new();
    for (&(launch, part), &bytes) in sums {
        let step = &steps[launch as usize];
        let supersteps = table.entry(step.kernel.clone()).or_default();
        let parts = supersteps.entry(step.superstep).or_default();
        *parts.entry(part).or_default() += bytes;
    }
    table
}

fn nested(transfers: &FxHashMap<Pair, SizeCount>, steps: &[Step]) -> Transfers {
    let mut table = Transfers::new();
    for (&(source, source_cta, receiver, receiver_cta), amount) in transfers {
        let (from, to) = (&steps[source as usize], &steps[receiver as usize]);
        let sources = table.entry(from.kernel.clone()).or_default();
        let supersteps = sources.entry(source_cta).or_default();
        let receivers = supersteps.entry(from.superstep).or_default();
        let ctas = receivers.entry(to.kernel.clone()).or_default();
        let supersteps = ctas.entry(receiver_cta).or_default();
        *supersteps.entry(to.superstep).or_default() += *amount;
    }
    table
}
