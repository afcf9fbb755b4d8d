//! Names that contain markup.

use super::*;

/// Names come from programs, manifests and files that are not trusted.
#[test]
fn markup_in_names_is_escaped() {
    const EVIL: [&str; 4] = [
        "</text></svg><script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "\" onload=\"alert(1)",
        "]]></style><svg/onload=alert(1)>",
    ];
    for evil in EVIL {
        let mut run = run();
        for text in [
            &mut run.tool,
            &mut run.suite,
            &mut run.size,
            &mut run.device,
            &mut run.started,
            &mut run.finished,
            &mut run.command[1],
            &mut run.host.cpu,
            &mut run.planned[0],
        ] {
            *text = evil.to_owned();
        }
        let benchmark = &mut run.benchmarks[0];
        let (input, check) = (&mut benchmark.inputs[0], &mut benchmark.verification[0]);
        for text in [
            &mut benchmark.name,
            &mut benchmark.title,
            &mut benchmark.kernels[0].name,
            &mut input.name,
            &mut input.origin,
            &mut input.sha256,
            &mut check.check,
            &mut check.detail,
        ] {
            *text = evil.to_owned();
        }
        benchmark.digest = Some(evil.to_owned());
        run.benchmarks[1].failure = Some(Failure::new(FailureKind::Build, evil));
        let measured = || vec![(evil.to_owned(), metrics_of(evil, evil, evil, evil))];
        let page = index(&run, &measured()).unwrap();
        check_nesting(&page);
        assert!(page.matches("<script").count() == 1 && !page.contains("<img src=x"));
        assert!(!page.contains(evil), "{evil} is in the page unescaped");
    }
}
