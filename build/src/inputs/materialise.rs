//! Copies the inputs for a size into a working folder.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::generator::Generator;
use super::{InputPlace, find_input};
use crate::failure::{Failure, FailureKind};
use crate::fetch::{self, Cache, FetchError, FetchOptions, Origin, check_hash, hash_file};
use crate::manifest::{Input, Sha256, Size, Suite};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputUsed {
    pub name: PathBuf,
    pub sha256: Sha256,
    pub origin: Origin,
}

pub(super) fn not_provided(input: &Input) -> impl FnOnce(FetchError) -> Failure {
    let name = input.name.display();
    move |error| {
        let message = format!("failed to provide input {name}: {error}");
        Failure::new(FailureKind::Fetch, message)
    }
}

fn not_written(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    let path = path.display();
    move |error| {
        let advice = "check permissions and free space";
        let message = format!("failed to write input {path}: {error}; {advice}");
        Failure::new(FailureKind::Internal, message)
    }
}

pub fn materialise(
    suite: &Suite,
    size: &Size,
    options: &FetchOptions,
    run_dir: &Path,
) -> Result<Vec<InputUsed>, Failure> {
    let provide = |input: &Input| {
        let (path, sha256, origin) = match find_input(suite, input, options)? {
            InputPlace::File(path, origin) => (path, input.sha256, origin),
            InputPlace::Generator(generator) => {
                let generated_file = generated(&generator, &Cache::new(&options.cache_dir));
                let (sha256, path) = generated_file.map_err(not_provided(input))?;
                (path, Some(sha256), Origin::Generated)
            }
        };
        let target = run_dir.join(&input.name);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(not_written(parent))?;
        }
        let sha256 = copy(&path, &target, sha256.as_ref(), input)?;
        Ok(InputUsed {
            name: input.name.clone(),
            sha256,
            origin,
        })
    };
    size.inputs.iter().map(provide).collect()
}

fn generated(generator: &Generator, cache: &Cache) -> Result<(Sha256, PathBuf), FetchError> {
    // This file contains the hash of the generated content.
    let note = cache.folder("generated")?.join(generator.key());
    if let Some(hash) = fs::read_to_string(&note)
        .ok()
        .and_then(|hash| Sha256::parse(&hash))
        && let Some(path) = cache.get(&hash)?
    {
        return Ok((hash, path));
    }
    let generated_file = cache.put_with(None, &generator.name, |writer| generator.write(writer))?;
    // A process that reads a half-written note generates the file again.
    fs::write(&note, generated_file.0.to_string()).map_err(fetch::io("write", &note))?;
    Ok(generated_file)
}

fn copy(
    from: &Path,
    to: &Path,
    expected: Option<&Sha256>,
    input: &Input,
) -> Result<Sha256, Failure> {
    let open = File::open(from).map_err(fetch::io("open", from));
    let mut reader = open.map_err(not_provided(input))?;
    let mut writer = File::create(to).map_err(not_written(to))?;
    io::copy(&mut reader, &mut writer).map_err(not_written(to))?;
    let found = hash_file(to).map_err(not_provided(input))?;
    if let Err(wrong) = check_hash(&from.display().to_string(), &found, expected) {
        // Never leave a wrong file where a program might read it.
        fs::remove_file(to).map_err(not_written(to))?;
        return Err(not_provided(input)(wrong));
    }
    Ok(found)
}
