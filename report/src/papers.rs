//! The works that documents cite, by the short names that figures and tables use for them.

/// Short name, and the full citation.
pub(crate) struct Work {
    pub(crate) name: &'static str,
    pub(crate) citation: &'static str,
}

/// The thesis.
pub(crate) const RIEBER: Work = Work {
    name: "Rieber 2017",
    citation: "“The thesis”: D. S. Rieber, Characterization of GPU Communication: A Scientific Exploration, Heidelberg University, 2017",
};

/// What the studies of probes repeat.
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
