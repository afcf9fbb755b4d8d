//! Host objects with the device code of their module in them.

pub(crate) mod embedded;
pub(crate) mod linked;
pub(crate) mod record;
pub(crate) mod registration;
