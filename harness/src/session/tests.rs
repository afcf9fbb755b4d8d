//! Tests for `session`.

use std::fs;
use std::path::Path;

use superstep_build::failure::FailureKind;
use superstep_build::fetch::DownloadLimits;

use super::*;
use crate::bundle;

/// Opens a bundle that contains `a`, from a suite with `a` and `b`.
fn session(folder: &Path) -> Session {
    let suite = folder.join("suites/toys");
    fs::create_dir_all(&suite).unwrap();
    let text = "schema: 1\nname: toys\ntitle: Toys\nsource: {in-tree: true}\ndefault-size: tiny\nbenchmarks: [a, b]\n";
    fs::write(suite.join("suite.yaml"), text).unwrap();
    for name in ["a", "b"] {
        let text = format!(
            "schema: 1\nname: {name}\ntitle: Toy\nwhy: it is small\ntranslation-units: [{{file: toy.cu, language: cuda}}]\n\
             deterministic: true\nsizes:\n  tiny: {{args: []}}\n"
        );
        fs::write(suite.join(format!("{name}.yaml")), text).unwrap();
    }
    for program in ["native", "traced", "counted"] {
        let path = folder.join("programs/a").join(program);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    fs::create_dir(folder.join("data")).unwrap();
    bundle::tests::write_info(folder);
    let fetch = FetchOptions {
        source_mirror: None,
        data_mirror: None,
        cache_dir: folder.join("cache"),
        offline: true,
        download: DownloadLimits::default(),
    };
    let bundle = Bundle::open(folder).unwrap();
    Session::from_bundle(bundle, fetch, MessageFormat::Human)
}

#[test]
fn a_bundle_provides_programs_inputs_and_build_options_without_tools() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    let suite = session.suite("whatever").unwrap();
    let fetched = session.fetch(&suite, &ProgramChoice::default()).unwrap();
    assert_eq!(fetched.size, "tiny");
    let programs = session.build(&fetched, |_, _| ()).unwrap();
    let names: Vec<&str> = (programs.iter())
        .map(|program| program.benchmark.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["a"],
        "the suite also has b, but the bundle does not"
    );
    assert!(programs[0].executables.is_ok());
    assert!(session.fetch.data_mirror.is_some());
    let identity = session.identity().unwrap();
    assert_eq!((identity.llvm.as_str(), identity.gpu_arch), ("22", 90));
    assert_eq!(session.build.protocol, Protocol::Thesis);
}

#[test]
fn a_program_that_the_bundle_lacks_does_not_fail_others() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    let suite = session.suite("").unwrap();
    let choice = ProgramChoice {
        size: None,
        selection: Selection::new(&["a,b".into()], &[]).unwrap(),
        without_inputs: false,
    };
    let fetched = session.fetch(&suite, &choice).unwrap();
    let programs = session.build(&fetched, |_, _| ()).unwrap();
    assert!(programs[0].executables.is_ok());
    let failure = programs[1].executables.as_ref().unwrap_err();
    assert_eq!(failure.kind, FailureKind::Tool);
    let choice = ProgramChoice {
        size: Some("huge".into()),
        ..choice
    };
    let failure = session.fetch(&suite, &choice).err().unwrap();
    assert_eq!(failure.kind, FailureKind::Usage);
    assert!(
        failure.message.contains("the available sizes are tiny"),
        "{failure}"
    );
}
