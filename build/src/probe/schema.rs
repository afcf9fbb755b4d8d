//! The schema of a probe's YAML file: one strict struct per mapping.

use serde::Deserialize;
use superstep_trace::probe::{At, Combine, FieldsIn, OncePer, Per, When, Word};

use crate::manifest::error::Located;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ProbeFile {
    pub schema: Located<u32>,
    pub name: Located<String>,
    pub title: String,
    pub handler: Located<String>,
    #[serde(default)]
    pub kernels: Vec<Located<String>>,
    pub per: Located<Per>,
    #[serde(default)]
    pub fields: Vec<FieldEntry>,
    pub fields_in: Option<Located<FieldsIn>>,
    #[serde(default)]
    pub tables: Vec<TableEntry>,
    #[serde(default)]
    pub parameters: Vec<Located<String>>,
    pub host: Option<Located<String>>,
    pub points: Located<Vec<PointEntry>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FieldEntry {
    pub name: Located<String>,
    #[serde(default, rename = "type")]
    pub word: Word,
    #[serde(default)]
    pub combine: Combine,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TableEntry {
    pub name: Located<String>,
    pub words: Located<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PointEntry {
    pub at: Located<Vec<At>>,
    #[serde(default)]
    pub when: When,
    #[serde(default)]
    pub once_per: OncePer,
    pub call: Located<String>,
    #[serde(default)]
    pub pass: Vec<Located<String>>,
    #[serde(default)]
    pub replaces: Option<Located<bool>>,
}
