//! Tests for `graphs`.

use super::*;

#[test]
fn an_error_names_the_kind_of_node() {
    for (kind, name) in [(10, "MemAlloc"), (13, "Conditional"), (77, "77")] {
        assert!(PlanError::Node(NodeKind(kind)).to_string().contains(name));
    }
}
