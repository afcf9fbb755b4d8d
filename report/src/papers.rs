//! The works that documents cite, by the short names that figures and tables use for them, and published times to compare with.

pub(crate) struct Work {
    pub(crate) name: &'static str,
    pub(crate) citation: &'static str,
}

pub(crate) const RIEBER: Work = Work {
    name: "Rieber 2017",
    citation: "“The thesis”: D. S. Rieber, Characterization of GPU Communication: A Scientific Exploration, Heidelberg University, 2017",
};

/// Papers whose results the studies of probes reproduce.
pub(crate) const STUDIES: [Work; 2] = [
    Work {
        name: "SASSI",
        citation: "M. Stephenson, S. K. S. Hari, Y. Lee, E. Ebrahimi, D. R. Johnson, D. Nellans, M. O’Connor and S. W. Keckler, \
                   Flexible Software Profiling of GPU Architectures, ISCA 2015",
    },
    Work {
        name: "GPU Ocelot",
        citation: "N. Farooqui, A. Kerr, G. Diamos, S. Yalamanchili and K. Schwan, \
                   A Framework for Dynamically Instrumenting GPU Compute Applications within GPU Ocelot, GPGPU-4, 2011",
    },
];

/// Kernel time of a program of [`CPU_SUITE`] on a processor.
pub struct CpuTime {
    pub program: &'static str,
    pub problem: &'static str,
    pub ms: f64,
    pub by: &'static str,
}

/// The suite whose programs others have timed on processors.
pub const CPU_SUITE: &str = "rodinia";
/// The size in its manifests that they used.
pub const CPU_SIZE: &str = "published";
/// The program of that suite whose tracing is measured, and at which size.
pub const CPU_TRACED: (&str, &str) = ("hotspot3D", "thesis");
/// The best times that were published for two cores with AVX-512.
pub const CPU_TIMES: [CpuTime; 7] = [
    cpu_time("hotspot", "512 × 512, 1000 steps", 1650.0, "PoCL"),
    cpu_time("pathfinder", "100000 × 100", 38.0, "CuPBoP"),
    cpu_time("nw", "2048", 65.0, "CuPBoP"),
    cpu_time("lud", "512", 33.0, "CuPBoP"),
    cpu_time("gaussian", "1024", 1240.0, "CuPBoP"),
    cpu_time("srad_v2", "2048 × 2048, 2 iterations", 530.0, "CuPBoP"),
    cpu_time("bfs", "1M nodes", 49.0, "PoCL"),
];
/// The best time of an empty launch with synchronisation, in microseconds.
pub const CPU_EMPTY_LAUNCH_US: f64 = 4.0;

const fn cpu_time(
    program: &'static str,
    problem: &'static str,
    ms: f64,
    by: &'static str,
) -> CpuTime {
    CpuTime {
        program,
        problem,
        ms,
        by,
    }
}
