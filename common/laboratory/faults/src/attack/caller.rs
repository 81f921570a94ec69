//! A peer that calls a daemon, or is called by it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Result;
use net::tls::{PeerVerifier, Protocol, server_config};
use quinn::crypto::rustls::QuicServerConfig;

use super::Testbed;
use crate::hostile;

/// Does `act` with a socket that calls the holder of the testbed's key `peer` as the holder of `own`.
pub(super) fn call<T>(
    testbed: &Testbed,
    own: &str,
    peer: &str,
    act: impl AsyncFnOnce(&quinn::Endpoint) -> Result<T>,
) -> Result<T> {
    let config = hostile::client(&testbed.identity(own)?, testbed.identity(peer)?.public_key())?;
    hostile::block_on(async {
        let endpoint = hostile::endpoint(Ipv4Addr::LOCALHOST, config)?;
        let result = act(&endpoint).await;
        endpoint.close(0u32.into(), b"");
        result
    })
}

/// Does `act` with a socket that waits, as the holder of the testbed's key `own`, for calls of the holder of `peer`.
pub(super) fn listen<T>(
    testbed: &Testbed,
    own: &str,
    peer: &str,
    act: impl AsyncFnOnce(&quinn::Endpoint, SocketAddr) -> Result<T>,
) -> Result<T> {
    let verifier = PeerVerifier::new([testbed.identity(peer)?.public_key()]);
    let tls = server_config(testbed.identity(own)?.certified_key()?, verifier, Protocol::Call)?;
    let config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    hostile::block_on(async {
        let endpoint = quinn::Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into())?;
        let result = act(&endpoint, endpoint.local_addr()?).await;
        endpoint.close(0u32.into(), b"");
        result
    })
}
