//! Where an input will come from.

use std::path::PathBuf;

use super::generator::Generator;
use super::{InputError, Origin};
use crate::fetch::{DataFile, FetchError, FetchOptions, Found, data_file};
use crate::manifest::{Input, Suite};

#[derive(Debug, Clone)]
pub enum InputPlace {
    /// A file of the suite's own folder.
    Shipped(PathBuf),
    /// A file with the right hash, outside the suite.
    File(PathBuf, Origin),
    /// A generator makes a stand-in.
    Generator(Generator),
}

/// Finds an input without putting it anywhere: the shipped file; data mirror, cache, URL, the suite's archive (a wrong hash is an
/// error); the generator.
pub fn find_input(
    suite: &Suite,
    input: &Input,
    options: &FetchOptions,
) -> Result<InputPlace, InputError> {
    if let Some(shipped) = &input.shipped {
        return Ok(InputPlace::Shipped(suite.folder.join(shipped)));
    }
    if let Some(sha256) = &input.sha256 {
        let wanted = DataFile {
            data: input.data.as_deref(),
            url: input.url.as_deref(),
            archive: suite.data.as_ref(),
            sha256,
        };
        match data_file(wanted, options) {
            Ok(Some(Found::Mirror(path))) => return Ok(InputPlace::File(path, Origin::Mirror)),
            Ok(Some(Found::Cached(path) | Found::Downloaded(path))) => {
                return Ok(InputPlace::File(path, Origin::Downloaded));
            }
            Ok(None) => {}
            // A stand-in is better than no run when only the network is missing.
            Err(FetchError::Unreachable { .. }) if input.generate.is_some() => {}
            Err(source) => return Err(InputError::fetch(input)(source)),
        }
    }
    if let Some(generate) = &input.generate {
        return Ok(InputPlace::Generator(generate.parse()?));
    }
    Err(InputError::Missing {
        name: input.name.clone(),
        wanted: match (&input.data, &input.url) {
            (Some(data), _) => data.display().to_string(),
            (None, Some(url)) => url.clone(),
            (None, None) => input.name.display().to_string(),
        },
    })
}
