//! Reasons why a launch cannot be recorded.

use crate::cuda::{CudaError, Status};
use superstep_abi::variable::PROTOCOL;
use superstep_runtime_core::probe::TooLarge;
use superstep_trace::Protocol;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum RecordError {
    /// CUDA rejected the program's own call, and the program gets the error code.
    #[error("{0}")]
    Refused(Status),
    #[error(transparent)]
    Cuda(#[from] CudaError),
    #[error(transparent)]
    Probe(#[from] TooLarge),
    #[error(
        "the program was built for protocol {0:?}, which this library does not support; rebuild it"
    )]
    UnknownProtocol(String),
    #[error(
        "the program was built for --protocol {built}, but {variable} requests {wanted}; rebuild it for that protocol, or unset the variable",
        variable = PROTOCOL
    )]
    OtherProtocol { built: Protocol, wanted: Protocol },
    #[error("protocol {0} does not support CUDA graphs; build the program with --protocol stream")]
    NoGraphs(Protocol),
    #[error("the in-situ protocol records nothing")]
    NoBuffer,
    #[error("failed to start a consumer thread: {0}")]
    Thread(#[from] std::io::Error),
    #[error("failed to create the CUDA event that signals the arrival of a launch's results")]
    NoEventForResults,
    #[error("failed to create a CUDA event")]
    NoEvent,
    #[error("failed to time the kernel: {0}")]
    NoTime(Status),
    #[error(
        "kernels that launch kernels are not supported in CUDA graphs; launch them into a stream"
    )]
    ChildrenInGraph,
    #[error("probes are not supported in CUDA graphs; launch the kernel into a stream")]
    ProbeInGraph,
    #[error(
        "its arguments are passed as a single block (extra); pass one pointer per argument (kernelParams)"
    )]
    ArgumentsInOneBlock,
    #[error(
        "{kernel} requested {launches} launches and copies with {bytes} bytes of arguments; there is room for only {room}, with {room_bytes} bytes"
    )]
    TooManyChildren {
        kernel: String,
        launches: u64,
        bytes: u64,
        room: usize,
        room_bytes: usize,
    },
    #[error(
        "{0} launches a kernel through an address loaded from memory; name the kernel directly in the launch"
    )]
    UnnamedChild(String),
    #[error("{0} received too few arguments")]
    TooFewArguments(String),
    #[error(
        "a grid of {ctas} CTAs exceeds the {max} that --in-situ can distinguish; trace the program without --in-situ"
    )]
    TooManyCtas { ctas: u128, max: u64 },
    #[error(
        "launch number {0} exceeds the limit of --in-situ; trace part of the program (--launch-count)"
    )]
    TooManyLaunches(u64),
    #[error("shadow memory would take more than the {0} bytes that --shadow-memory allows")]
    ShadowMemoryLimit(u64),
    #[error("shadow memory would take {bytes} of the device's {free} free bytes")]
    NoShadowMemory { bytes: u64, free: usize },
    #[error("failed to find a table slot for every block of shadow memory")]
    ShadowTable,
}

impl From<Status> for RecordError {
    fn from(status: Status) -> Self {
        RecordError::Refused(status)
    }
}
