//! A probe's YAML file, and the rules that its types cannot express.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use superstep_trace::probe::{At, Field, FieldsIn, OncePer, Pass, Per, Point, TableSpec, When};
use superstep_trace::{ProbeSpec, SelectionError};

use super::load::Probe;
use crate::manifest::validate::{At as _, Valid, broken, each, require};

const SCHEMA: u32 = 1;
/// Maximum total number of words in a probe's tables: 8 MiB for each SM's copy.
const MAX_TABLE_WORDS: u64 = 1 << 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Definition {
    schema: u32,
    name: String,
    title: String,
    handler: PathBuf,
    host: Option<PathBuf>,
    #[serde(default)]
    kernels: Vec<String>,
    per: Per,
    #[serde(default)]
    fields: Vec<Field>,
    #[serde(default)]
    fields_in: FieldsIn,
    #[serde(default)]
    tables: Vec<TableSpec>,
    #[serde(default)]
    parameters: Vec<String>,
    points: Vec<Point>,
}

impl Definition {
    /// Returns the probe if the definition, read from `file`, is valid.
    pub(super) fn checked(mut self, file: &Path) -> Valid<Probe> {
        let problem = format!("schema {} is not supported", self.schema);
        let hint = format!("write `schema: {SCHEMA}`");
        require(self.schema == SCHEMA, problem, hint).at("schema")?;
        self.check_names()?;
        self.check_data()?;
        let hint = "list at least one, such as {at: [block], call: on_block, pass: [fields]}";
        require(!self.points.is_empty(), "the probe has no points", hint).at("points")?;
        let mut kernels = Vec::new();
        each(&mut self.kernels, "kernels", |kernel, _| {
            let pattern = kernel.parse().or_else(|error: SelectionError| {
                let problem = format!("the kernel name {kernel:?} is not a valid pattern");
                broken(problem, format!("write {}", error.expected))
            })?;
            kernels.push(pattern);
            Ok(())
        })?;
        let mut spec = ProbeSpec {
            name: self.name,
            title: self.title,
            kernels,
            per: self.per,
            fields: self.fields,
            fields_in: self.fields_in,
            tables: self.tables,
            parameters: self.parameters,
            points: Vec::new(),
        };
        each(&mut self.points, "points", |point, _| check(point, &spec))?;
        spec.points = self.points;
        require(
            spec.fields_in != FieldsIn::Memory
                || spec
                    .points
                    .iter()
                    .all(|point| point.once_per == OncePer::Warp),
            "a handler that runs once per thread keeps its fields in registers",
            "write `once-per: warp` for every point, or leave out `fields-in: memory`",
        )
        .at("fields-in")?;
        let sibling = |name: &PathBuf, what: &str| {
            let path = file.with_file_name(name);
            let problem = format!("{} is not a file", path.display());
            let hint = format!("give the path of the {what} relative to this YAML file");
            require(path.is_file(), problem, hint).map(|()| path)
        };
        let host = self.host.as_ref().map(|name| sibling(name, "host code"));
        Ok(Probe {
            handler: sibling(&self.handler, "handler").at("handler")?,
            host: host.transpose().at("host")?,
            file: file.to_owned(),
            spec,
        })
    }

    fn check_names(&mut self) -> Valid {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        require(
            !self.name.is_empty() && self.name.chars().all(is_plain),
            format!("`{}` is not a valid name for a probe", self.name),
            "expected letters, digits, hyphens and underscores",
        )
        .at("name")?;
        each(&mut self.parameters, "parameters", |name, _| {
            identifier(name, "parameter")
        })
    }

