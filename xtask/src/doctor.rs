//! `cargo xtask doctor`: what was found, which versions, GPU and driver, and how to fix what is missing.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde_json::json;
use superstep_toolchain::{
    CudaOrigin, MissingTool, Purpose, Survey, check, gpu, package_install_line,
};

use crate::context::{tool_missing, usage};

#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    tool: String,
    state: State,
    /// Where it is, or why it does not serve.
    detail: String,
    version: Option<String>,
    mend: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Found,
    Missing,
    /// Not there, and only some commands or nobody need it.
    Absent,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Found => "found",
            State::Missing => "MISSING",
            State::Absent => "absent",
        }
    }
}

impl Row {
    fn found(tool: &str, detail: impl ToString, version: impl ToString) -> Row {
        Row {
            tool: tool.to_owned(),
            state: State::Found,
            detail: detail.to_string(),
            version: Some(version.to_string()).filter(|version| !version.is_empty()),
            mend: None,
        }
    }

    fn not_found(tool: &str, state: State, why: impl ToString, mend: &str) -> Row {
        let (tool, detail) = (tool.to_owned(), why.to_string());
        Row {
            tool,
            state,
            detail,
            version: None,
            mend: Some(mend.to_owned()),
        }
    }
}

/// The command; fails when something needed is missing.
pub fn run(arguments: &[String]) -> Result<()> {
    let as_json = match arguments {
        [] => false,
        [one] if one == "--json" => true,
        _ => return Err(usage("`cargo xtask doctor` takes only --json".to_owned())),
    };
    let rows = examine();
    let text = if as_json {
        format!("{}\n", to_json(&rows))
    } else {
        to_table(&rows)
    };
    // A reader that has seen enough (`… | head`) is no failure.
    let _ = std::io::stdout().write_all(text.as_bytes());
    let missing = rows.iter().filter(|row| row.state == State::Missing);
    let missing: Vec<&str> = missing.map(|row| row.tool.as_str()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(tool_missing(format!(
        "missing: {}; `cargo xtask setup` installs what can be installed",
        missing.join(", ")
    )))
}

fn examine() -> Vec<Row> {
    const VERSION: &[&str] = &["--version"];
    let mut rows = vec![
        asked("cargo", VERSION, State::Missing, "install Rust"),
        asked(
            "g++",
            VERSION,
            State::Missing,
            &package_install_line(Purpose::Build),
        ),
    ];
    let survey = Survey::here(Purpose::Build);
    let wheels_needed = !matches!(&survey.cuda, Ok(cuda) if cuda.origin == CudaOrigin::Toolkit);
    match &survey.llvm {
        Ok(llvm) => {
            for (name, path) in llvm.tools() {
                rows.push(Row::found(name, path.display(), llvm.version));
            }
        }
        Err(tools) => rows.extend(tools.iter().map(missing_row)),
    }
    match &survey.cuda {
        Ok(cuda) => {
            let origin = match cuda.origin {
                CudaOrigin::Toolkit => "CUDA (installed toolkit)",
                CudaOrigin::Wheels => "CUDA (pinned wheels)",
            };
            rows.push(Row::found(origin, cuda.root.display(), cuda.version));
            for (name, path) in [
                ("ptxas", &cuda.ptxas),
                ("fatbinary", &cuda.fatbinary),
                ("libdevice", &cuda.libdevice),
                ("libcudart", &cuda.cudart),
            ] {
                rows.push(Row::found(name, path.display(), ""));
            }
        }
        Err(tools) => rows.extend(tools.iter().map(missing_row)),
    }
    for why in &survey.left_aside {
        let mend = "nothing to do: it is not used";
        rows.push(Row::not_found("other toolkit", State::Absent, why, mend));
    }
    if let (Ok(llvm), Ok(cuda)) = (&survey.llvm, &survey.cuda) {
        let (name, works) = ("CUDA program", "compiles for device and host, and links");
        rows.push(match check::compile(llvm, cuda) {
            Ok(()) => Row::found(name, works, ""),
            Err(failure) => {
                let mend = "set SUPERSTEP_CUDA or SUPERSTEP_LLVM to another installation";
                Row::not_found(name, State::Missing, failure, mend)
            }
        });
    }
    if wheels_needed {
        let state = match survey.cuda {
            Ok(_) => State::Absent,
            Err(_) => State::Missing,
        };
        let pip = ["-m", "pip", "--version"];
        rows.push(asked("python3", &pip, state, "install python3-pip"));
    }
    let component = |name: &str| format!("`rustup component add {name}`, for `cargo xtask test`");
    let faster = "nothing to do: `cargo test` serves; `cargo install cargo-nextest` is faster";
    for (program, mend) in [
        (
            "git",
            "install git, for suites with a git source".to_owned(),
        ),
        ("cargo-fmt", component("rustfmt")),
        ("cargo-clippy", component("clippy")),
        ("cargo-nextest", faster.to_owned()),
    ] {
        rows.push(asked(program, VERSION, State::Absent, &mend));
    }
    rows.extend(gpu_rows(&gpu::detect()));
    rows
}

fn missing_row(tool: &MissingTool) -> Row {
    Row::not_found(&tool.name, State::Missing, &tool.why, &tool.mend)
}

/// A row for a program in `PATH`, which prints its version in its first line.
fn asked(program: &str, arguments: &[&str], absent: State, mend: &str) -> Row {
    match Command::new(program).args(arguments).output() {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let is_version =
                |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
            let first = text.lines().next().unwrap_or_default();
            let version = first.split([' ', '(', ')']).find(is_version);
            let place = in_path(program).unwrap_or_default();
            let name = match arguments {
                [first, second, ..] => format!("{program} {first} {second}"),
                _ => program.into(),
            };
            Row::found(&name, place, version.unwrap_or_default())
        }
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Row::not_found(program, absent, text, mend)
        }
        Err(error) => Row::not_found(program, absent, error, mend),
    }
}

