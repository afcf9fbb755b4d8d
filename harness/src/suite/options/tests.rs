//! Tests for `options`.

use super::*;
use superstep_build::failure::FailureKind;

#[test]
fn patterns_can_be_a_comma_separated_list() {
    let selection = Selection::new(&["hotspot*,bfs".into()], &["*3D".into()]).unwrap();
    let selected: Vec<_> = ["hotspot", "hotspot3D", "bfs", "nn"]
        .into_iter()
        .filter(|name| selection.contains(name, &BTreeMap::new()))
        .collect();
    assert_eq!(selected, ["hotspot", "bfs"]);
    assert!(Selection::default().contains("anything", &BTreeMap::new()));
    let failure = Selection::new(&["regex:(".into()], &[]).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Usage);
}

#[test]
fn a_group_selects_its_members() {
    let groups = BTreeMap::from([("paper".to_owned(), vec!["bfs".to_owned(), "nn".to_owned()])]);
    let selected = |only: &str, exclude: &str| {
        let selection = Selection::new(&[only.into()], &[exclude.into()]).unwrap();
        let names = ["hotspot", "bfs", "nn"].into_iter();
        names
            .filter(|name| selection.contains(name, &groups))
            .collect::<Vec<_>>()
    };
    assert_eq!(selected("@paper", ""), ["bfs", "nn"]);
    assert_eq!(selected("@paper,hot*", "nn"), ["hotspot", "bfs"]);
    assert_eq!(selected("", "@paper"), ["hotspot"]);
    assert_eq!(selected("@other", ""), [""; 0]);
}

#[test]
fn a_newer_gpu_also_runs_code_for_the_default_architecture() {
    assert_eq!(default_archs(None), [90]);
    assert_eq!(default_archs(Some(90)), [90]);
    assert_eq!(default_archs(Some(80)), [80]);
    assert_eq!(default_archs(Some(120)), [90, 120]);
}

#[test]
fn explicit_backends_and_architectures_are_used() {
    let (backend, archs) = choose_target(Some(Backend::Cpu), &[80, 86]);
    assert_eq!(backend, Backend::Cpu);
    assert_eq!(archs, [80, 86]);
}
