//! Tests for `tidy`.

use super::*;

#[test]
fn a_dependency_that_violates_the_layers_is_found() {
    let mut metadata = Context::new().unwrap().metadata(&["--no-deps"]).unwrap();
    assert_eq!(layers(&metadata), [""; 0]);
    let packages = metadata["packages"].as_array_mut().unwrap();
    let trace = packages.iter_mut().find(|p| p["name"] == "superstep-trace");
    let dependencies = trace.unwrap()["dependencies"].as_array_mut().unwrap();
    for (name, kind) in [
        ("superstep-analysis", Value::Null),
        ("superstep-toolchain", "dev".into()),
        ("superstep-harness", "dev".into()),
    ] {
        dependencies.push(serde_json::json!({ "name": name, "kind": kind }));
    }
    let expected = ["analysis", "harness"]
        .map(|name| format!("superstep-trace must not depend on superstep-{name}"));
    assert_eq!(layers(&metadata), expected);
}
