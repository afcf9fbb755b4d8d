//! The rules for sizes and their inputs.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::Text;
use super::model::{Input, InputSource, Size};
use super::rules::{Checked, https, identifier, inside, sha256};
use super::schema::{GenerateEntry, InputEntry, SizeEntry};
use super::spans::{Entries, Located};
use crate::inputs::Generator;

pub(super) fn sizes(
    text: Text<'_>,
    entries: Located<Entries<SizeEntry>>,
) -> Checked<BTreeMap<String, Size>> {
    text.require(
        !entries.value.0.is_empty(),
        entries.referenced,
        "no size",
        "give at least one, for example tiny",
    )?;
    let mut sizes = BTreeMap::new();
    for (name, entry) in entries.value.0 {
        let name = identifier(text, &name, "size")?;
        let mut inputs: Vec<Input> = Vec::new();
        for input_entry in &entry.inputs {
            let input = input(text, input_entry)?;
            let shown = input.name.display();
            text.require(
                !inputs.iter().any(|other| other.name == input.name),
                input_entry.value.name.referenced,
                format!("size `{name}` has two inputs called `{shown}`"),
                "give each its own name in the working folder",
            )?;
            inputs.push(input);
        }
        let args = entry.args;
        sizes.insert(name, Size { args, inputs });
    }
    Ok(sizes)
}

fn input(text: Text<'_>, entry: &Located<InputEntry>) -> Checked<Input> {
    let (place, entry) = (entry.referenced, &entry.value);
    let name = inside(text, &entry.name, Path::new(""), "the working folder")?;
    let file = |path: &Option<Located<String>>, root: &str| {
        let path = path.as_ref();
        path.map(|path| inside(text, path, Path::new(""), root))
            .transpose()
    };
    if let Some(url) = &entry.url {
        https(text, url)?;
    }
    let generate = entry.generate.as_ref();
    let sources = InputSource {
        shipped: file(&entry.shipped, "the suite")?,
        data: file(&entry.data, "the data folder")?,
        url: entry.url.as_ref().map(|url| url.value.clone()),
        generate: generate.map(generator),
    };
    let fetched = sources.data.is_some() || sources.url.is_some();
    let shown = name.display();
    let (shipped, others) = (
        sources.shipped.is_some(),
        fetched || sources.generate.is_some(),
    );
    text.require(
        !shipped || !others,
        place,
        format!("input `{shown}` is shipped but has another source too"),
        "keep only `shipped`, or remove it",
    )?;
    text.require(
        shipped || others,
        place,
        format!("input `{shown}` has no source"),
        "give it `shipped`, `data`, `url` or `generate`",
    )?;
    text.require(
        !fetched || entry.sha256.is_some(),
        place,
        format!("input `{shown}` has no `sha256`"),
        "give the hash of the file: what is fetched is never used unchecked",
    )?;
    if let (Some(hash), false, None) = (&entry.sha256, fetched, &sources.shipped) {
        return Err(text.error(
            hash.referenced,
            format!("input `{shown}` is only generated, yet has a `sha256`"),
            "remove it: the seed fixes a generated file",
        ));
    }
    let hash = entry.sha256.as_ref();
    Ok(Input {
        name,
        sources,
        sha256: hash.map(|hash| sha256(text, hash)).transpose()?,
    })
}

fn generator(entry: &GenerateEntry) -> Generator {
    let parameters = entry.parameters.0.iter();
    Generator {
        name: entry.generator.clone(),
        seed: entry.seed,
        parameters: parameters
            .map(|(name, value)| (name.value.clone(), *value))
            .collect(),
    }
}