    fn check_data(&mut self) -> Valid {
        each(&mut self.fields, "fields", |field, before| {
            let others = before.iter().map(|other| &other.name);
            unique(&field.name, "field", others).at("name")
        })?;
        let mut words = 0u64;
        each(&mut self.tables, "tables", |table, before| {
            let others = before.iter().map(|other| &other.name);
            unique(&table.name, "table", others).at("name")?;
            words = words.saturating_add(table.words);
            require(
                table.words > 0 && words <= MAX_TABLE_WORDS,
                format!("the tables have {words} words"),
                format!(
                    "expected at least 1 for each table, and at most {MAX_TABLE_WORDS} in total"
                ),
            )
            .at("words")
        })?;
        let mut pairs = self.fields.windows(2);
        require(
            self.per != Per::Thread || pairs.all(|pair| pair[0].word == pair[1].word),
            "per-thread fields have different types",
            "give all of them the same `type`",
        )
        .at("per")
    }
}

fn check(point: &mut Point, spec: &ProbeSpec) -> Valid {
    identifier(&point.call, "function").at("call")?;
    let Some(&first) = point.at.first() else {
        let hint = "name at least one, such as [block]";
        return broken("the point names no place", hint).at("at");
    };
    let per_warp = point.once_per == OncePer::Warp;
    let family = |at: &At| (at.is_memory(), at.has_value(), at.is_class());
    let is_single = point.at.len() == 1;
    let is_family = |other| {
        family(other) == family(&first) && (is_single || family(other) != (false, false, false))
    };
    let rules = [
        (
            point.at.iter().all(is_family),
            "these places do not offer a handler the same arguments",
            "name one place, or a combination of load, store and atomic, or of classes such as integer and float, and write separate points for the others",
        ),
        (
            point.when != When::After || first.has_value() || first.is_memory(),
            "only memory accesses and instructions with a value can have a handler after them",
            "leave out `when: after`",
        ),
        (
            !first.has_value() || point.when != When::Before,
            "a value does not exist before its instruction",
            "write `when: after`",
        ),
        (
            !per_warp || spec.per != Per::Thread,
            "a handler that runs once per warp has no per-thread fields",
            "write `per: launch` or `per: cta`, or leave out `once-per: warp`",
        ),
    ];
    for (condition, problem, hint) in rules {
        require(condition, problem, hint).at("at")?;
    }
    require(
        !point.replaces || first.has_value() && !per_warp,
        "there is no value to replace here",
        "use `replaces` at [value] or [predicate], once per thread",
    )
    .at("replaces")?;
    each(&mut point.pass, "pass", |pass, _| {
        let missing = missing(pass, first, per_warp, spec);
        let problem = format!("`{pass}` cannot be passed here");
        require(missing.is_none(), problem, missing.unwrap_or_default())
    })
}

/// Returns why an argument cannot be passed at a point, and how to fix that.
fn missing(pass: &Pass, at: At, per_warp: bool, spec: &ProbeSpec) -> Option<&'static str> {
    match pass {
        Pass::Table(name) if !spec.tables.iter().any(|table| table.name == *name) => {
            Some("the probe has no table with that name; list it under `tables`")
        }
        Pass::Fields if spec.fields.is_empty() => {
            Some("the probe has no fields; list them under `fields`")
        }
        Pass::Parameters if spec.parameters.is_empty() => {
            Some("the probe has no parameters; list them under `parameters`")
        }
        Pass::Address | Pass::Value | Pass::Taken if per_warp => {
            Some("each lane has its own; use it once per thread")
        }
        Pass::ActiveMask | Pass::TakenMask | Pass::UniqueLines | Pass::AndBits | Pass::OrBits
            if !per_warp =>
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
    }
}

fn identifier(word: &str, what: &str) -> Valid {
    let is_valid = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && !word.starts_with("superstep");
    require(
        is_valid,
        format!("`{word}` is not a valid name for a {what}"),
        "expected a letter, then letters, digits and underscores; names that begin with superstep are reserved",
    )
}

fn unique<'a>(name: &str, what: &str, mut others: impl Iterator<Item = &'a String>) -> Valid {
    identifier(name, what)?;
    require(
        !others.any(|other| other == name),
        format!("`{name}` appears twice"),
        "give each one its own name",
    )
}
