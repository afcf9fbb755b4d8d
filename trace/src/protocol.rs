//! How records get from a GPU to the host.

use crate::named::named;

named! {
    /// The protocol of the CUDA backend; `docs/capture/protocol.md` describes both.
    #[derive(Default)]
    pub enum Protocol("protocol") {
        /// Compact records in rings on the device, carried to the host by the kernel's warps.
        #[default]
        Stream => "stream",
        /// The warp-scope producer-consumer protocol of Rieber 2017, section 5.3.
        Thesis => "thesis",
    }
}

#[cfg(test)]
mod tests {
    use super::Protocol;

    #[test]
    fn names_are_those_in_files() {
        for protocol in Protocol::ALL {
            assert_eq!(protocol.name().parse(), Ok(protocol));
            let json = serde_json::to_string(&protocol).unwrap();
            assert_eq!(json, format!("\"{protocol}\""));
        }
        assert!("Stream".parse::<Protocol>().is_err());
    }
}
