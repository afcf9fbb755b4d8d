//! Rules for a probe's YAML file that its schema cannot express.

use std::path::Path;

use superstep_trace::probe::{At, Field, FieldsIn, OncePer, Pass, Per, Point, TableSpec, When};
use superstep_trace::{ProbeSpec, SelectionError};

use super::load::Probe;
use super::schema::{PointEntry, ProbeFile};
use crate::manifest::Result;
use crate::manifest::error::{Located, Text};

const SCHEMA: u32 = 1;
/// Maximum number of words in all tables together: 8 MiB, with one copy per SM.
const MOST_TABLE_WORDS: u64 = 1 << 20;

pub(super) fn probe(text: Text<'_>, file: ProbeFile) -> Result<Probe> {
    header(text, &file)?;
    let folder = text.path.parent().unwrap_or(Path::new("."));
    let beside = |name: &Located<String>, what: &str| {
        let path = folder.join(&name.value);
        text.require(
            path.is_file(),
            name.referenced,
            format!("{} is not a file", path.display()),
            format!("give the {what} relative to this YAML file"),
        )?;
        Ok(path)
    };
    let fields = fields(text, &file)?;
    let tables = tables(text, &file)?;
    for parameter in &file.parameters {
        identifier(text, parameter, "parameter")?;
    }
    let parameters = file.parameters.iter();
    let parameters = parameters.map(|one| one.value.clone()).collect();
    let per = file.per.value;
    text.require(
        per != Per::Thread || fields.windows(2).all(|pair| pair[0].word == pair[1].word),
        file.per.referenced,
        "fields that are kept per thread have different types",
        "give all of them the same `type`",
    )?;
    let pattern = |kernel: &Located<String>| {
        let parsed = kernel.value.parse();
        parsed.map_err(|error: SelectionError| {
            let what = format!("the kernel name {:?} is not a valid pattern", error.value);
            text.error(kernel.referenced, what, format!("write {}", error.expected))
        })
    };
    let kernels = file.kernels.iter().map(pattern).collect::<Result<_, _>>()?;
    let fields_in = file.fields_in.as_ref();
    let mut spec = ProbeSpec {
        name: file.name.value.clone(),
        title: file.title.clone(),
        kernels,
        per,
        fields,
        fields_in: fields_in.map_or_else(FieldsIn::default, |place| place.value),
        tables,
        parameters,
        points: Vec::new(),
    };
    file_name(text, &file.name)?;
    for entry in &file.points.value {
        let point = point(text, entry, &spec)?;
        spec.points.push(point);
    }
    if let Some(place) = fields_in.filter(|place| place.value == FieldsIn::Memory) {
        text.require(
            (spec.points.iter()).all(|point| point.once_per == OncePer::Warp),
            place.referenced,
            "a handler that runs once per thread keeps its fields in registers",
            "write `once-per: warp` for every point, or leave out `fields-in: memory`",
        )?;
    }
    let host = file.host.as_ref();
    Ok(Probe {
        file: text.path.to_owned(),
        handler: beside(&file.handler, "handler")?,
        host: host.map(|name| beside(name, "host code")).transpose()?,
        spec,
    })
}

fn header(text: Text<'_>, file: &ProbeFile) -> Result<()> {
    text.require(
        file.schema.value == SCHEMA,
        file.schema.referenced,
        format!("schema {} is not supported", file.schema.value),
        format!("write `schema: {SCHEMA}`"),
    )?;
    text.require(
        !file.points.value.is_empty(),
        file.points.referenced,
        "the probe has no points",
        "list at least one, such as {at: [block], call: on_block, pass: [fields]}",
    )
}

fn fields(text: Text<'_>, file: &ProbeFile) -> Result<Vec<Field>> {
    let mut fields: Vec<Field> = Vec::new();
    for entry in &file.fields {
        identifier(text, &entry.name, "field")?;
        once(text, &entry.name, fields.iter().map(|field| &field.name))?;
        fields.push(Field {
            name: entry.name.value.clone(),
            word: entry.word,
            combine: entry.combine,
        });
    }
    Ok(fields)
}

fn tables(text: Text<'_>, file: &ProbeFile) -> Result<Vec<TableSpec>> {
    let mut tables: Vec<TableSpec> = Vec::new();
    let mut words = 0u64;
    for entry in &file.tables {
        identifier(text, &entry.name, "table")?;
        once(text, &entry.name, tables.iter().map(|table| &table.name))?;
        words = words.saturating_add(entry.words.value);
        text.require(
            entry.words.value > 0 && words <= MOST_TABLE_WORDS,
            entry.words.referenced,
            format!("the tables have {words} words"),
            format!(
                "expected at least 1 for each table, and at most {MOST_TABLE_WORDS} for all of them"
            ),
        )?;
        tables.push(TableSpec {
            name: entry.name.value.clone(),
            words: entry.words.value,
        });
    }
    Ok(tables)
}

