//! Names that a program's runner adds to the capture, because they are unknown at run time.

use super::Capture;
use crate::SourcePlace;
use crate::error::{Result, TraceError};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

pub(super) const NAMES_FILE: &str = "names.json";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// The program as the user knows it; absent if it is the path in the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    pub arrays: Vec<ArrayName>,
}

/// The name of the variable to which a call site assigns its allocations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayName {
    pub place: SourcePlace,
    pub name: String,
}

impl Capture {
    /// Writes names to the capture's folder, replacing older ones, and applies them.
    pub fn add_names(&mut self, names: Names) -> Result<()> {
        let path = self.folder.join(NAMES_FILE);
        let json = serde_json::to_vec(&names).map_err(|source| TraceError::Encode { source })?;
        std::fs::write(&path, json).map_err(TraceError::io("write", &path))?;
        self.apply_names(names);
        Ok(())
    }

    /// Reads the names in the capture's folder, if there are any.
    pub(super) fn read_names(&mut self) -> Result<()> {
        let path = self.folder.join(NAMES_FILE);
        let text = match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            text => text.map_err(TraceError::unreadable(&path))?,
        };
        match serde_json::from_slice(&text) {
            Ok(names) => self.apply_names(names),
            Err(error) => self.damage(format!("failed to read {}: {error}", path.display())),
        }
        Ok(())
    }

    fn apply_names(&mut self, names: Names) {
        if let Some(program) = names.program {
            self.header.program = program;
        }
        let arrays = names.arrays.into_iter();
        let arrays: HashMap<_, _> = arrays.map(|array| (array.place, array.name)).collect();
        for allocation in self.timeline.allocations.iter_mut() {
            let place = allocation.place.as_ref();
            allocation.variable = place.and_then(|place| arrays.get(place)).cloned();
        }
    }
}
