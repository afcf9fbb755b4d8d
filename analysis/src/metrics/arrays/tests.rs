//! Tests for `arrays`.

use super::*;

#[test]
fn variables_are_found_in_calls() {
    let cases = [
        ("cudaMalloc((void **)&d_a, bytes);", Some("d_a")),
        (
            "  cudaMalloc( (void**) &d_cost, sizeof(int) * n);",
            Some("d_cost"),
        ),
        (
            "checkCudaErrors(cudaMalloc(&mem.grid[1], n));",
            Some("mem.grid[1]"),
        ),
        ("cudaMallocManaged(&p->next, 4)", Some("p->next")),
        (
            "cudaMalloc(reinterpret_cast<void **>(&buffer), n);",
            Some("buffer"),
        ),
        ("cudaMalloc<float>(&x, 4);", Some("x")),
        ("cudaMalloc((void**)(&y), 4);", Some("y")),
        ("allocate(&x);", None),
        ("cudaMalloc(", None),
        ("cudaMalloc(*(&q), 3)", None),
    ];
    for (line, want) in cases {
        assert_eq!(variable(line, 0), want, "{line}");
    }
    let line = "    Array<float> x(all.x), y(all.y); float *p = allocate(3); return make(4); é(5);";
    let at = |text: &str| variable(line, line.find(text).unwrap() as u32 + 1);
    assert_eq!(
        ["x(", "y(", "allocate"].map(at),
        [Some("x"), Some("y"), Some("p")]
    );
    assert_eq!((at("make"), at("é")), (None, None));
    assert_eq!(variable(line, 999), None);
}
