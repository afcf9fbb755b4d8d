//! Protocols that carry a traced program's accesses out of its kernels.

crate::named! {
    /// The protocol of a traced program; `docs/capture/protocol.md` describes the CUDA backend's recording protocols.
    #[derive(Default)]
    pub enum Protocol("protocol") {
        /// Compact records in rings on the device, carried to the host by the kernel's warps.
        #[default]
        Stream => "stream",
        /// The warp-scope producer-consumer protocol of Rieber 2017, section 5.3.
        Thesis => "thesis",
        /// No records: accesses are aggregated while the kernel runs, on both backends.
        InSitu => "in-situ",
    }
}

#[cfg(test)]
mod tests;
