//! Tests of copies and fills in CUDA graphs, without a GPU. A capture records them for each launch of the graph, in
//! order, between the kernels.

mod common;

use common::{Program, Run};
use superstep_trace::{Gap, HostEvent};

fn run(mode: &str) -> Run {
    let run = Program::build_with("none", "graph_copies.c", "thesis").run(mode);
    assert!(run.status.success(), "{}", run.stderr);
    assert_eq!(run.summary().faults, Vec::<String>::new());
    run
}

/// Returns the kernels and the sizes of copies and fills.
fn recorded_steps(run: &Run) -> Vec<String> {
    let describe = |step| match step {
        HostEvent::Launch(record) => Some(record.launch.kernel.to_string()),
        HostEvent::OpaqueLaunch(launch) => Some(launch.kernel.clone().unwrap_or_default()),
        HostEvent::Copy(copy) => Some(format!("copy {}", copy.bytes)),
        HostEvent::Memset(fill) => Some(format!("fill {} with {}", fill.bytes, fill.value)),
        HostEvent::Gap(gap) => Some(gap.to_string()),
        _ => None,
    };
    run.capture
        .replay()
        .filter_map(|it| describe(it.event))
        .collect()
}

#[test]
fn captured_copies_and_fills_are_recorded_for_each_launch() {
    let launch = [
        "copy 1",
        "_Z6tracedPfm",
        "fill 2 with 7",
        "_Z5plainPf",
        "copy 3",
    ];
    let expected = [&["copy 60"][..], &launch, &launch].concat();
    assert_eq!(recorded_steps(&run("captured")), expected);
}

#[test]
fn added_nodes_are_recorded_as_in_the_instance() {
    let launch = |late, fill, in_child, of_symbol| {
        let (known, other) = ("_Z6tracedPfm", "_Z5plainPf");
        let all = [late, fill, known, in_child, known, of_symbol, other];
        all.into_iter().filter(|it| !it.is_empty())
    };
    let expected: Vec<_> = launch("copy 3", "fill 8 with 7", "copy 1", "copy 2")
        .chain(launch("copy 3", "fill 5 with 8", "copy 11", "copy 2"))
        // The instance was updated from the graph, but the fill stays disabled.
        .chain(launch("copy 13", "", "copy 1", "copy 2"))
        .chain(launch("copy 3", "fill 8 with 7", "copy 1", "copy 2"))
        .chain(launch("copy 3", "fill 8 with 7", "copy 1", "copy 12"))
        .collect();
    let run = run("explicit");
    assert_eq!(recorded_steps(&run), expected);
    // The program prints the address of the variable to which it copies.
    let variable: u64 = run.stdout.parse().expect("an address");
    let is_to_variable = |step: &HostEvent| matches!(step, HostEvent::Copy(copy) if copy.destination == variable + 8);
    let steps = run.capture.replay().map(|timed| timed.event);
    assert_eq!(steps.filter(is_to_variable).count(), 4);
}

#[test]
fn untracked_node_changes_are_a_gap() {
    let gaps = recorded_steps(&run("refused"));
    let expected = Gap::GraphMemoryNode.to_string();
    assert_eq!(gaps.iter().filter(|it| **it == expected).count(), 1);
}
