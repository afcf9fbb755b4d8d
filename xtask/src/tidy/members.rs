//! Rules for the workspace's members: lints, who may depend on whom, and the table of dependencies in ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::Finding;

/// What every member's tests may use: they compile small programs where there are tools.
const FOR_TESTS: &str = "superstep-toolchain";

/// Libraries that only one room may see.
const CONFINED: [(&str, &str); 1] = [("inkwell", "superstep-instrument")];

const PAGE: &str = "ARCHITECTURE.md";
const CODE_MAP: &str = "## Code map";
const HEADING: &str = "## Dependencies";

/// Each member with the members it may depend on, as the code map says.
type Layers = BTreeMap<String, BTreeSet<String>>;

/// The rows of a table in one section of the page, cell by cell.
fn rows<'a>(page: &'a str, heading: &str) -> impl Iterator<Item = Vec<&'a str>> {
    let section = page.split_once(heading).map_or("", |(_, rest)| rest);
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('|').collect())
}

/// What stands in backticks in a cell; `opened`, where the row began with one.
fn names(cell: &str, opened: bool) -> impl Iterator<Item = &str> {
    let names = cell.split('`').skip(usize::from(!opened)).step_by(2);
    names.filter(|name| !name.trim().is_empty())
}

/// The layers that the code map names: a row has a folder, its package, what it is, and the folders it may depend on.
fn layers(page: &str) -> Layers {
    let rows: Vec<_> = (rows(page, CODE_MAP).filter(|row| row.len() > 3)).collect();
    let package = |row: &[&str]| names(row[1], false).next().map(str::to_owned);
    let of_folder = |folder: &str| {
        let folder = format!("{folder}/");
        let row = (rows.iter()).find(|row| names(row[0], true).next() == Some(&folder))?;
        package(row)
    };
    let layer = |row: &Vec<&str>| {
        let allowed = names(row[3], false).filter_map(of_folder).collect();
        Some((package(row)?, allowed))
    };
    rows.iter().filter_map(layer).collect()
}

/// A member as `cargo metadata` tells it.
#[derive(Debug)]
struct Member {
    name: String,
    /// Relative to the root.
    manifest: String,
    text: String,
    dependencies: BTreeSet<String>,
    /// Those that only its tests use.
    only_in_tests: BTreeSet<String>,
}

pub fn check(root: &Path, metadata: &Value) -> Result<Vec<Finding>> {
    let members = members(root, metadata)?;
    let page = std::fs::read_to_string(root.join(PAGE))
        .with_context(|| format!("failed to read {PAGE}"))?;
    let layers = layers(&page);
    let rules = |member| rules_of_a_member(member, &layers);
    let mut findings: Vec<Finding> = members.iter().flat_map(rules).collect();
    let workspace = std::fs::read_to_string(root.join("Cargo.toml"))?;
    if !workspace.contains("undocumented_unsafe_blocks = \"deny\"") {
        let what = "[workspace.lints.clippy] must deny undocumented_unsafe_blocks";
        findings.push(Finding::new("Cargo.toml", 0, what));
    }
    findings.extend(table_of_dependencies(&members, &page));
    Ok(findings)
}

fn members(root: &Path, metadata: &Value) -> Result<Vec<Member>> {
    let packages = metadata["packages"]
        .as_array()
        .context("cargo metadata lists no packages")?;
    packages
        .iter()
        .map(|package| {
            let text = |key: &str| {
                package[key]
                    .as_str()
                    .with_context(|| format!("a package without {key}"))
            };
            let manifest = Path::new(text("manifest_path")?);
            let (mut dependencies, mut only_in_tests) = (BTreeSet::new(), BTreeSet::new());
            for dependency in package["dependencies"].as_array().into_iter().flatten() {
                let name = dependency["name"]
                    .as_str()
                    .context("a dependency without a name")?;
                match dependency["kind"].as_str() {
                    Some("dev") => only_in_tests.insert(name.to_owned()),
                    _ => dependencies.insert(name.to_owned()),
                };
            }
            Ok(Member {
                name: text("name")?.to_owned(),
                manifest: manifest
                    .strip_prefix(root)
                    .unwrap_or(manifest)
                    .display()
                    .to_string(),
                text: std::fs::read_to_string(manifest)?,
                dependencies,
                only_in_tests,
            })
        })
        .collect()
}

fn rules_of_a_member(member: &Member, layers: &Layers) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = |what: String| findings.push(Finding::new(&member.manifest, 0, what));
    if !has_workspace_lints(&member.text) {
        found("needs `[lints]` with `workspace = true`".to_owned());
    }
    match layers.get(&member.name) {
        None => found(format!(
            "{} is not in the code map; add it to {PAGE}",
            member.name
        )),
        Some(allowed) => {
            let tests = member.only_in_tests.iter();
            let in_tests = tests.filter(|name| *name != FOR_TESTS);
            for name in member.dependencies.iter().chain(in_tests) {
                if layers.contains_key(name) && !allowed.contains(name) {
                    found(format!("{} must not depend on {name}", member.name));
                }
            }
        }
    }
    for (library, room) in CONFINED {
        let uses = member.dependencies.contains(library) || member.only_in_tests.contains(library);
        if uses && member.name != room {
            found(format!("only {room} may depend on {library}"));
        }
    }
    findings
}

