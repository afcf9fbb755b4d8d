//! Variables that host code never names, read from the table that the instrumenter adds to each module.

use crate::cuda::{CudaError, Stub, driver, memory};
use std::ffi::CStr;

const DEVICE_HEAP_PREFIX: &str = "device malloc heap of ";

#[derive(Debug, PartialEq, Eq)]
pub struct Global {
    pub name: String,
    /// First byte on the device.
    pub address: u64,
    pub bytes: u64,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub variables: Vec<Global>,
    pub allocating: Vec<String>,
}

/// Reads the table of a kernel's module, which must be loaded. Returns an empty table if the module has none.
pub fn of_kernel(stub: Stub) -> Result<Table, CudaError> {
    let module = driver::module_of(stub)?;
    let find = |name: &CStr| match driver::global(module, name)? {
        Some((address, bytes)) => {
            let mut content = vec![0; bytes];
            memory::read(&mut content, address).map(|()| Some(content))
        }
        None => Ok(None),
    };
    let table = find(c"__superstep_globals")?;
    let names = find(c"__superstep_global_names")?;
    let pair = table.zip(names);
    Ok(pair.map_or_else(Table::default, |(table, names)| parse(&table, &names)))
}

/// Parses rows that consist of an address and a size (64 bits each), and the rows' zero-terminated names.
fn parse(table: &[u8], names: &[u8]) -> Table {
    let (words, _) = table.as_chunks::<8>();
    let (rows, _) = words.as_chunks::<2>();
    let names = names.split(|&byte| byte == 0);
    let (variables, marks) = (rows.iter().zip(names))
        .map(|(&[address, bytes], name)| Global {
            name: String::from_utf8_lossy(name).into_owned(),
            address: u64::from_le_bytes(address),
            bytes: u64::from_le_bytes(bytes),
        })
        .partition::<Vec<Global>, _>(|global| global.bytes > 0);
    let allocating = marks
        .iter()
        .filter_map(|mark| mark.name.strip_prefix(DEVICE_HEAP_PREFIX));
    Table {
        variables,
        allocating: allocating.map(str::to_owned).collect(),
    }
}

#[cfg(test)]
mod tests;
