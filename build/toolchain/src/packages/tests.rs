//! Tests for packages, their source, and the output of failed commands.

use super::*;

#[test]
fn the_llvm_source_matches_the_distribution_release() {
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
fn the_last_lines_of_output_are_kept() {
    let script = "for n in $(seq 40); do echo line $n; done; echo 'E: disk full' >&2";
    let output = Command::new("sh").args(["-c", script]).output().unwrap();
    let text = last_lines(&output);
    assert!(text.ends_with("line 40\nE: disk full"), "{text}");
    assert!(!text.contains("line 3\n"), "{text}");
}
