//! Packages, their source, and apt-get failures.

use super::*;

#[test]
fn llvms_source_matches_the_distribution_release() {
    let debian =
        "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nVERSION_CODENAME=trixie\nID=debian\n";
    assert_eq!(codename(debian), Some("trixie"));
    let mint = "VERSION_CODENAME=wilma\nUBUNTU_CODENAME=noble\n";
    assert_eq!(codename(mint), Some("noble"));
    assert_eq!(
        codename("VERSION_CODENAME=\"bookworm\"\n"),
        Some("bookworm")
    );
    assert_eq!(codename("ID=arch\n"), None);
}

#[test]
fn headers_are_needed_only_for_building() {
    let (run, build) = (needed(Purpose::Run), needed(Purpose::Build));
    assert!(run.contains(&"llvm-22") && !run.contains(&"llvm-22-dev"));
    assert!(run.iter().all(|package| build.contains(package)) && build.contains(&"llvm-22-dev"));
}

#[test]
fn other_failures_keep_the_last_lines() {
    let text = (0..40).map(|n| format!("line {n}\n")).collect::<String>() + "E: disk full\n";
    let error = failed("apt-get install".into(), "exit status: 100".into(), &text).to_string();
    assert!(
        error.contains("E: disk full") && !error.contains("line 3\n"),
        "{error}"
    );
    assert!(
        error.contains("`apt-get install` ended with exit status: 100"),
        "{error}"
    );
}
