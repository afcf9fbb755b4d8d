//! Runs the suite `devices` and `superstep-bench links` on the CPU backend with two simulated devices. The model, the
//! traces and the program's own count must agree.

mod common;

use common::{binaries, run};

#[test]
fn model_agrees_with_traces_and_the_program() {
    let Some([bench, superstep]) = binaries() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let on_cpu = |command| [command, "devices", "--backend", "cpu"];
    let suite = [&on_cpu("suite")[..], &["--require-golden"]].concat();
    run(&superstep, folder.path(), &suite);
    let bundle = [&on_cpu("bundle")[..], &["--out", "bundle"]].concat();
    run(&superstep, folder.path(), &bundle);
    let size = ["--rows", "40", "--columns", "64", "--launches", "5"];
    let measure = [&["links", "bundle"], &size[..]].concat();
    let out = run(&bench, folder.path(), &measure);
    // CTAs 0 to 5 cover 14 + 4 · 16 + 6 = 84 cells of 4 bytes per row of the grid. There are 2 halo rows on each of 2
    // sides in 4 launches; a copy transfers each of the 64 cells once.
    let (model, copies) = (84 * 4 * 2 * 2 * 4, 64 * 4 * 2 * 2 * 4);
    assert!(out.contains(&format!("cut in y: {model} bytes")), "{out}");
    let row = |way: &str| {
        let line = out.lines().find_map(|line| line.strip_prefix(way)).unwrap();
        let numbers = line.split_whitespace().map_while(|cell| cell.parse().ok());
        numbers.collect::<Vec<u64>>()
    };
    assert_eq!(row("one device"), [0; 5]);
    let [program, copied, accessed, sectors, transferred] = row("peer")[..] else {
        panic!("{out}")
    };
    assert_eq!(
        [program, copied, accessed, transferred],
        [model, 0, model, model]
    );
    // A warp's two rows of 16 cells start 24 or 8 bytes after the start of a sector, except in the first and last CTA.
    assert_eq!(sectors, 2 * 2 * 4 * 32 * (2 + 4 * 3 + 1));
    assert_eq!(row("copies"), [copies, copies, 0, 0, 0]);
    assert_eq!(row("managed"), [model, 0, 0, 0, model]);
}

/// Checks the documented measurements on two H100s: NVLink's counters agree with the traces' copies and peer accesses.
#[test]
fn link_counters_agree_with_the_trace() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/measurements.md");
    let text = std::fs::read_to_string(file).unwrap();
    for way in ["peer", "copies", "processes"] {
        let row = text
            .lines()
            .find(|line| line.starts_with(&format!("| `{way}` |")));
        let cells = row
            .unwrap()
            .split('|')
            .map(|cell| cell.trim().replace(',', ""));
        let numbers = cells.filter_map(|cell| cell.parse::<f64>().ok());
        let [_, copies, _, sectors, _, received] = numbers.collect::<Vec<_>>()[..] else {
            panic!("{way}")
        };
        let by_trace = copies + sectors;
        assert!(by_trace > 0.0);
        assert!(
            (received / by_trace - 1.0).abs() < 1e-4,
            "{way}: {received}"
        );
    }
}
