//! All operations on the addresses through which CTAs communicate, in superstep order.

use serde::{Serialize, Serializer};

use super::{Accesses, Record, Step};

/// Structure 3: the operations on each address. Only one address's operations are copied at a time.
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
        serializer.collect_map(self.groups.iter().map(|records| {
            let operations = records.iter().map(|record| Operation {
                kernel: &steps[record.launch as usize].kernel,
                it: steps[record.launch as usize].superstep,
                cta: record.cta,
                addr: record.address,
                smid: record.sm,
                size: record.width_bytes,
                r#type: record.op.code(),
            });
            (records[0].address, operations.collect::<Vec<_>>())
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