fn in_path(program: &str) -> Option<String> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| Path::is_file(file))
        .map(|file| file.display().to_string())
}

fn gpu_rows(gpus: &gpu::Gpus) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(driver) = &gpus.driver {
        let (major, minor) = driver.cuda_version;
        let (version, serves) = (
            driver.version.clone(),
            format!("serves CUDA {major}.{minor}"),
        );
        let version = version.unwrap_or_default();
        rows.push(Row::found("NVIDIA driver", serves, version));
    }
    for device in &gpus.devices {
        let (major, minor) = device.compute_capability;
        rows.push(Row::found("GPU", device, format!("{major}.{minor}")));
    }
    if let Some(problem) = &gpus.problem {
        let mend =
            "nothing to do for the CPU backend; install NVIDIA's driver for the CUDA backend";
        rows.push(Row::not_found("GPU", State::Absent, problem, mend));
    }
    rows
}

fn to_table(rows: &[Row]) -> String {
    let width = |of: fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let (tool, version) = (
        width(|row| row.tool.len()),
        width(|row| row.version.as_ref().map_or(0, String::len)),
    );
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let shown = row.version.as_deref().unwrap_or("");
        let line = format!(
            "{:tool$}  {:7}  {shown:version$}  {}",
            row.tool,
            row.state.word(),
            row.detail
        );
        text += line.trim_end();
        text.push('\n');
        // Tools of one package share their mend: once is enough.
        let next = rows.get(index + 1).and_then(|next| next.mend.as_ref());
        if let Some(mend) = row.mend.as_ref().filter(|mend| Some(*mend) != next) {
            text += &format!("{:tool$}  to fix: {mend}\n", "");
        }
    }
    text
}

fn to_json(rows: &[Row]) -> serde_json::Value {
    let complete = rows.iter().all(|row| row.state != State::Missing);
    let row = |row: &Row| {
        json!({
            "tool": row.tool,
            "state": row.state.word().to_lowercase(),
            "version": row.version,
            "detail": row.detail,
            "mend": row.mend,
        })
    };
    let rows: Vec<_> = rows.iter().map(row).collect();
    json!({ "schema_version": 1, "complete": complete, "tools": rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        vec![
            Row::found("clang", "/usr/bin/clang", "22.1.8"),
            Row::not_found(
                "ptxas",
                State::Missing,
                "not there",
                "run `cargo xtask setup`",
            ),
        ]
    }

    #[test]
    fn the_table_shows_the_mend_under_what_is_missing() {
        let expected = "clang  found    22.1.8  /usr/bin/clang\n\
                        ptxas  MISSING          not there\n       to fix: run `cargo xtask setup`\n";
        assert_eq!(to_table(&rows()), expected);
    }

    #[test]
    fn the_json_says_whether_all_is_there() {
        let value = to_json(&rows());
        assert_eq!(value["complete"], false);
        assert_eq!(value["tools"][1]["state"], "missing");
        assert_eq!(to_json(&rows()[..1])["complete"], true);
    }

    #[test]
    fn a_program_that_is_not_there_is_a_row_with_its_mend() {
        let row = asked(
            "superstep-no-such-program",
            &["--version"],
            State::Missing,
            "install it",
        );
        assert_eq!(
            (row.state, row.mend.as_deref()),
            (State::Missing, Some("install it"))
        );
    }

    #[test]
    fn no_gpu_is_no_failure() {
        let gpus = gpu::Gpus {
            problem: Some("no driver".into()),
            ..gpu::Gpus::default()
        };
        assert!(
            gpu_rows(&gpus)
                .iter()
                .all(|row| row.state != State::Missing)
        );
    }
}
