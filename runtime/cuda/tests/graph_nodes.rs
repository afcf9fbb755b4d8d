//! A program's view of its CUDA graphs, without a GPU: it sees only the nodes that it added, whatever the probe adds
//! around them.

mod common;

use common::Program;

#[test]
fn a_program_sees_only_its_own_nodes() {
    let added = "4 of 4, roots 0; edges 0>1 1>2 2>3; edges 0>1 1>2 2>3; \
         -1 of 0 to 1 of 1; 0 of 1 to 2 of 1; 1 of 1 to 3 of 1; 2 of 1 to -1 of 0\n";
    let captured = "3 of 3, roots 0; edges 0>1 1>2; edges 0>1 1>2; \
         -1 of 0 to 1 of 1; 0 of 1 to 2 of 1; 1 of 1 to -1 of 0\n";
    for probe in ["none", "count"] {
        let run = Program::build_with(probe, "graph_nodes.c", "thesis").run("");
        assert!(run.status.success(), "{}", run.stderr);
        assert_eq!(run.stdout, [added, added, captured].concat(), "{probe}");
        assert!(
            run.summary().faults.is_empty(),
            "{:?}",
            run.summary().faults
        );
    }
}
