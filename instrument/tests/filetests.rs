//! File tests. Each `filetests/pass/*.ll` lists the expected sites (`; expect:`) and text that the output must or must
//! not contain (`; holds:`, `; lacks:`). Each `filetests/fail/*.ll` lists the expected error, and each
//! `filetests/fail-cpu/*.ll` the expected error of the CPU backend. `filetests/cpu/*.ll` are lowered to the CPU, and
//! `filetests/prepare/*.ll` contain IR from Clang's front end.
//!
//! Input, options and expectations are in one file; `SUPERSTEP_BLESS=1 cargo test -p superstep-instrument` updates the
//! expectations.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use superstep_trace::ModuleTable;

const EXPECTATION: &str = "; expect: ";

fn files(outcome: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("filetests")
        .join(outcome);
    let mut list: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    list.sort();
    list
}

/// Runs the instrumenter and returns its site table and the IR that it printed, or its error message.
fn instrument(input: &Path, backend: &str) -> Result<(ModuleTable, String), String> {
    let folder = tempfile::tempdir().unwrap();
    let (output, table) = (folder.path().join("out.bc"), folder.path().join("out.json"));
    let text = std::fs::read_to_string(input).unwrap();
    let options = text
        .lines()
        .find_map(|line| line.strip_prefix("; options: "))
        .unwrap_or_default();
    let run = Command::new(env!("CARGO_BIN_EXE_superstep-instrument"))
        .args([
            "--backend",
            backend,
            "--probe",
            "trace",
            "--module-index",
            "2",
            "--print",
        ])
        .args(options.split_whitespace())
        .arg(input)
        .args([
            "-o".as_ref(),
            output.as_os_str(),
            "--table".as_ref(),
            table.as_os_str(),
        ])
        .output()
        .unwrap();
    let message = String::from_utf8(run.stderr).unwrap();
    if run.status.success() {
        assert_eq!(message, "", "{}: unexpected output", input.display());
        let table = ModuleTable::from_json(&std::fs::read(table).unwrap()).unwrap();
        Ok((table, String::from_utf8(run.stdout).unwrap()))
    } else {
        assert_eq!(run.status.code(), Some(1), "{}: {message}", input.display());
        Err(message.replace(&format!("{}/", input.parent().unwrap().display()), ""))
    }
}

fn check(input: &Path, found: &str) {
    let text = std::fs::read_to_string(input).unwrap();
    let (body, expected): (Vec<&str>, Vec<&str>) = text
        .lines()
        .partition(|line| !line.starts_with(EXPECTATION));
    let expected: String = expected
        .iter()
        .map(|line| format!("{}\n", &line[EXPECTATION.len()..]))
        .collect();
    if std::env::var_os("SUPERSTEP_BLESS").is_some() {
        let mut blessed = body.join("\n") + "\n";
        for line in found.lines() {
            writeln!(blessed, "{EXPECTATION}{line}").unwrap();
        }
        std::fs::write(input, blessed).unwrap();
    } else {
        assert_eq!(
            found,
            expected,
            "{} (SUPERSTEP_BLESS=1 accepts the new result)",
            input.display()
        );
    }
}

/// Checks the printed IR against the lines `; holds:`, `; holds N times:` and `; lacks:` of the input.
fn check_text(input: &Path, ir: &str) {
    let (path, text) = (input.display(), std::fs::read_to_string(input).unwrap());
    for line in text.lines() {
        if let Some(text) = line.strip_prefix("; holds: ") {
            assert!(ir.contains(text), "{path}: no {text:?} in\n{ir}");
        } else if let Some(rest) = line.strip_prefix("; holds ") {
            let (times, text) = rest.split_once(" times: ").expect("a number of times");
            assert_eq!(
                ir.matches(text).count().to_string(),
                times,
                "{path}: {text:?} in\n{ir}"
            );
        } else if let Some(text) = line.strip_prefix("; lacks: ") {
            assert!(!ir.contains(text), "{path}: unexpected {text:?} in\n{ir}");
        }
    }
}

#[test]
fn cpu_backend_generates_the_expected_code() {
    for input in files("cpu") {
        let (_, ir) = instrument(&input, "cpu")
            .unwrap_or_else(|error| panic!("{}: {error}", input.display()));
        check_text(&input, &ir);
    }
}

#[test]
fn front_end_ir_is_corrected_before_optimisation() {
    for input in files("prepare") {
        let folder = tempfile::tempdir().unwrap();
        let run = Command::new(env!("CARGO_BIN_EXE_superstep-instrument"))
            .args(["prepare", "--target-cpu", "sm_90", "--print"])
            .arg(&input)
            .args(["-o".as_ref(), folder.path().join("out.bc").as_os_str()])
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{}: {message}", input.display());
        check_text(&input, &String::from_utf8(run.stdout).unwrap());
    }
}

#[test]
fn programs_are_instrumented_at_the_expected_sites() {
    for input in files("pass") {
        let (table, ir) = instrument(&input, "cuda")
            .unwrap_or_else(|error| panic!("{}: {error}", input.display()));
        check_text(&input, &ir);
        let text = std::fs::read_to_string(&input).unwrap();
        let opaque = text
            .lines()
            .find_map(|line| line.strip_prefix("; opaque: "));
        assert_eq!(
            table.opaque_assembly.to_string(),
            opaque.unwrap_or("0"),
            "{}: opaque PTX statements",
            input.display()
        );
        let mut found = String::new();
        for (index, site) in table.sites.iter().enumerate() {
            assert_eq!(site.id.0, 2 << 16 | index as u32, "site numbers are dense");
            let proof = format!("{:?}", site.proof).to_lowercase();
            let waits = if site.waits { " waits" } else { "" };
            writeln!(
                found,
                "{} {} {} {proof}{waits}",
                site.function, site.op, site.width_bytes
            )
            .unwrap();
        }
        check(&input, &found);
    }
}

#[test]
fn both_backends_find_the_same_sites() {
    for input in files("pass") {
        let (gpu, _) = instrument(&input, "cuda")
            .unwrap_or_else(|error| panic!("{}: {error}", input.display()));
        match instrument(&input, "cpu") {
            Ok((cpu, _)) => assert_eq!(gpu.sites, cpu.sites, "{}", input.display()),
            // Without the support library, the CPU backend may lack an operation; the error must name the backend.
            Err(error) => assert!(
                error.contains("CPU backend"),
                "{}: {error}",
                input.display()
            ),
        }
    }
}

#[test]
fn unsupported_input_is_rejected_with_the_reason() {
    for (folder, backend) in [("fail", "cuda"), ("fail-cpu", "cpu")] {
        for input in files(folder) {
            let message = instrument(&input, backend)
                .map(|_| ())
                .expect_err(&input.display().to_string());
            check(&input, &message);
        }
    }
}
