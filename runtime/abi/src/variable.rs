//! Names of the environment variables passed to a traced program. [`Config`](crate::Config) explains those that
//! configure it.

pub const BINS: &str = "SUPERSTEP_BINS";
pub const BIN_RECORDS: &str = "SUPERSTEP_BIN_RECORDS";
pub const CAPTURE: &str = "SUPERSTEP_CAPTURE";
pub const CONSUMER_PAUSE_US: &str = "SUPERSTEP_CONSUMER_PAUSE_US";
pub const CPU_DEVICES: &str = "SUPERSTEP_CPU_DEVICES";
pub const CPU_FIBERS: &str = "SUPERSTEP_CPU_FIBERS";
pub const CPU_STACK_KIB: &str = "SUPERSTEP_CPU_STACK_KIB";
pub const CPU_THREADS: &str = "SUPERSTEP_CPU_THREADS";
pub const CTAS: &str = "SUPERSTEP_CTAS";
pub const CTA_BLOCKS: &str = "SUPERSTEP_CTA_BLOCKS";
pub const HOST_PIECES: &str = "SUPERSTEP_HOST_PIECES";
pub const KERNEL: &str = "SUPERSTEP_KERNEL";
pub const LAUNCH_COUNT: &str = "SUPERSTEP_LAUNCH_COUNT";
pub const LAUNCH_SKIP: &str = "SUPERSTEP_LAUNCH_SKIP";
/// Path of the list of files to load for a program that embeds its device code as bitcode.
pub const MODULES: &str = "SUPERSTEP_MODULES";
/// The program's `argv[0]`; read and removed by its libcudart stub.
pub const NAME: &str = "SUPERSTEP_NAME";
pub const PROBE_PARAMETERS: &str = "SUPERSTEP_PROBE_PARAMETERS";
pub const PROBE_RESULTS: &str = "SUPERSTEP_PROBE_RESULTS";
pub const PROBE_THREADS: &str = "SUPERSTEP_PROBE_THREADS";
pub const PROTOCOL: &str = "SUPERSTEP_PROTOCOL";
pub const RING_PIECES: &str = "SUPERSTEP_RING_PIECES";
/// Libraries to load as the program's CUDA runtime; read by its libcudart stub.
pub const RUNTIME: &str = "SUPERSTEP_RUNTIME";
pub const SAMPLE_CTAS: &str = "SUPERSTEP_SAMPLE_CTAS";
pub const SAMPLE_LAUNCHES: &str = "SUPERSTEP_SAMPLE_LAUNCHES";
pub const SAMPLE_SEED: &str = "SUPERSTEP_SAMPLE_SEED";
pub const SHADOW_MEMORY: &str = "SUPERSTEP_SHADOW_MEMORY";
pub const SINK: &str = "SUPERSTEP_SINK";
pub const SOURCES: &str = "SUPERSTEP_SOURCES";
pub const SUMMARY: &str = "SUPERSTEP_SUMMARY";
pub const WATCHDOG_S: &str = "SUPERSTEP_WATCHDOG_S";
pub const WORKERS: &str = "SUPERSTEP_WORKERS";
