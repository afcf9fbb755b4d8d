//! `cargo xtask fuzz`: feeds what Superstep reads with changed files, one target after the other (docs/testing.md).

use std::fs;

use anyhow::{Context as _, Result};
use xshell::cmd;

use crate::context::{Context, usage};
use crate::nightly;

/// The version of cargo-fuzz that is installed where there is none.
const VERSION: &str = "0.13.2";

const DEFAULT_SECONDS: u64 = 60;

/// An input that takes longer, or more memory, is a finding too.
const LIMITS: [&str; 3] = ["-timeout=10", "-rss_limit_mb=2048", "-malloc_limit_mb=1024"];

/// Inputs are lists of changes: a few bytes each, any number of them from the start.
const LENGTHS: [&str; 2] = ["-max_len=1024", "-len_control=0"];

#[derive(Debug, PartialEq)]
struct Arguments<'a> {
    targets: Vec<&'a str>,
    seconds: u64,
}

fn parse(arguments: &[String]) -> Result<Arguments<'_>> {
    let (mut targets, mut seconds) = (Vec::new(), DEFAULT_SECONDS);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--seconds" => {
                let number = rest.next().and_then(|number| number.parse().ok());
                let number = number.filter(|&seconds| seconds > 0);
                seconds = number.ok_or_else(|| {
                    usage("`--seconds` takes a number of seconds, from 1 on".to_owned())
                })?;
            }
            option if option.starts_with('-') => {
                return Err(usage(format!("`cargo xtask fuzz` does not know {option}")));
            }
            target => targets.push(target),
        }
    }
    Ok(Arguments { targets, seconds })
}

/// The command: the targets named, or all of them, each for so many seconds. All have their turn, whatever the first one finds.
pub fn run(context: &Context, arguments: &[String]) -> Result<()> {
    let Arguments { targets, seconds } = parse(arguments)?;
    let all = all_targets(context)?;
    if let Some(other) = targets
        .iter()
        .find(|target| !all.iter().any(|a| a == *target))
    {
        let known = all.join(", ");
        return Err(usage(format!("there is no fuzzer `{other}`, only {known}")));
    }
    let chosen: Vec<&str> = match targets.is_empty() {
        true => all.iter().map(String::as_str).collect(),
        false => targets,
    };
    let shell = &context.shell;
    drop(nightly::cargo(context, &[])?);
    if !context.has_cargo("fuzz") {
        let package = format!("cargo-fuzz@{VERSION}");
        cmd!(shell, "cargo install --locked {package}")
            .run()
            .context("failed to install cargo-fuzz")?;
    }
    // What targets write while they run, and the inputs that they find in addition to those that are committed.
    let scratch = context.release_dir()?.with_file_name("fuzz");
    let mut failed = Vec::new();
    for target in chosen {
        let (temporary, found) = (scratch.join("tmp"), scratch.join(target));
        for folder in [&temporary, &found] {
            fs::create_dir_all(folder)
                .with_context(|| format!("failed to create {}", folder.display()))?;
        }
        let corpus = context.root.join("fuzz/corpus").join(target);
        let time = format!("-max_total_time={seconds}");
        let ran = nightly::cargo(context, &[])?
            .args(["fuzz", "run", target])
            .args([&found, &corpus])
            .args(["--", &time, "-print_final_stats=1"])
            .args(LENGTHS)
            .args(LIMITS)
            .env("TMPDIR", &temporary)
            .run();
        drop(fs::remove_dir_all(&temporary));
        if ran.is_err() {
            failed.push(target);
        }
    }
    anyhow::ensure!(
        failed.is_empty(),
        "failed: findings of {}, see above; each becomes a test (docs/testing.md)",
        failed.join(", ")
    );
    Ok(())
}

fn all_targets(context: &Context) -> Result<Vec<String>> {
    let folder = context.root.join("fuzz/fuzz_targets");
    let entries =
        fs::read_dir(&folder).with_context(|| format!("failed to read {}", folder.display()))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            name.strip_suffix(".rs").map(str::to_owned)
        })
        .collect();
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn targets_and_seconds_come_in_any_order() {
        let both = arguments(&["--seconds", "5", "ptx", "ncu"]);
        let targets = vec!["ptx", "ncu"];
        let seconds = 5;
        assert_eq!(parse(&both).unwrap(), Arguments { targets, seconds });
        assert_eq!(parse(&[]).unwrap().seconds, DEFAULT_SECONDS);
        for wrong in [&["--seconds"][..], &["--seconds", "0"], &["--hours"]] {
            assert!(parse(&arguments(wrong)).is_err());
        }
    }
}
