//! Downloads over `https`. One attempt; whoever adds resuming and retries does it here.

use std::io::Read;
use std::time::Duration;

use super::error::FetchError;

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a server may take until its answer begins.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// Opens `url` and gives the body, of any length. The caller hashes it.
///
/// # Errors
/// When the server cannot be reached or answers with an error.
pub(super) fn open(url: &str, option: &'static str) -> Result<impl Read + use<>, FetchError> {
    let agent = ureq::Agent::new_with_config(
        ureq::Agent::config_builder()
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_recv_response(Some(RESPONSE_TIMEOUT))
            .build(),
    );
    match agent.get(url).call() {
        Ok(response) => Ok(response
            .into_body()
            .into_with_config()
            .limit(u64::MAX)
            .reader()),
        Err(error) => Err(FetchError::Unreachable {
            url: url.to_owned(),
            detail: error.to_string(),
            option,
        }),
    }
}
