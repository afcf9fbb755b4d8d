//! Tests for importing the text of NVBit's `mem_trace`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use superstep_export::nvbit::{Imported, import};
use superstep_export::{ExportError, tables};
use superstep_trace::Capture;

const LAUNCH: &str = "MEMTRACE: CTX 0x000055d0c0ffee00 - LAUNCH - Kernel pc 0x00007f0000001000 - Kernel name shift(float const*, float*) - grid launch id 0 - grid size 2,1,1 - block size 32,1,1 - nregs 8 - shmem 16 - cuda stream id 7";

fn access(launch: u64, cta: u32, opcode: &str, addresses: &[u64]) -> String {
    let mut line = format!(
        "MEMTRACE: CTX 0x000055d0c0ffee00 - grid_launch_id {launch} - CTA {cta},0,0 - warp 3 - {opcode} - "
    );
    for lane in 0..32 {
        let address = addresses.get(lane).copied().unwrap_or(0);
        write!(line, "0x{address:016x} ").unwrap();
    }
    line
}

fn imported(folder: &Path, lines: &[String]) -> Result<(Imported, Arc<Capture>), ExportError> {
    let text = folder.join("trace.txt");
    fs::write(&text, lines.join("\n")).unwrap();
    let imported = import(&text, &folder.join("capture"))?;
    let capture = Capture::open(folder.join("capture")).unwrap();
    Ok((imported, Arc::new(capture)))
}

fn second_launch() -> String {
    LAUNCH.replace("launch id 0", "launch id 1")
}

#[test]
fn launches_and_accesses_are_imported() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        "------------- NVBit (NVidia Binary Instrumentation Tool v1.7.5) Loaded --------------"
            .to_owned(),
        LAUNCH.to_owned(),
        access(0, 0, "LDG.E.CONSTANT", &[0x7000, 0x7004]),
        access(0, 0, "STG.E", &[0x8000, 0, 0x8008]),
        access(0, 0, "STS.64", &[0x10]),
        "output of the program itself".to_owned(),
        second_launch(),
        access(1, 1, "LDG.E.64", &[0x8000]),
    ];
    let (counts, capture) = imported(folder.path(), &lines).unwrap();
    assert!(capture.complete, "{:?}", capture.problems);
    assert_eq!(
        (counts.launches, counts.thread_accesses, counts.other_memory),
        (2, 5, 1)
    );
    let csv = tables::write(
        &capture,
        tables::TableName::Accesses,
        tables::Format::Csv,
        folder.path(),
    )
    .unwrap();
    let csv = fs::read_to_string(csv).unwrap();
    let rows: Vec<&str> = csv.lines().skip(1).collect();
    assert_eq!(
        rows,
        [
            "0,0,load,0,3,0,0,4,28672,,",
            "0,0,load,0,3,1,0,4,28676,,",
            "0,1,store,0,3,0,0,4,32768,,",
            "0,1,store,0,3,2,0,4,32776,,",
            "1,2,load,1,3,0,0,8,32768,,",
        ]
    );
    // CTA 1 of the second launch reads the four bytes at 0x8000 that CTA 0 stored, and four unwritten bytes.
    let csv = tables::write(
        &capture,
        tables::TableName::Transfers,
        tables::Format::Csv,
        folder.path(),
    )
    .unwrap();
    assert!(fs::read_to_string(csv).unwrap().ends_with("0,0,1,1,4,1\n"));
    let launch = capture.launches().next().unwrap().launch;
    assert_eq!(
        (launch.grid, launch.block, launch.dynamic_shared_bytes),
        ([2, 1, 1], [32, 1, 1], 16)
    );
    assert_eq!(capture.sites().display_name(&launch.kernel), "shift");
}

fn error(lines: &[String]) -> String {
    let folder = tempfile::tempdir().unwrap();
    imported(folder.path(), lines).unwrap_err().to_string()
}

#[test]
fn errors_name_the_line_and_what_was_expected() {
    let orphan = error(&[access(4, 0, "LDG.E", &[16])]);
    assert!(
        orphan.contains("trace.txt:1: ") && orphan.contains("grid launch id 4"),
        "{orphan}"
    );
    let cut = access(0, 0, "LDG.E", &[16]);
    let cut = error(&[LAUNCH.to_owned(), cut[..cut.len() - 40].to_owned()]);
    assert!(cut.contains("trace.txt:2: expected 32 addresses"), "{cut}");
    let outside = error(&[LAUNCH.to_owned(), access(0, 2, "LDG.E", &[16])]);
    assert!(
        outside.contains("within the grid 2,1,1, found 2,0,0"),
        "{outside}"
    );
    let twice = error(&[LAUNCH.to_owned(), LAUNCH.to_owned()]);
    assert!(
        twice.contains("trace.txt:2: grid launch id 0 has already been used"),
        "{twice}"
    );
    let other = error(&["MEMTRACE: something else".to_owned()]);
    assert!(
        other.contains("not the output of NVBit's mem_trace"),
        "{other}"
    );
}

#[test]
fn an_unknown_opcode_makes_the_capture_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [LAUNCH.to_owned(), access(0, 0, "UTMALDG.2D", &[16])];
    let (counts, capture) = imported(folder.path(), &lines).unwrap();
    assert_eq!(counts.unknown.get("UTMALDG.2D"), Some(&1));
    assert!(
        format!("{:?}", capture.outcome).contains("UTMALDG.2D"),
        "{:?}",
        capture.outcome
    );
}
