//! Tests for register limits.

use super::*;
use std::slice::from_ref;

/// Returns the number of threads in the largest CTA, and the maximum number of resident warps per partition.
fn capacity(registers: u32) -> (u32, u32) {
    let warps = 512 / registers.next_multiple_of(8);
    ((4 * warps * 32).min(1024), warps.min(16))
}

#[test]
fn limits_match_those_of_ptxas_for_each_cta_size() {
    // From `ptxas -v` (12.9) for a kernel that could use all registers, with these `.maxntid` values.
    let printed = [(1024, 64), (896, 72), (768, 80), (640, 96), (256, 255)];
    for (threads, registers) in printed {
        assert_eq!(limit_of(registers, false), registers);
        assert_eq!(capacity(registers).0, threads);
    }
}

#[test]
fn a_limit_is_the_largest_that_keeps_the_number_of_warps() {
    for native in 1..=255 {
        let limit = limit_of(native, false);
        assert_eq!(capacity(limit).0, capacity(native).0, "{native}");
        assert!(limit >= native && (limit == 255 || capacity(limit + 1).0 < capacity(native).0));
        let limit = limit_of(native, true);
        assert_eq!(capacity(limit), capacity(native), "{native}");
        assert!(limit >= native && (limit == 255 || capacity(limit + 1).1 < capacity(native).1));
    }
}

const PTX: &str = "\
.func  (.param .b32 func_retval0) helper(\n\t.param .b32 helper_param_0\n)\n{\n\tret;\n}\n\
.visible .entry plain(\n\t.param .u64 plain_param_0\n)\n{\n{.reg .b16 inner;\n}\n{ .reg .b16 other;\n}\n\tret;\n}\n\
.visible .entry bound()\n.maxntid 256\n{\n\tret;\n}\n\
.visible .entry small()                 // @small\n{\n\tret;\n}\n\
.visible .entry grid()\n.maxntid 256\n{\n\tmov.u32 %r1, %envreg2;\n\tret;\n}\n\
.visible .entry own()\n.maxnreg 40\n{\n\tmov.u32 %r1, %envreg2;\n\tret;\n}\n";

fn registers<const N: usize>(list: [(&str, u32); N]) -> Registers {
    list.map(|(name, count)| (name.to_owned(), count)).into()
}

#[test]
fn only_kernels_that_use_too_many_registers_are_limited() {
    let names = ["plain", "bound", "small", "grid", "own"];
    let table =
        |counts: [u32; 5]| registers(std::array::from_fn::<_, 5, _>(|i| (names[i], counts[i])));
    let (native, probed) = (table([60, 60, 20, 33, 40]), table([66, 90, 64, 41, 48]));
    let text = limited(PTX, from_ref(&native), from_ref(&probed), false).unwrap();
    let expected = PTX
        .replace("plain_param_0\n)\n{", "plain_param_0\n)\n.maxnreg 64\n{")
        .replace(
            "grid()\n.maxntid 256\n{",
            "grid()\n.maxntid 256\n.maxnreg 40\n{",
        );
    assert_eq!(text, expected);
    let resident = limited(PTX, from_ref(&native), &[probed], true).unwrap();
    let expected = expected
        .replace(
            "bound()\n.maxntid 256\n{",
            "bound()\n.maxntid 256\n.maxnreg 64\n{",
        )
        .replace("@small\n{", "@small\n.maxnreg 32\n{");
    assert_eq!(resident, expected, "the program queries how many CTAs fit");
    let native = from_ref(&native);
    assert_eq!(limited(PTX, native, native, true), None);
}

#[test]
fn the_lowest_limit_over_all_architectures_is_used() {
    let table = |counts: [u32; 2]| counts.map(|count| registers([("plain", count)]));
    let (native, probed) = (table([80, 72]), table([81, 72]));
    let text = limited(PTX, &native, &probed, false).unwrap();
    assert!(text.contains(".maxnreg 72\n"), "{text}");
}

#[test]
fn a_file_that_is_not_elf_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.cubin");
    std::fs::write(&path, "PTX").unwrap();
    let error = read_binary(&path).unwrap_err().to_string();
    let is_named = error.contains("out.cubin") && error.contains("doctor");
    assert!(is_named, "{error}");
}