fn point(text: Text<'_>, entry: &PointEntry, spec: &ProbeSpec) -> Result<Point> {
    identifier(text, &entry.call, "function")?;
    let at = &entry.at.value;
    let place = entry.at.referenced;
    let Some(first) = at.first() else {
        return Err(text.error(
            place,
            "the point has no place",
            "name at least one, such as [block]",
        ));
    };
    let family = |at: &At| (at.is_memory(), at.has_value(), at.is_class());
    let is_family = |other| {
        family(other) == family(first) && (at.len() == 1 || family(other) != (false, false, false))
    };
    text.require(
        at.iter().all(is_family),
        place,
        "these places do not offer a handler the same arguments",
        "name one of them, or several of load, store and atomic, or several classes such as integer and float, and make a separate point for each of the others",
    )?;
    text.require(
        entry.when != When::After || first.has_value() || first.is_memory(),
        place,
        "only memory accesses and instructions with a value can have a handler after them",
        "leave out `when: after`",
    )?;
    text.require(
        !first.has_value() || entry.when != When::Before,
        place,
        "a value does not exist before its instruction",
        "write `when: after`",
    )?;
    let per_warp = entry.once_per == OncePer::Warp;
    let replaces = entry.replaces.as_ref().filter(|flag| flag.value);
    if let Some(flag) = replaces {
        text.require(
            first.has_value() && !per_warp,
            flag.referenced,
            "there is no value to replace here",
            "use it at [value] or [predicate], once per thread",
        )?;
    }
    text.require(
        !per_warp || spec.per != Per::Thread,
        place,
        "a handler that runs once per warp has no per-thread fields",
        "write `per: launch` or `per: cta`, or leave out `once-per: warp`",
    )?;
    let pass = (entry.pass.iter()).map(|word| argument(text, word, entry, *first, spec));
    Ok(Point {
        at: at.clone(),
        when: entry.when,
        once_per: entry.once_per,
        call: entry.call.value.clone(),
        pass: pass.collect::<Result<_, _>>()?,
        replaces: replaces.is_some(),
    })
}

fn argument(
    text: Text<'_>,
    word: &Located<String>,
    entry: &PointEntry,
    at: At,
    spec: &ProbeSpec,
) -> Result<Pass> {
    let Some(pass) = Pass::from_word(&word.value) else {
        let words: Vec<&str> = Pass::WORDS.iter().map(|(name, _)| *name).collect();
        return Err(text.error(
            word.referenced,
            format!("`{}` is not an argument", word.value),
            format!("expected one of {}, table:NAME", words.join(", ")),
        ));
    };
    let warp = entry.once_per == OncePer::Warp;
    let missing = match &pass {
        Pass::Table(name) if !spec.tables.iter().any(|table| table.name == *name) => {
            Some("the probe has no table with that name; list it under `tables`")
        }
        Pass::Fields if spec.fields.is_empty() => {
            Some("the probe has no fields; list them under `fields`")
        }
        Pass::Parameters if spec.parameters.is_empty() => {
            Some("the probe has no parameters; list them under `parameters`")
        }
        Pass::Address | Pass::Value | Pass::Taken if warp => {
            Some("each lane has its own; use it once per thread")
        }
        Pass::ActiveMask | Pass::TakenMask | Pass::UniqueLines | Pass::AndBits | Pass::OrBits
            if !warp =>
        {
            Some("it belongs to a warp; write `once-per: warp`")
        }
        Pass::Address | Pass::UniqueLines if !at.is_memory() => {
            Some("only load, store and atomic have it")
        }
        Pass::Operation if !at.is_memory() && !at.is_class() => {
            Some("only load, store, atomic and instruction classes have it")
        }
        Pass::Value | Pass::AndBits | Pass::OrBits if !at.has_value() => {
            Some("only value and predicate have it")
        }
        Pass::Width if !at.has_value() && !at.is_memory() && !at.is_class() => {
            Some("only memory accesses, values and instruction classes have it")
        }
        Pass::Taken | Pass::TakenMask if at != At::Branch => Some("only branch has it"),
        _ => None,
    };
    match missing {
        None => Ok(pass),
        Some(hint) => Err(text.error(
            word.referenced,
            format!("`{}` cannot be passed here", word.value),
            hint,
        )),
    }
}

fn identifier(text: Text<'_>, name: &Located<String>, what: &str) -> Result<()> {
    let word = &name.value;
    let good = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && !word.starts_with("superstep");
    text.require(
        good,
        name.referenced,
        format!("`{word}` is not a valid name for a {what}"),
        "expected a letter, then letters, digits and underscores; names that begin with superstep are reserved",
    )
}

fn file_name(text: Text<'_>, name: &Located<String>) -> Result<()> {
    let word = &name.value;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    text.require(
        !word.is_empty() && word.chars().all(plain),
        name.referenced,
        format!("`{word}` is not a valid name for a probe"),
        "expected letters, digits, hyphens and underscores",
    )
}

fn once<'a>(
    text: Text<'_>,
    name: &Located<String>,
    mut known: impl Iterator<Item = &'a String>,
) -> Result<()> {
    text.require(
        known.all(|other| *other != name.value),
        name.referenced,
        format!("`{}` appears twice", name.value),
        "give each its own name",
    )
}
