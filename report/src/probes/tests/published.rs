//! Tests of `published`.

use crate::probes::published::cost;

#[test]
fn cost_depends_on_suite_and_probe() {
    assert_eq!(cost("rodinia", "values", "heartwall"), Some([103.3, 229.6]));
    assert_eq!(cost("thesis", "values", "bfs"), None);
    assert_eq!(cost("rodinia", "cta-clocks", "bfs"), None);
}
