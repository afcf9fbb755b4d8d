//! Tests for `card`.

use super::*;
use std::fs;
use superstep_analysis::run_summary::{
    Check, CommunicationSummary, NotCompared, Seconds, ThreadCounts, WithinLaunchSummary,
};
use superstep_trace::{Failure, FailureKind};

fn program() -> BenchmarkSummary {
    BenchmarkSummary {
        name: "pc".into(),
        status: Status::Passed,
        launches: Some(40),
        ctas: Some(640_000),
        threads: Some(ThreadCounts {
            loads: 81_920_000,
            stores: 163_840_000,
            atomics: 0,
        }),
        communication: Some(CommunicationSummary::new(655_360_000, 327_680_000)),
        within_launch: Some(WithinLaunchSummary::default()),
        seconds: Seconds {
            native: Some(0.5),
            traced: Some(1.25),
            ..Seconds::default()
        },
        capture_bytes: Some(70_000),
        ..BenchmarkSummary::default()
    }
}

/// Returns the card of a run of `program` in a folder with tables.
fn card_of(program: BenchmarkSummary, color: bool) -> String {
    let out = tempfile::tempdir().unwrap();
    let folder = RunFolder::open(out.path());
    let tables = folder.tables(&program.name);
    fs::create_dir_all(&tables).unwrap();
    for (table, text) in [
        ("connectivity", ""),
        (
            "arrays",
            "array,place,allocations,bytes,kernels,loaded_bytes,communicated_loaded_bytes,self_loaded_bytes,input_loaded_bytes,uninitialised_loaded_bytes,unordered_loaded_bytes,unknown_loaded_bytes,local_loaded_bytes,within_launch_loaded_bytes,within_launch_atomic_bytes,received_bytes,stored_bytes,communicated_stored_bytes,share\nbuf,pc.cu:14,1,65536,consume,1,1,0,0,0,0,0,0,0,0,327680000,1,1,0.996\n",
        ),
        (
            "lines",
            "file,line,function,sites,communicated_loaded_bytes,share\npc.cu,9,_Z7consumePf,1,327680000,1\n",
        ),
    ] {
        fs::write(tables.join(table).with_extension("csv"), text).unwrap();
    }
    fs::write(out.path().join("index.html"), "").unwrap();
    let words = "/bin/superstep run pc.cu --backend cpu -- 16384 4";
    let summary = RunSummary {
        command: words.split(' ').map(str::to_owned).collect(),
        ..RunSummary::default()
    };
    let card = card(&summary, &program, &folder, color);
    card.replace(&out.path().display().to_string(), "out/pc/run")
}

#[test]
fn a_passed_run_fits_eighty_columns() {
    insta::assert_snapshot!(card_of(program(), false));
}

#[test]
fn notes_and_warnings_are_wrapped_between_words() {
    let check = |detail: &str, not_compared: Option<NotCompared>| Check {
        ok: true,
        warning: not_compared.is_none(),
        detail: detail.into(),
        not_compared,
        ..Check::default()
    };
    let text = "kernel consume reads 8192 bytes of a that nothing has written: uninit.cu:4, allocated at uninit.cu:6";
    let warned = BenchmarkSummary {
        verification: vec![
            check(text, None),
            check("", Some(NotCompared::NoGoldenResult)),
        ],
        ..program()
    };
    let card = card_of(warned.clone(), false);
    insta::assert_snapshot!(card);
    assert!(
        card.lines().all(|line| line.chars().count() <= WIDTH),
        "{card}"
    );
    assert!(card_of(warned, true).contains("\u{1b}[38;5;3mwarning"));
}

#[test]
fn a_failed_build_has_neither_numbers_nor_warnings() {
    let failed = BenchmarkSummary {
        name: "pc".into(),
        failure: Some(Failure::new(FailureKind::Build, "no")),
        ..BenchmarkSummary::default()
    };
    insta::assert_snapshot!(card_of(failed, false));
}
