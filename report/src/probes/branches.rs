//! Conditional branches and their divergence: SASSI's table 1 and figure 5.

use super::{Program, SiteTotals, Study, percent, sites};
use crate::error::Result;
use crate::figures::multiples::{Mark, Multiples, Plot, Scale};
use crate::figures::{numbers, palette};
use serde_json::json;
use superstep_analysis::tables::{Table, column};

/// Branches of a figure at most.
const MOST_BARS: usize = 40;

pub(super) fn study(programs: &[Program<'_>]) -> Result<Study> {
    let (mut summary, mut each, mut plots) = (Vec::new(), Vec::new(), Vec::new());
    for program in programs {
        let mut rows = sites(program)?;
        rows.sort_by_key(|row| std::cmp::Reverse(row.fields[0]));
        let divergent = rows.iter().filter(|row| row.fields[3] > 0).count();
        let sum = |field: usize| rows.iter().map(|row| row.fields[field]).sum::<u64>();
        let (executed, split) = (sum(0), sum(3));
        summary.push(vec![
            json!(program.name),
            json!(rows.len()),
            json!(divergent),
            json!(percent(divergent as f64, rows.len() as f64)),
            json!(executed),
            json!(split),
            json!(percent(split as f64, executed as f64)),
        ]);
        for row in &rows {
            each.push(vec![
                json!(program.name),
                json!(row.function),
                json!(row.site.file),
                json!(row.site.line),
                json!(row.site.block),
                json!(row.fields[0]),
                json!(row.fields[1]),
                json!(row.fields[2]),
                json!(row.fields[1] - row.fields[2]),
                json!(row.fields[3]),
            ]);
        }
        plots.push(plot(program.name, &rows));
    }
    let figure = Multiples {
        name: "branch-divergence",
        title: "Warp executions of each conditional branch, and how many diverged".into(),
        description: "Each bar is one branch, the one that warps execute most first (SASSI, figure 5).",
        legend: vec![
            ("convergent".into(), palette::SKY_BLUE),
            ("divergent".into(), palette::VERMILLION),
        ],
        is_map: false,
        plots,
        table: site_table(each.clone()),
    };
    Ok(Study {
        tables: vec![
            Table {
                name: "branches",
                columns: vec![
                    column("program", "", "the program"),
                    column(
                        "static_branches",
                        "branches",
                        "conditional branches in its device code",
                    ),
                    column(
                        "static_divergent",
                        "branches",
                        "of those, branches at which a warp split at least once",
                    ),
                    column("static_percent", "%", "the second of the first"),
                    column("dynamic_branches", "warp executions", "executions by warps"),
                    column(
                        "dynamic_divergent",
                        "warp executions",
                        "of those, executions at which the warp split",
                    ),
                    column("dynamic_percent", "%", "the second of the first"),
                ],
                rows: summary,
            },
            site_table(each),
        ],
        figures: vec![figure],
    })
}

fn site_table(rows: Vec<Vec<serde_json::Value>>) -> Table {
    Table {
        name: "branch-sites",
        columns: vec![
            column("program", "", "the program"),
            column("function", "", "the function"),
            column("file", "", "source file"),
            column("line", "", "source line; 0 when unknown"),
            column("block", "", "basic block that the branch ends"),
            column("executions", "warp executions", "executions by warps"),
            column("active_threads", "threads", "threads in them"),
            column(
                "taken_threads",
                "threads",
                "of those, threads that went to the first target",
            ),
            column("not_taken_threads", "threads", "the others"),
            column(
                "divergent",
                "warp executions",
                "executions at which the warp split",
            ),
        ],
        rows,
    }
}

fn plot(name: &str, rows: &[SiteTotals<'_>]) -> Plot {
    let shown = &rows[..rows.len().min(MOST_BARS)];
    let most = shown.first().map_or(0, |row| row.fields[0]);
    let mut marks = Vec::new();
    for (band, row) in shown.iter().enumerate() {
        let (left, right) = (band as f64 + 0.1, band as f64 + 0.9);
        let (all, split) = (row.fields[0] as f64, row.fields[3] as f64);
        marks.push(Mark::Area((left, 0.0), (right, split), palette::VERMILLION));
        marks.push(Mark::Area((left, split), (right, all), palette::SKY_BLUE));
    }
    Plot {
        title: name.to_owned(),
        note: match rows.len() {
            1 => "1 branch".to_owned(),
            count if count > MOST_BARS => format!("{MOST_BARS} of {count} branches"),
            count => format!("{count} branches"),
        },
        x: Scale::numbers(shown.len() as u64, "branch"),
        y: Scale::linear(most as f64, "executions by warps", numbers::count),
        marks,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Toy, rows, site};
    use super::*;

    const FIELDS: [(&str, &str); 4] = [
        ("executions", "sum"),
        ("active_threads", "sum"),
        ("taken_threads", "sum"),
        ("divergent", "sum"),
    ];

    #[test]
    fn a_branch_that_split_a_warp_once_is_divergent() {
        let sites = [
            site("branch", 0, 0, json!({})),
            site("branch", 1, 0, json!({})),
        ];
        let study = Toy::new("launch", &FIELDS, &sites)
            .launch(&[10, 320, 320, 0, 30, 960, 0, 0])
            .launch(&[10, 300, 100, 5, 0, 0, 0, 0])
            .study(study)
            .unwrap();
        // 1 of 2 branches; 5 of 10 + 10 + 30 executions.
        assert_eq!(
            rows(&study.tables[0]),
            json!([["toy", 2, 1, 50.0, 50, 5, 10.0]])
        );
        // The branch with most executions first; 620 threads were at the other one, 420 took it.
        assert_eq!(
            rows(&study.tables[1]),
            json!([
                ["toy", "first", "toy.cu", 11, 1, 30, 960, 0, 960, 0],
                ["toy", "first", "toy.cu", 10, 0, 20, 620, 420, 200, 5],
            ])
        );
        let divergent = Mark::Area((1.1, 0.0), (1.9, 5.0), palette::VERMILLION);
        assert!(study.figures[0].plots[0].marks.contains(&divergent));
    }
}
