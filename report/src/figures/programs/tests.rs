//! Tests for `programs`.

use super::*;

fn program(metrics: Option<Metrics>) -> Programs<'static> {
    let volume = DataVolumeRow {
        application: "program".to_owned(),
        loaded_bytes: 8,
        stored_bytes: 4,
        communicated_stored_bytes: 1,
        communication_share: 0.25,
    };
    Programs {
        volumes: vec![volume],
        measured: metrics
            .map(|it| ("program".to_owned(), it))
            .into_iter()
            .collect(),
    }
}

#[test]
fn figure_is_found_by_name() {
    let program = program(Some(Metrics::default()));
    for name in ["data-volume", "degree", "density-whole"] {
        assert_eq!(program.figure(name).unwrap().name, name);
    }
    match program.figure("degrees") {
        Err(ReportError::NoSuchFigure { known, .. }) => assert!(known.contains(&"degree")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn missing_figure_is_reported_with_reason() {
    let names = |program: &Programs<'_>| {
        program
            .figures()
            .iter()
            .map(|figure| figure.name)
            .collect::<Vec<_>>()
    };
    let (whole, empty) = (program(Some(Metrics::default())), program(None));
    assert_eq!(names(&empty), ["data-volume"]);
    for (program, name) in [
        (&whole, "stride"),
        (&whole, "timeline"),
        (&empty, "stride"),
        (&empty, "degree"),
    ] {
        assert!(!names(program).contains(&name));
        let error = program.figure(name).unwrap_err();
        assert!(matches!(error, ReportError::NothingToDraw { figure, .. } if figure == name));
    }
}