fn has_workspace_lints(manifest: &str) -> bool {
    let mut lines = manifest
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != "[lints]")
        .skip(1);
    lines.find(|line| !line.is_empty() && !line.starts_with('#')) == Some("workspace = true")
}

/// The table names every library that a member uses directly, and no other.
fn table_of_dependencies(members: &[Member], page: &str) -> Vec<Finding> {
    let mut used: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let ours = |name: &str| members.iter().any(|member| member.name == name);
    for member in members {
        let all = member.dependencies.union(&member.only_in_tests);
        for name in all.filter(|name| !ours(name)) {
            used.entry(name).or_default().push(&member.name);
        }
    }
    let rows: Vec<_> = rows(page, HEADING).collect();
    let named: BTreeSet<&str> = rows.iter().flat_map(|row| names(row[0], true)).collect();
    let absent = used.iter().filter(|(name, _)| !named.contains(*name));
    let absent = absent.map(|(name, by)| {
        let by = by.join(", ");
        format!("the table of dependencies lacks `{name}` (used by {by})")
    });
    let stale = named.iter().filter(|name| !used.contains_key(*name));
    let stale =
        stale.map(|name| format!("the table of dependencies names `{name}`, which nothing uses"));
    absent
        .chain(stale)
        .map(|what| Finding::new(PAGE, 0, what))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE_TEXT: &str = include_str!("../../../ARCHITECTURE.md");

    #[test]
    fn the_code_map_is_read() {
        let layers = layers(PAGE_TEXT);
        assert_eq!(layers.len(), 16);
        assert!(layers["superstep-trace"].is_empty() && layers["superstep-bench"].len() == 5);
        let cpu: Vec<_> = layers["superstep-cudart-cpu"].iter().collect();
        assert_eq!(cpu, ["superstep-runtime-core", "superstep-trace"]);
    }

    fn member(name: &str, dependencies: &[&str]) -> Member {
        Member {
            name: name.into(),
            manifest: "x/Cargo.toml".into(),
            text: "[lints]\nworkspace = true\n".into(),
            dependencies: dependencies.iter().map(|name| name.to_string()).collect(),
            only_in_tests: BTreeSet::new(),
        }
    }

    fn broken(name: &str, dependencies: &[&str]) -> usize {
        rules_of_a_member(&member(name, dependencies), &layers(PAGE_TEXT)).len()
    }

    #[test]
    fn a_dependency_against_the_layers_is_found() {
        assert_eq!(broken("superstep-analysis", &["superstep-trace", "csv"]), 0);
        assert_eq!(broken("superstep-trace", &["superstep-analysis"]), 1);
        assert_eq!(broken("superstep-harness", &["superstep-instrument"]), 1);
        assert_eq!(broken("superstep-harness", &["inkwell"]), 1);
        assert_eq!(broken("superstep-other", &[]), 1);
    }

    #[test]
    fn tests_may_use_the_tools_and_nothing_else_above_them() {
        let broken = |name: &str| {
            let mut member = member("superstep-cuda", &[]);
            member.only_in_tests.insert(name.to_owned());
            rules_of_a_member(&member, &layers(PAGE_TEXT)).len()
        };
        assert_eq!(broken("superstep-toolchain"), 0);
        assert_eq!(broken("superstep-harness"), 1);
        assert_eq!(broken("inkwell"), 1);
    }

    #[test]
    fn lints_that_are_not_the_workspaces_are_found() {
        assert!(has_workspace_lints(
            "[package]\n[lints]\n# why\nworkspace = true\n"
        ));
        assert!(!has_workspace_lints("[package]\nworkspace = true\n"));
        assert!(!has_workspace_lints("[lints]\n[dependencies]\n"));
    }

    #[test]
    fn the_table_must_name_each_library_and_no_other() {
        let uses = ["zstd", "serde", "superstep-trace"];
        let members = [member("superstep-trace", &uses)];
        for (table, findings) in [
            ("| `zstd` | compresses |\n| `serde` | `json` |", 0),
            ("| `zstd`, `serde` | both |", 0),
            ("| `zstd` | compresses |", 1),
            ("| `zstd` | |\n| `serde` | |\n| `rand` | |", 1),
        ] {
            let page = format!(
                "# A\n{HEADING}\n| name | why |\n|---|---|\n{table}\n## Next\n| `other` | x |\n"
            );
            let found = table_of_dependencies(&members, &page);
            assert_eq!(found.len(), findings, "{table}");
        }
    }
}
