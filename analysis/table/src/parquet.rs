//! Parquet files, written by the program `superstep-parquet`.

use std::error::Error;
use std::io::{BufWriter, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Schema};

use crate::staged::Staged;

const PROGRAM: &str = "superstep-parquet";

type BoxedError = Box<dyn Error + Send + Sync>;

/// Why the program could not be started.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error("{PROGRAM} writes Parquet and is not in {}; unpack the archive anew (in the repository, run `cargo xtask build`)", folder.display())]
    NotBuilt { folder: PathBuf },
    #[error("failed to start {}: {source}", program.display())]
    NotStarted {
        program: PathBuf,
        source: std::io::Error,
    },
}

/// A running `superstep-parquet` that writes `file`.
pub(crate) struct ParquetWriter {
    rows: StreamWriter<BufWriter<ChildStdin>>,
    program: Child,
    file: Staged,
}

impl ParquetWriter {
    pub(crate) fn is_built() -> bool {
        program().is_ok()
    }

    pub(crate) fn new(file: Staged, schema: &Schema) -> Result<Self, BoxedError> {
        let path = program()?;
        let mut program = Command::new(&path)
            .stdin(Stdio::piped())
            .stdout(file.handle()?)
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| StartError::NotStarted {
                program: path,
                source,
            })?;
        let pipe = program.stdin.take().expect("stdin is piped");
        Ok(Self {
            rows: StreamWriter::try_new_buffered(pipe, schema)?,
            program,
            file,
        })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), BoxedError> {
        self.rows.write(batch).or_else(|error| self.explain(error))
    }

    pub(crate) fn finish(mut self) -> Result<Staged, BoxedError> {
        if let Err(error) = self.rows.finish() {
            self.explain(error)?;
        }
        let Self {
            rows,
            mut program,
            file,
        } = self;
        // The end of the stream.
        drop(rows);
        match failure(&mut program)? {
            None => Ok(file),
            Some(why) => Err(why.into()),
        }
    }

    /// The program's own words on why it takes no more rows, if it has ended.
    fn explain(&mut self, error: ArrowError) -> Result<(), BoxedError> {
        match &error {
            ArrowError::IoError(_, source) if source.kind() == std::io::ErrorKind::BrokenPipe => {
                Err(failure(&mut self.program)?.map_or_else(|| error.into(), Into::into))
            }
            _ => Err(error.into()),
        }
    }
}

/// Waits for the end of the program; what it says about a failure.
fn failure(program: &mut Child) -> std::io::Result<Option<String>> {
    let mut words = String::new();
    if let Some(mut stderr) = program.stderr.take() {
        stderr.read_to_string(&mut words)?;
    }
    let status = program.wait()?;
    Ok((!status.success()).then(|| match words.trim() {
        "" => format!("{PROGRAM} ended with {status}"),
        words => words.to_owned(),
    }))
}

/// The program beside this one; test programs lie one folder further down.
fn program() -> Result<PathBuf, BoxedError> {
    let this = std::env::current_exe()?;
    let folder = this.parent().unwrap_or(Path::new("."));
    let found = folder
        .ancestors()
        .take(2)
        .map(|folder| folder.join(PROGRAM));
    Ok(found
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| StartError::NotBuilt {
            folder: folder.to_owned(),
        })?)
}
