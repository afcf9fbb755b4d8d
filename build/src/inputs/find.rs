//! Where an input will come from.

use std::path::PathBuf;

use super::InputError;
use crate::failure::Failure;
use crate::fetch::{DataFile, FetchError, FetchOptions, Found, data_file};
use crate::manifest::{Input, Suite};

/// Where an input will come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputPlace {
    /// A file of the suite's own folder.
    Shipped,
    /// A file with the right hash, outside the suite.
    File(PathBuf),
    /// A generator makes a stand-in.
    Generator,
}

/// Finds an input without putting it anywhere.
pub fn find_input(
    suite: &Suite,
    input: &Input,
    options: &FetchOptions,
) -> Result<InputPlace, Failure> {
    let sources = &input.sources;
    if sources.shipped.is_some() {
        return Ok(InputPlace::Shipped);
    }
    let generated = sources.generate.is_some();
    if let Some(sha256) = &input.sha256 {
        let archive = suite.data.as_ref();
        let wanted = DataFile {
            data: sources.data.as_deref(),
            url: sources.url.as_deref(),
            archive,
            sha256,
        };
        let found = match data_file(wanted, options) {
            Err(FetchError::Unreachable { .. }) if generated => None,
            Err(source) => {
                return Err(InputError::Fetch {
                    name: input.name.clone(),
                    source: Box::new(source),
                }
                .into());
            }
            Ok(found) => found,
        };
        if let Some(Found::Mirror(path) | Found::Cached(path) | Found::Downloaded(path)) = found {
            return Ok(InputPlace::File(path));
        }
    }
    if generated {
        return Ok(InputPlace::Generator);
    }
    let wanted = sources
        .data
        .as_ref()
        .map(|data| data.display().to_string())
        .or_else(|| sources.url.clone());
    let wanted = wanted.unwrap_or_else(|| input.name.display().to_string());
    Err(InputError::Missing {
        name: input.name.clone(),
        wanted,
    }
    .into())
}
