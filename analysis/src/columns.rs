//! Descriptions of columns shared by multiple tables.

pub(crate) const KERNEL: &str = "demangled name without parameters";
pub(crate) const KERNEL_SYMBOL: &str = "mangled name";
pub(crate) const STREAM: &str = "index of the stream, in order of first use";
pub(crate) const SUPERSTEP: &str = "index of the launch within its stream, from 0";
pub(crate) const LAUNCHES: &str = "number of launches";
pub(crate) const COMMUNICATED_LOADED_BYTES: &str =
    "last written in an earlier launch by another entity";
pub(crate) const SELF_LOADED_BYTES: &str =
    "last written in an earlier launch by the same entity alone";
pub(crate) const INPUT_LOADED_BYTES: &str = "last written by the host";
pub(crate) const UNINITIALISED_LOADED_BYTES: &str = "never written";
pub(crate) const UNORDERED_LOADED_BYTES: &str =
    "not written before the launch, but written during it by another thread, in unknown order";
pub(crate) const UNKNOWN_LOADED_BYTES: &str =
    "last written, or possibly last written, by an opaque launch";
pub(crate) const LOCAL_LOADED_BYTES: &str = "written earlier in the launch by the same thread";
pub(crate) const WITHIN_LAUNCH_LOADED_BYTES: &str =
    "loaded without atomics, and stored by another CTA in the same launch";
pub(crate) const WITHIN_LAUNCH_ATOMIC_BYTES: &str =
    "loaded by atomics, and stored by another CTA in the same launch";
pub(crate) const RECEIVED_BYTES: &str =
    "each byte counted once per receiving CTA, launch and source CTA";
pub(crate) const STORED_BYTES: &str = "stored, including atomics";
pub(crate) const COMMUNICATION_SHARE: &str = "communicated_stored_bytes / stored_bytes";
pub(crate) const SOURCE_STREAM: &str = "stream of the launch that wrote the data";
pub(crate) const RECEIVER_STREAM: &str = "stream of the launch that read the data";
pub(crate) const SUPERSTEP_OF_STREAM: &str = "index of that launch within its stream";
pub(crate) const DISTANCE: &str = "receiver − source − 1, in the order of the host's calls";
pub(crate) const PLACE: &str = "file and line of the host's call";
pub(crate) const SHARE_OF_TRANSFERRED: &str = "share of all transferred bytes";
pub(crate) const FILE: &str = "source file of the load";
pub(crate) const LINE: &str = "line number of the load, from 1";
