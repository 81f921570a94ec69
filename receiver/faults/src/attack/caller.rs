//! Somebody who calls a daemon.

use std::net::Ipv4Addr;

use anyhow::Result;

use super::Stage;
use crate::hostile;

/// Does `act` with a socket that calls the holder of the stage's key `peer` as the holder of `own`.
pub(super) fn call<T>(
    stage: &Stage,
    own: &str,
    peer: &str,
    act: impl AsyncFnOnce(&quinn::Endpoint) -> Result<T>,
) -> Result<T> {
    let config = hostile::client(&stage.identity(own)?, stage.identity(peer)?.public_key())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let endpoint = hostile::endpoint(Ipv4Addr::LOCALHOST, config)?;
        let result = act(&endpoint).await;
        endpoint.close(0u32.into(), b"");
        result
    })
}
