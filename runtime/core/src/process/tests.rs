//! Tests for `process`.

use super::*;

#[test]
fn arguments_can_be_absent_empty_or_many() {
    assert_eq!(arguments(b"program\0a\0\0b c\0"), ["a", "", "b c"]);
    assert!(arguments(b"program\0").is_empty());
    assert!(arguments(b"").is_empty());
}

#[test]
fn each_process_has_its_own_paths() {
    let id = std::process::id();
    let mpi = Identity::new(|name| match name {
        "PMI_RANK" => Some("3".into()),
        "SLURM_PROCID" => Some("7".into()),
        "OMPI_COMM_WORLD_RANK" => Some("none".into()),
        _ => None,
    });
    let at = |text: &str, identity: &Identity| identity.path(text.as_ref());
    let own = at("a/{process}.json", &mpi);
    assert_eq!(own, PathBuf::from(format!("a/rank-3-pid-{id}.json")));
    assert_eq!(at("a/b", &mpi), PathBuf::from("a/b"));
    let fork = Identity {
        rank: None,
        loaded_by: id + 1,
        settled: Mutex::default(),
    };
    assert_eq!(at("a/b", &fork), PathBuf::from(format!("a/b.pid-{id}")));
    assert_eq!(at("{process}", &fork), PathBuf::from(format!("pid-{id}")));
    fork.settle(|name| name.earlier < 2);
    fork.settle(|_| unreachable!("it already has a name"));
    let third = PathBuf::from(format!("pid-{id}-3"));
    assert_eq!(at("{process}", &fork), third);
}

#[test]
fn the_header_names_this_program() {
    let header = header(Backend::Cpu, DeviceInfo::default(), unix_ns());
    assert_eq!(
        header.program,
        std::env::current_exe().unwrap().to_string_lossy()
    );
    assert_eq!(
        header.arguments,
        std::env::args().skip(1).collect::<Vec<_>>()
    );
    assert!(header.start_unix_ns > 1_600_000_000_000_000_000);
}
