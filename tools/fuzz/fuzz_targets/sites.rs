//! Reads a module's site table with mutated values.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;
use superstep_fuzz::{Edit, edit};
use superstep_testing as testing;
use superstep_trace::{ModuleTable, Op, SiteId, SiteTable, display_name};

#[derive(Arbitrary, Debug)]
enum Input {
    Edits(Vec<Edit>, Vec<Edit>),
    Name(String),
    Bytes(Vec<u8>),
}

fuzz_target!(|input: Input| {
    static BASE: OnceLock<serde_json::Value> = OnceLock::new();
    let base = BASE.get_or_init(|| {
        let sites = (0..)
            .zip(Op::ALL)
            .map(|(local, op)| testing::site(local, op));
        let module = testing::module(
            "k.cu",
            sites.collect(),
            &[("_Z1kPf", "k"), ("_ZN1a1bIiEEvv", "a::b<int>")],
        );
        serde_json::from_str(&module.to_json()).expect("it was just written")
    });
    let tables: Vec<Vec<u8>> = match input {
        Input::Bytes(bytes) => vec![bytes],
        Input::Name(name) => {
            display_name(&name);
            return;
        }
        Input::Edits(first, second) => [first, second]
            .iter()
            .map(|edits| {
                let mut table = base.clone();
                edit(&mut table, edits);
                table.to_string().into_bytes()
            })
            .collect(),
    };
    let modules: Vec<ModuleTable> = tables
        .iter()
        .filter_map(|table| ModuleTable::from_json(table).ok())
        .collect();
    for module in &modules {
        let again = ModuleTable::from_json(module.to_json().as_bytes());
        assert_eq!(again.as_ref().ok(), Some(module));
    }
    let sites = SiteTable::new(&modules);
    for site in sites.iter() {
        assert_eq!(sites.get(site.id).map(|found| found.id), Some(site.id));
    }
    sites.get(SiteId(u32::MAX));
});
