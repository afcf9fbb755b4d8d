//! Tests for `ncu`.

use super::*;

/// Output of ncu 2025.3 for hs2d from the suite thesis, size small, on an H200.
const RECORDED: &str = include_str!("../testdata/hs2d-small.csv");

#[test]
fn a_recorded_profile_is_read() {
    let launches = read_csv(RECORDED).unwrap();
    assert_eq!(launches.len(), 3);
    assert_eq!(launches[0].id, 0);
    assert!(launches[0].kernel.starts_with("_ZN12_GLOBAL__N_17hotspot"));
    let metric = |name: &str| launches[0].metrics[name];
    let request = |op| {
        metric(&format!(
            "l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum"
        ))
    };
    assert_eq!([request("ld"), request("ldgsts")], [Some(7480), None]);
    assert_eq!(metric("smsp__inst_executed_op_global_ld.sum"), Some(7744));
}

#[test]
fn errors_name_the_invalid_line() {
    let header = "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";
    let table = |rest: &str| header.to_owned() + rest;
    for (text, expected) in [
        ("", "failed to find counters: no line"),
        (
            "==ERROR== ERR_NVGPUCTRPERM - The user does not",
            "\n  ==ERROR== ERR_NVGPUCTRPERM",
        ),
        (
            "==WARNING== No kernels were profiled.\n",
            "==WARNING== No kernels were profiled.",
        ),
        (
            &table("\"0\",\"k\",\"m\",\"Kinst\",\"1.5\"\n"),
            "failed to read line 2 of the counters: counts in the unit Kinst are rounded",
        ),
        (
            &table("\"0\",\"k\",\"m\",\"inst\",\"many\"\n"),
            "\"many\" is not a count",
        ),
        (&table("\"0\",\"k\",\"m\"\n"), "expected 5 fields, found 3"),
        (
            &table("\"0\",\"k\",\"m\",\"\",\"1\"\n\"0\",\"l\",\"m\",\"\",\"1\"\n"),
            "failed to read line 3",
        ),
        (&table(""), "failed to find counters"),
    ] {
        let error = read_csv(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn quotes_and_commas_in_names_are_parsed() {
    let found = fields("\"a,\"\"b\"\"\",\"(1, 2, 3)\"");
    assert_eq!(found, ["a,\"b\"", "(1, 2, 3)"]);
}
