//! Records of device code, which are written into host objects during compilation and read from executables.
//!
//! A record is stored in the section [`SECTION`], which is not loaded at run time. Linkers concatenate the sections
//! of their inputs, so a file has one record for each of its modules:
//!
//! ```text
//! magic (16 bytes) · length of the head (8 bytes, little endian) · head (JSON) · bitcode, unit by unit
//! ```

use std::fs;
use std::path::Path;

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection};
use serde::{Deserialize, Serialize};

use crate::compile::link::libraries::{Supplier, has_section, libraries};
use crate::compile::{BuildError, Result};
use crate::fetch::hash_bytes;

pub(crate) const SECTION: &str = ".superstep.module";

const MAGIC: &[u8; 16] = b"superstep-module";
const PREFIX: usize = MAGIC.len() + 8;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) name: String,
    /// Working folder of the compiler, to which file names are relative. Empty for suite programs, which do not depend
    /// on it.
    pub(crate) folder: String,
    /// Whether the code must be linked with other device code.
    pub(crate) relocatable: bool,
    pub(crate) units: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeviceCodeRecord {
    pub(crate) head: Head,
    pub(crate) bitcode: Vec<u8>,
}

impl DeviceCodeRecord {
    /// Merges the records of linked units.
    pub(crate) fn linked<'a>(
        folder: String,
        records: impl IntoIterator<Item = &'a DeviceCodeRecord>,
    ) -> Self {
        let records: Vec<&DeviceCodeRecord> = records.into_iter().collect();
        let names = records.iter().map(|record| record.head.name.as_str());
        let units = records.iter().flat_map(|record| &record.head.units);
        let bitcode = records.iter().flat_map(|record| &record.bitcode);
        Self {
            head: Head {
                name: names.collect::<Vec<_>>().join(" + "),
                folder,
                relocatable: false,
                units: units.copied().collect(),
            },
            bitcode: bitcode.copied().collect(),
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let head = serde_json::to_vec(&self.head).unwrap_or_default();
        let mut bytes = MAGIC.to_vec();
        bytes.extend((head.len() as u64).to_le_bytes());
        bytes.extend(head);
        bytes.extend(&self.bitcode);
        bytes
    }

    pub(crate) fn hash(&self) -> String {
        hash_bytes(&self.encode()).to_string()
    }

    /// Returns the symbol by which a host object refers to relocatable device code. The device link's object defines
    /// it, so that linkers extract that object from an archive, and report the symbol if the device link is missing.
    pub(crate) fn symbol(&self) -> String {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric();
        let name = self.head.name.replace(|letter| !is_plain(letter), "_");
        format!("superstep_device_link_of_{name}_{}", &self.hash()[..12])
    }

    pub(crate) fn units(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.bitcode.as_slice();
        self.head.units.iter().map(move |&bytes| {
            let (unit, remainder) = rest.split_at(bytes);
            rest = remainder;
            unit
        })
    }
}

/// Decodes the records of a section; `None` if it contains anything else.
fn decode(mut bytes: &[u8]) -> Option<Vec<DeviceCodeRecord>> {
    let mut records = Vec::new();
    loop {
        // Linkers pad the sections that they concatenate.
        let padding = bytes.iter().take_while(|&&byte| byte == 0).count();
        bytes = &bytes[padding..];
        if bytes.is_empty() {
            return Some(records);
        }
        let (prefix, rest) = bytes.split_at_checked(PREFIX)?;
        let length = u64::from_le_bytes(prefix.strip_prefix(MAGIC)?.try_into().ok()?);
        let (head, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        let head: Head = serde_json::from_slice(head).ok()?;
        let length = (head.units.iter()).try_fold(0usize, |sum, &unit| sum.checked_add(unit))?;
        let (bitcode, rest) = rest.split_at_checked(length)?;
        records.push(DeviceCodeRecord {
            head,
            bitcode: bitcode.to_vec(),
        });
        bytes = rest;
    }
}

/// Reads the records of an object, an archive, a shared library or an executable; files of other kinds have none.
pub(crate) fn read(path: &Path) -> Result<Vec<DeviceCodeRecord>> {
    let bytes = fs::read(path).map_err(BuildError::io("read", path))?;
    let damaged = || {
        let why = format!("its section {SECTION} is damaged; build it again");
        BuildError::unsupported(path.to_string_lossy(), why)
    };
    let read_object = |bytes: &[u8]| -> Option<Vec<DeviceCodeRecord>> {
        let Ok(file) = object::File::parse(bytes) else {
            return Some(Vec::new());
        };
        match file.section_by_name(SECTION) {
            Some(section) => decode(section.data().ok()?),
            None => Some(Vec::new()),
        }
    };
    let Ok(archive) = ArchiveFile::parse(bytes.as_slice()) else {
        return read_object(&bytes).ok_or_else(damaged);
    };
    let mut records = Vec::new();
    for member in archive.members() {
        let data = member.and_then(|member| member.data(bytes.as_slice()));
        records.extend(data.ok().and_then(read_object).ok_or_else(damaged)?);
    }
    Ok(records)
}

/// Adds the records of an executable or a shared library, and of the program's own libraries that it needs, without
/// duplicates.
pub(crate) fn read_program(executable: &Path, records: &mut Vec<DeviceCodeRecord>) -> Result<()> {
    let mut files = vec![executable.to_owned()];
    for library in libraries(executable)? {
        match (library.supplier(), library.path) {
            (Supplier::Program, Some(path)) => files.push(path),
            // A plugin, which has no interpreter, can need libraries that the program has already loaded.
            (Supplier::Program, None) if has_section(executable, ".interp")? => {
                let why = format!(
                    "the loader cannot find its shared library {}; add the library's folder to LD_LIBRARY_PATH",
                    library.name
                );
                return Err(BuildError::unsupported(executable.to_string_lossy(), why));
            }
            _ => {}
        }
    }
    for file in files {
        for record in read(&file)? {
            if !record.head.relocatable && !records.contains(&record) {
                records.push(record);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
