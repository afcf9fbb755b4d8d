//! All operations on the addresses that communicate, in superstep order.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::{Accesses, Record, Step};

/// Structure 3: address, then its operations. Written without a copy of them.
pub struct Operations<'a> {
    steps: &'a [Step],
    groups: Vec<&'a [Record]>,
}

impl<'a> Operations<'a> {
    /// Those on `addresses`, which are ascending.
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

impl<'a> Operations<'a> {
    /// All of them with their launches, by address and in superstep order.
    pub(super) fn each(&self) -> impl Iterator<Item = (&'a Step, &'a Record)> + '_ {
        let records = self.groups.iter().copied().flatten();
        records.map(|record| (&self.steps[record.launch as usize], record))
    }
}

impl Serialize for Operations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.groups.len()))?;
        for records in &self.groups {
            let list = List {
                steps: self.steps,
                records,
            };
            map.serialize_entry(&records[0].address, &list)?;
        }
        map.end()
    }
}

struct List<'a> {
    steps: &'a [Step],
    records: &'a [Record],
}

impl Serialize for List<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.records.len()))?;
        for record in self.records {
            list.serialize_element(&One {
                step: &self.steps[record.launch as usize],
                record,
            })?;
        }
        list.end()
    }
}

struct One<'a> {
    step: &'a Step,
    record: &'a Record,
}

impl Serialize for One<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = self.record;
        let mut map = serializer.serialize_map(Some(7))?;
        map.serialize_entry("kernel", &self.step.kernel)?;
        map.serialize_entry("it", &self.step.superstep)?;
        map.serialize_entry("cta", &record.cta)?;
        map.serialize_entry("addr", &record.address)?;
        map.serialize_entry("smid", &record.sm)?;
        map.serialize_entry("size", &record.width_bytes)?;
        map.serialize_entry("type", &record.op.code())?;
        map.end()
    }
}
