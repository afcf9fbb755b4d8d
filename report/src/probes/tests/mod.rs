//! Tests of the studies, with hand-written probe results.

mod blocks;
mod branches;
mod clocks;
mod memory;
mod outcomes;
mod overheads;
mod page;
mod totals;
mod values;

use crate::probes::Program;
use serde_json::{Value, json};
use std::sync::Arc;
use superstep_table::{Format, Table};
use superstep_trace::probe::{LaunchResult, ProbeWriter};
use superstep_trace::{ModuleTable, ProbeResults};

/// A program `toy` with one module. Its probe has fields (name and combine operation) at sites.
struct Toy {
    folder: tempfile::TempDir,
    writer: ProbeWriter,
    /// Table of the module. It is written with the first launch, which determines the length of the probe's table.
    module: Value,
    per: &'static str,
    /// Total number of fields, over all sites.
    row: usize,
    slots: u32,
    launches: u32,
}

/// Returns a site in the kernel `first` in `toy.cu`; `more` contains additional fields.
fn site(at: &str, block: u32, width: u32, more: Value) -> Value {
    let mut site = json!({
        "point": 0, "at": at, "function": "_Z5firstPf", "file": "toy.cu", "line": 10 + block, "column": 1,
        "what": "", "block": block, "operation": 0, "width": width, "successors": [], "lines": null,
    });
    if let (Some(site), Value::Object(more)) = (site.as_object_mut(), more) {
        site.extend(more);
    }
    site
}

impl Toy {
    fn new(per: &'static str, fields: &[(&str, &str)], sites: &[Value]) -> Self {
        let fields: Vec<Value> = (fields.iter())
            .map(|(name, combine)| json!({"name": name, "type": "u64", "combine": combine}))
            .collect();
        let module = json!({
            "schema_version": 1, "module": 0, "name": "toy.cu", "backend": "cpu", "probe": "defined", "sites": [],
            "kernels": [{"name": "_Z5firstPf", "display_name": "first", "parameters": 1}],
            "defined": {
                "spec": {
                    "name": "p", "title": "", "kernels": [], "per": per, "fields": fields, "fields_in": "registers",
                    "tables": [], "parameters": [], "points": [],
                },
                "sites": sites,
                "kernels": {},
            },
        });
        let folder = tempfile::tempdir().unwrap();
        Self {
            writer: ProbeWriter::create(folder.path()).unwrap(),
            folder,
            module,
            per,
            row: sites.len() * fields.len(),
            slots: sites.len() as u32,
            launches: 0,
        }
    }

    /// Adds a launch with values by unit, slot and field; for `per: thread`, totals of all threads by slot and field.
    fn launch(self, fields: &[u64]) -> Self {
        self.launch_with_tables(fields, &[])
    }

    fn launch_with_tables(mut self, fields: &[u64], tables: &[u64]) -> Self {
        if self.launches == 0 {
            let table = json!([{"name": "t", "words": tables.len()}]);
            self.module["defined"]["spec"]["tables"] = table;
            let module: ModuleTable = serde_json::from_value(self.module.take()).unwrap();
            self.writer.modules(&[Arc::new(module)]).unwrap();
        }
        let units = match self.per {
            "cta" => fields.len() / self.row,
            _ => 1,
        };
        // With `per: thread`, each field has four values; the studies use only the first.
        let words = fields.iter().flat_map(|&value| match self.per {
            "thread" => vec![value, 0, 0, 0],
            _ => vec![value],
        });
        let fields = self.writer.values(words).unwrap();
        let tables = self.writer.values(tables.iter().copied()).unwrap();
        let launch = LaunchResult {
            stream: 0,
            launch: self.launches,
            kernel: "_Z5firstPf".into(),
            module: 0,
            grid: [1; 3],
            block: [1; 3],
            first_slot: 0,
            slots: self.slots,
            units: units as u64,
            elapsed_ns: 0,
            fields,
            threads: None,
            thread_slots: None,
            tables,
        };
        self.writer.launch(&launch).unwrap();
        self.launches += 1;
        self
    }

    fn study<T>(&self, study: impl Fn(&[Program<'_>]) -> T) -> T {
        self.study_as("toy", study)
    }

    /// Returns the study of the program, which is renamed to `name`.
    fn study_as<T>(&self, name: &str, study: impl Fn(&[Program<'_>]) -> T) -> T {
        let results = ProbeResults::open(self.folder.path()).unwrap();
        study(&[Program {
            name,
            results: &results,
        }])
    }
}

/// Returns a table's rows as one JSON value, in the order of its columns.
fn rows(table: &Table) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.json");
    table.write(Format::Json, &path).unwrap();
    let json: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let rows = json["rows"].as_array().unwrap().iter();
    let cells = |row: &Value| {
        table
            .columns()
            .map(|column| row[column.name].clone())
            .collect()
    };
    Value::Array(rows.map(cells).collect())
}
