//! Host objects that contain the device code of their module.

pub(crate) mod embedded;
pub(crate) mod linked;
pub(crate) mod record;
pub(crate) mod registration;
