//! Which loads read what which stores wrote, address by address.

use rustc_hash::{FxHashMap, FxHashSet};

use super::structures::{ByKernel, ByPart, LoadStore, SizeCount, Transfers, Volumes};
use super::{Accesses, Record, Step};

/// Volumes, transfers and the addresses that communicate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// Structure 1.
    pub volumes: Volumes,
    /// Structure 2.
    pub transfers: Transfers,
    /// Addresses that some transfer is about, ascending.
    pub addresses: Vec<u64>,
}

/// Volumes by launch and CTA or SM.
type Sums = FxHashMap<(u32, u32), LoadStore>;

/// Source launch and CTA, receiving launch and CTA.
type Pair = (u32, u32, u32, u32);

#[derive(Default)]
struct State {
    data_by_cta: Sums,
    data_by_sm: Sums,
    communication_by_cta: Sums,
    communication_by_sm: Sums,
    transfers: FxHashMap<Pair, SizeCount>,
    addresses: Vec<u64>,
}

impl Matched {
    #[must_use]
    pub fn new(accesses: &Accesses) -> Self {
        let mut state = State::default();
        for record in &accesses.records {
            add(
                &mut state.data_by_cta,
                (record.launch, record.cta),
                record,
                record.op.reads(),
                record.op.writes(),
            );
            add(
                &mut state.data_by_sm,
                (record.launch, u32::from(record.sm)),
                record,
                record.op.reads(),
                record.op.writes(),
            );
        }
        for at_address in accesses.records.chunk_by(|a, b| a.address == b.address) {
            state.address(at_address, &accesses.steps);
        }
        let steps = &accesses.steps;
        Self {
            volumes: Volumes {
                kernel_communication: by_kernel(&state.communication_by_cta, steps),
                kernel_data: by_kernel(&state.data_by_cta, steps),
                cta_communication: by_part(&state.communication_by_cta, steps),
                cta_data: by_part(&state.data_by_cta, steps),
                sm_communication: by_part(&state.communication_by_sm, steps),
                sm_data: by_part(&state.data_by_sm, steps),
            },
            transfers: nested(&state.transfers, steps),
            addresses: state.addresses,
        }
    }
}

impl State {
    /// All accesses of one address, by launch.
    fn address(&mut self, records: &[Record], steps: &[Step]) {
        let mut stores: &[Record] = &[];
        let mut read_from: FxHashSet<u32> = FxHashSet::default();
        let mut communicates = false;
        let entity = |record: &Record| (steps[record.launch as usize].kernel_number, record.cta);
        for launch in records.chunk_by(|a, b| a.launch == b.launch) {
            let mut counted: FxHashSet<(u32, u32)> = FxHashSet::default();
            for load in launch.iter().filter(|record| record.op.reads()) {
                let mut from_another = false;
                for store in stores
                    .iter()
                    .filter(|store| store.op.writes() && entity(store) != entity(load))
                {
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
                    self.communicated(load, true, false);
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

    /// Nobody can read these stores any more: those of the CTAs in `read_from` have communicated.
    fn stored(&mut self, stores: &[Record], read_from: &mut FxHashSet<u32>) {
        if read_from.is_empty() {
            return;
        }
        for store in stores
            .iter()
            .filter(|store| store.op.writes() && read_from.contains(&store.cta))
        {
            self.communicated(store, false, true);
        }
        read_from.clear();
    }

    fn communicated(&mut self, record: &Record, load: bool, store: bool) {
        add(
            &mut self.communication_by_cta,
            (record.launch, record.cta),
            record,
            load,
            store,
        );
        add(
            &mut self.communication_by_sm,
            (record.launch, u32::from(record.sm)),
            record,
            load,
            store,
        );
    }
}

fn add(sums: &mut Sums, key: (u32, u32), record: &Record, load: bool, store: bool) {
    let bytes = u64::from(record.width_bytes);
    let sum = sums.entry(key).or_default();
    sum.load += if load { bytes } else { 0 };
    sum.store += if store { bytes } else { 0 };
}

fn by_kernel(sums: &Sums, steps: &[Step]) -> ByKernel {
    let mut table = ByKernel::new();
    for (&(launch, _), bytes) in sums {
        let step = &steps[launch as usize];
        let sum = table
            .entry(step.kernel.clone())
            .or_default()
            .entry(step.superstep)
            .or_default();
        sum.load += bytes.load;
        sum.store += bytes.store;
    }
    table
}

fn by_part(sums: &Sums, steps: &[Step]) -> ByPart {
    let mut table = ByPart::new();
    for (&(launch, part), bytes) in sums {
        let step = &steps[launch as usize];
        let parts = table
            .entry(step.kernel.clone())
            .or_default()
            .entry(step.superstep)
            .or_default();
        let sum = parts.entry(part).or_default();
        sum.load += bytes.load;
        sum.store += bytes.store;
    }
    table
}

fn nested(transfers: &FxHashMap<Pair, SizeCount>, steps: &[Step]) -> Transfers {
    let mut table = Transfers::new();
    for (&(source, source_cta, receiver, receiver_cta), amount) in transfers {
        let (from, to) = (&steps[source as usize], &steps[receiver as usize]);
        let receivers = table
            .entry(from.kernel.clone())
            .or_default()
            .entry(source_cta)
            .or_default()
            .entry(from.superstep)
            .or_default();
        let sum = receivers
            .entry(to.kernel.clone())
            .or_default()
            .entry(receiver_cta)
            .or_default()
            .entry(to.superstep)
            .or_default();
        sum.size += amount.size;
        sum.count += amount.count;
    }
    table
}
