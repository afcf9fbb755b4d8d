//! Where an input will come from.

use std::path::PathBuf;

use super::InputError;
use super::generator::Generator;
use crate::fetch::{DataFile, FetchError, FetchOptions, Origin, data_file};
use crate::manifest::{Input, Suite};

#[derive(Debug, Clone)]
pub enum InputPlace<'a> {
    File(PathBuf, Origin),
    /// Generated.
    Generator(&'a Generator),
}

/// Finds an input without putting it anywhere: the shipped file; data mirror, cache, URL, the suite's archive (a wrong hash is an
/// error); the generator.
pub fn find_input<'a>(
    suite: &Suite,
    input: &'a Input,
    options: &FetchOptions,
) -> Result<InputPlace<'a>, InputError> {
    let sources = &input.sources;
    if let Some(shipped) = &sources.shipped {
        return Ok(InputPlace::File(
            suite.folder.join(shipped),
            Origin::Shipped,
        ));
    }
    if let Some(sha256) = &input.sha256 {
        let wanted = DataFile {
            data: sources.data.as_deref(),
            url: sources.url.as_deref(),
            archive: suite.data.as_ref(),
            sha256,
        };
        match data_file(wanted, options) {
            Ok(Some((path, origin))) => return Ok(InputPlace::File(path, origin)),
            Ok(None) => {}
            // A generated file is better than no run when only the network is missing.
            Err(FetchError::Unreachable { .. }) if sources.generate.is_some() => {}
            Err(source) => return Err(InputError::fetch(input)(source)),
        }
    }
    if let Some(generator) = &sources.generate {
        return Ok(InputPlace::Generator(generator));
    }
    Err(InputError::Missing {
        name: input.name.clone(),
        wanted: match (&sources.data, &sources.url) {
            (Some(data), _) => data.display().to_string(),
            (None, Some(url)) => url.clone(),
            (None, None) => input.name.display().to_string(),
        },
    })
}
