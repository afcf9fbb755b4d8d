//! All operations on the addresses that communicate, in superstep order.

use serde::{Serialize, Serializer};

use super::{Accesses, Record, Step};

/// Structure 3: the operations on each address, serialised without a copy.
pub struct Operations<'a> {
    steps: &'a [Step],
    groups: Vec<&'a [Record]>,
}

impl<'a> Operations<'a> {
    pub fn new(accesses: &'a Accesses, addresses: &[u64]) -> Self {
        let groups = accesses
            .records
            .chunk_by(|a, b| a.address == b.address)
            .filter(|group| addresses.binary_search(&group[0].address).is_ok())
            .collect();
        Self {
            steps: &accesses.steps,
            groups,
        }
    }
}

impl Serialize for Operations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let steps = self.steps;
        let groups = self.groups.iter();
        serializer.collect_map(groups.map(|records| (records[0].address, List { steps, records })))
    }
}

struct List<'a> {
    steps: &'a [Step],
    records: &'a [Record],
}

impl Serialize for List<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.records.iter().map(|record| {
            let step = &self.steps[record.launch as usize];
            Operation {
                kernel: &step.kernel,
                it: step.superstep,
                cta: record.cta,
                addr: record.address,
                smid: record.sm,
                size: record.width_bytes,
                r#type: record.op.code(),
            }
        }))
    }
}

#[derive(Serialize)]
struct Operation<'a> {
    kernel: &'a str,
    it: u32,
    cta: u32,
    addr: u64,
    smid: u16,
    size: u32,
    r#type: u8,
}
