//! Kernel launches and the ways to record them.
//!
//! An exported function turns a launch into a [`Call`]. `launch` finds its kernel, whose [`Recorder`] was chosen when
//! the module was registered; `launch::graph_nodes` and `launch::graphs` do the same for CUDA graphs, and
//! `launch::opaque` records launches of other code. `tracing` contains the recorder for the `stream` and `thesis`
//! protocols.

pub mod counting;
pub mod drain;
pub mod error;
pub mod host_access;
pub mod in_situ;
pub mod launch;
pub mod probing;
pub mod runtime;
pub mod selection;
pub mod stream;
pub mod thesis;
mod tracing;

pub use error::RecordError;

use crate::cuda::Status;
use crate::model::graphs::NodeRecording;
use crate::model::modules::Kernel;
use launch::Call;
use launch::graph_nodes::Insertion;

pub trait Recorder: Send + Sync {
    /// Launches a kernel into a stream. Returns an error, without running it, if it cannot be recorded.
    fn launch(&self, call: &Call<'_>, kernel: &Kernel) -> Result<Status, RecordError>;

    fn add_to_graph(
        &self,
        kernel: &Kernel,
        place: &mut dyn Insertion,
    ) -> Result<NodeRecording, RecordError>;
}

pub struct Timing;

impl Recorder for Timing {
    fn launch(&self, call: &Call<'_>, kernel: &Kernel) -> Result<Status, RecordError> {
        Ok(call.timed(call.begin(kernel), || call.launch_as_is()))
    }

    fn add_to_graph(
        &self,
        _kernel: &Kernel,
        place: &mut dyn Insertion,
    ) -> Result<NodeRecording, RecordError> {
        place.kernel(None)?;
        Ok(NodeRecording::Timed)
    }
}
