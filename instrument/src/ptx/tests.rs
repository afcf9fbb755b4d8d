//! Compares the effects of the inline PTX in Clang's and CUDA's headers with those expected from a list of opcodes.

use super::Effect;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use superstep_toolchain::Toolchain;

/// All headers that contain functions for device code.
const HEADERS: &str = "cooperative_groups.h cooperative_groups/memcpy_async.h cooperative_groups/reduce.h cooperative_groups/scan.h \
    cub/cub.cuh cuda/annotated_ptr cuda/atomic cuda/barrier cuda/discard_memory cuda/latch cuda/pipeline cuda/ptx cuda/semaphore \
    cuda_awbarrier.h cuda_bf16.h cuda_fp16.h cuda_fp4.h cuda_fp6.h cuda_fp8.h cuda_pipeline.h mma.h thrust/device_vector.h \
    thrust/reduce.h thrust/scan.h thrust/sort.h";

/// Instructions that do more than compute.
const ACTING: &str = "applypriority atom bar barrier cp discard fence griddepcontrol mbarrier membar multimem nanosleep prefetch \
    prefetchu red setmaxnreg st stmatrix sured sust tcgen05 tensormap wgmma";

struct Statement {
    template: String,
    /// Whether the statement is `volatile` or clobbers memory.
    declares: bool,
}

/// Preprocesses the headers for `arch` to expand macros in templates.
fn preprocessed(tools: &Toolchain, arch: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("headers.cu");
    let lines = HEADERS
        .split(' ')
        .map(|name| format!("#include <{name}>\n"));
    std::fs::write(&source, lines.collect::<String>()).unwrap();
    let output = Command::new(tools.llvm.tool("clang++"))
        .args(["-x", "cuda", "--cuda-device-only", "-E", "-P", "-std=c++17"])
        .arg("-D_CG_CLUSTER_INTRINSICS_AVAILABLE")
        .arg("-Wno-unknown-cuda-version")
        .arg(format!("--cuda-gpu-arch={arch}"))
        .arg(format!("--cuda-path={}", tools.cuda.root.display()))
        .arg(Path::new(&source))
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    String::from_utf8(output.stdout).unwrap()
}

fn statements(text: &str) -> Vec<Statement> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("asm") {
        let after = rest[start + 3..].trim_start_matches('_').trim_start();
        let volatile = ["__volatile__", "volatile"]
            .iter()
            .find_map(|word| after.strip_prefix(word));
        let (declared, body) = (volatile.is_some(), volatile.unwrap_or(after).trim_start());
        rest = &rest[start + 3..];
        let Some(mut body) = body.strip_prefix('(').map(str::trim_start) else {
            continue;
        };
        let mut template = String::new();
        while let Some(literal) = body.strip_prefix('"') {
            let mut letters = literal.char_indices();
            loop {
                match letters.next() {
                    Some((_, '\\')) => {
                        letters.next();
                        template.push(' ');
                    }
                    Some((end, '"')) => {
                        body = literal[end + 1..].trim_start();
                        break;
                    }
                    Some((_, letter)) => template.push(letter),
                    None => panic!("unterminated literal: {literal:.80}"),
                }
            }
        }
        // `int f() asm("name");`
        if body.starts_with(')') && template.chars().all(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        // Asm without results is implicitly `volatile`.
        let outputs: String = body.split_whitespace().take(2).collect();
        let has_no_results = [")", "::"].iter().any(|start| outputs.starts_with(start));
        let end = body.find(");").unwrap_or(body.len());
        found.push(Statement {
            // Convert the template to the form that Clang passes to LLVM.
            template: template
                .replace("%%", "\0")
                .replace('%', "$")
                .replace('\0', "%"),
            declares: declared || has_no_results || body[..end].contains("\"memory\""),
        });
    }
    found
}

/// Returns whether a template contains an instruction with effects, judging only by its words.
fn acts(template: &str) -> bool {
    let words = template.split(|c: char| !(c.is_ascii_alphanumeric() || "._:$%".contains(c)));
    words.into_iter().any(|word| {
        let mut parts = word.split('.');
        let opcode = parts.next().unwrap_or_default();
        let modifiers: Vec<&str> = parts.collect();
        let has = |words: &[&str]| modifiers.iter().any(|m| words.contains(m));
        match opcode {
            "ld" => has(&["volatile", "relaxed", "acquire", "mmio", "cv"]),
            "mbarrier" => !has(&["pending_count"]),
            "clusterlaunchcontrol" => has(&["try_cancel"]),
            _ => {
                !modifiers.is_empty() && ACTING.split(' ').any(|word| word == opcode)
                    || ["brkpt", "exit", "trap"].contains(&opcode)
            }
        }
    })
}

#[test]
fn inline_ptx_of_headers_has_the_expected_effect() {
    let tools = match Toolchain::locate() {
        Ok(tools) => tools,
        Err(missing) => {
            let required = std::env::var_os("SUPERSTEP_REQUIRE_TOOLS").is_some_and(|v| v == "1");
            assert!(!required, "SUPERSTEP_REQUIRE_TOOLS=1, but: {missing}");
            return eprintln!("skipped: {missing}");
        }
    };
    let (mut undeclared, mut wrong) = (BTreeSet::new(), BTreeSet::new());
    for arch in ["sm_70", "sm_90", "sm_100a"] {
        let found = statements(&preprocessed(&tools, arch));
        assert!(
            found.len() > 1000,
            "{arch}: only {} statements",
            found.len()
        );
        for Statement { template, declares } in found {
            let effect = Effect::of(&template);
            if (effect == Effect::Acts) != acts(&template) {
                wrong.insert(format!("{effect:?}: {template}"));
            }
            if effect == Effect::Acts && !declares {
                let word = template.split_whitespace().next().unwrap_or_default();
                undeclared.insert(word.to_owned());
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let undeclared = Vec::from_iter(undeclared);
    insta::assert_snapshot!(undeclared.join("\n"));
}
