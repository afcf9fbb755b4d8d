//! Finds the source of an input.

use std::path::PathBuf;

use super::generator::Generator;
use super::materialise::not_provided;
use crate::bail;
use crate::failure::Failure;
use crate::fetch::{FetchError, FetchOptions, Origin, data_file};
use crate::manifest::{Input, Suite};

#[derive(Debug, Clone)]
pub enum InputPlace {
    File(PathBuf, Origin),
    Generator(Generator),
}

/// Finds an input without copying it. Tries the shipped file, then the data mirror, cache, URL and archive (where a
/// wrong hash is an error), then the generator.
pub fn find_input(
    suite: &Suite,
    input: &Input,
    options: &FetchOptions,
) -> Result<InputPlace, Failure> {
    if let Some(shipped) = &input.shipped {
        let path = suite.folder.join(shipped);
        return Ok(InputPlace::File(path, Origin::Shipped));
    }
    if let Some(sha256) = &input.sha256 {
        match data_file(input, sha256, suite.data.as_ref(), options) {
            Ok(Some((path, origin))) => return Ok(InputPlace::File(path, origin)),
            Ok(None) => {}
            // A generated file is better than no run if only the network is unavailable.
            Err(FetchError::Unreachable { .. }) if input.generate.is_some() => {}
            Err(source) => return Err(not_provided(input)(source)),
        }
    }
    if let Some(generate) = &input.generate {
        return Ok(InputPlace::Generator(generate.clone()));
    }
    let name = input.name.display();
    let wanted = match (&input.data, &input.url) {
        (Some(data), _) => data.display().to_string(),
        (None, Some(url)) => url.clone(),
        (None, None) => name.to_string(),
    };
    bail!(
        Fetch,
        "failed to provide input {name}: {wanted} is neither in a data mirror nor in the cache, and the manifest names no generator; \
         pass the folder that contains it with --data-mirror"
    )
}
