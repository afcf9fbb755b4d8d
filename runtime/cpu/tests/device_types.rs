//! Tests that the support code in `device/` defines every intrinsic in `intrinsics.txt`, with the type that LLVM gives
//! it.

mod common;

use common::{check, device_files, device_folder, tool};
use std::collections::BTreeMap;
use std::process::Command;

/// Returns the return type and parameter types of every `__superstep_nvvm_` function in a textual module.
fn signatures(ir: &str) -> BTreeMap<String, (String, Vec<String>)> {
    let mut found = BTreeMap::new();
    for line in ir.lines().filter(|line| line.starts_with("define ")) {
        let Some((before, after)) = line.split_once("@__superstep_nvvm_") else {
            continue;
        };
        let Some((name, rest)) = after.split_once('(') else {
            continue;
        };
        let mut depth = 1;
        let end = rest.find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        let list = &rest[..end.expect("a closing parenthesis")];
        let mut parameters = vec![String::new()];
        let mut depth = 0;
        for c in list.chars() {
            depth += i32::from(c == '(') - i32::from(c == ')');
            match (c, depth) {
                (',', 0) => parameters.push(String::new()),
                _ => parameters.last_mut().expect("at least one").push(c),
            }
        }
        let parameters = parameters
            .iter()
            .filter(|text| !text.is_empty())
            .map(|text| type_of(text.trim(), true))
            .collect();
        let result = before.split_whitespace().next_back().expect("a type");
        found.insert(name.to_owned(), (type_of(result, false), parameters));
    }
    found
}

/// Returns the type at the start of a parameter: `ptr addrspace(1)` is two words.
fn type_of(text: &str, has_attributes: bool) -> String {
    let mut words = text.split_whitespace();
    let first = words.next().expect("a type");
    match words.next() {
        Some(space) if has_attributes && space.starts_with("addrspace") => {
            format!("{first} {space}")
        }
        _ => first.to_owned(),
    }
}

/// Returns an operand for a call; operands that must be immediates are constants.
fn operand(intrinsic: &str, ty: &str) -> String {
    let immediate = ["idp2a", "flo", "pm.event", "setmaxnreg"]
        .iter()
        .any(|part| intrinsic.contains(part));
    match (immediate, ty) {
        (true, "i1") => "i1 0".to_owned(),
        (true, "i16" | "i32") => format!("{ty} 32"),
        _ => format!("{ty} undef"),
    }
}

#[test]
fn every_listed_intrinsic_has_the_type_that_llvm_gives_it() {
    let (Some(clang), Some(assembler), Some(link)) =
        (tool("clang"), tool("llvm-as"), tool("llvm-link"))
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut parts = Vec::new();
    for file in device_files("support_") {
        let output = folder
            .path()
            .join(file.with_extension("ll").file_name().unwrap());
        let arguments = [
            "-std=c17",
            "-O2",
            "-fPIE",
            "-Wall",
            "-Werror",
            "-S",
            "-emit-llvm",
        ];
        check(
            &Command::new(&clang)
                .args(arguments)
                .arg(&file)
                .arg("-o")
                .arg(&output)
                .output()
                .unwrap(),
            "compiling",
        );
        parts.push(output);
    }
    let whole = folder.path().join("support.ll");
    check(
        &Command::new(&link)
            .arg("-S")
            .args(&parts)
            .arg("-o")
            .arg(&whole)
            .output()
            .unwrap(),
        "linking",
    );
    let signatures = signatures(&std::fs::read_to_string(&whole).unwrap());
    let list = std::fs::read_to_string(device_folder().join("intrinsics.txt")).unwrap();
    let mut calls = String::new();
    for (index, intrinsic) in list.lines().enumerate() {
        let name = intrinsic
            .strip_prefix("llvm.nvvm.")
            .expect("an intrinsic's name")
            .replace('.', "_");
        let (mut result, mut parameters) = signatures
            .get(&name)
            .unwrap_or_else(|| panic!("{intrinsic} is missing"))
            .clone();
        // Results with two parts are returned through a pointer, the first parameter.
        let returns_pair = ["elect_sync", "match_all_sync_i32p", "match_all_sync_i64p"]
            .contains(&&*name)
            || (name.starts_with("shfl_sync") && name.ends_with('p'));
        if returns_pair {
            assert_eq!(
                (result.as_str(), parameters.remove(0).as_str()),
                ("void", "ptr"),
                "{intrinsic}"
            );
            result = if name.contains("f32") {
                "{ float, i1 }"
            } else {
                "{ i32, i1 }"
            }
            .to_owned();
        }
        let operands: Vec<String> = parameters.iter().map(|ty| operand(intrinsic, ty)).collect();
        calls += &format!("declare {result} @{intrinsic}({})\n", parameters.join(", "));
        calls += &format!(
            "define void @t{index}() {{\n call {result} @{intrinsic}({})\n ret void\n}}\n",
            operands.join(", ")
        );
    }
    assert_eq!(
        list.lines().count(),
        signatures.len(),
        "a function is missing from the list"
    );
    let file = folder.path().join("calls.ll");
    std::fs::write(&file, calls).unwrap();
    let output = Command::new(&assembler)
        .arg(&file)
        .args(["-o", "/dev/null"])
        .output()
        .unwrap();
    check(&output, "verifying");
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
