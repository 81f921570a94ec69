//! Errors of a connection, by the remedy that a person has.

use std::net::SocketAddr;

use common::config::PublicKey;

use crate::failure::Failure;
use crate::quoted::Quoted;

/// Bytes of QUIC's first packets, with the headers of UDP and IPv4. Ways of IPv6 carry as much everywhere.
pub(crate) const PACKET_BYTES: u16 = 1228;

/// Reasons for which no socket of QUIC's can be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BindError {
    #[error(
        "the address {0} is in use: another program, perhaps another receiver or sender, listens there; choose another with --listen IP:PORT"
    )]
    AddressInUse(SocketAddr),
    #[error(
        "UDP port {0}, where {1} expects this machine, is in use here: end the program that has it, perhaps another sender \
         or receiver; for both directions at once use `sender call {1}`"
    )]
    MeetingPlaceInUse(u16, String),
    #[error("cannot open a socket at {address}: {message}")]
    Socket { address: SocketAddr, message: String },
    #[error("the network cannot be used: {0}")]
    Other(String),
}

impl From<BindError> for Failure {
    fn from(error: BindError) -> Self {
        Self::network(error)
    }
}

/// Reasons for which there is no connection, or no more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QuicError {
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(
        "the other machine refused this machine's key {own}: add it there with `--peer {own}` or in a [[peer]] section"
    )]
    RefusedByPeer { own: PublicKey },
    #[error(
        "the other machine refused this machine's identity: the signature does not belong to the key {own}; move the identity file away and make a new one"
    )]
    SignatureRefusedByPeer { own: PublicKey },
    #[error(
        "the other machine shows the key {0}, which is not allowed here: if it is the right machine, add `--peer {0}` or a [[peer]] section"
    )]
    KeyNotAllowed(PublicKey),
    #[error(
        "the other machine could not prove that its key is its own: it may be someone else's machine; check the address"
    )]
    SignatureInvalid,
    #[error(
        "the other machine speaks no protocol known here: start both alike, with `sender call` or both without, and update the older side"
    )]
    NoCommonProtocol,
    #[error(
        "the handshake was refused (TLS alert {0}) before anything proved that it was the other machine that refused it"
    )]
    RefusedByAnybody(u8),
    /// The machine that was dialled, as it is called here.
    #[error("{0} is in a call with another machine")]
    InAnotherCall(String),
    #[error("{0} has declined the call")]
    Declined(String),
    #[error("{0} does not want to be disturbed now")]
    DoNotDisturb(String),
    #[error("{0} has removed this machine and does not know it any more: introduce the two anew")]
    Removed(String),
    #[error("the secure handshake failed: {0}")]
    Handshake(String),
    #[error("no answer")]
    TimedOut,
    /// Bytes that a packet on the way there may have; none: it is not known, but smaller ones get through.
    #[error(
        "no answer: packets of 1200 bytes do not get through{}; a tunnel on the way may carry too little, see \"Troubleshooting\"", 
        .0.map(|mtu| format!(", since the way there carries {mtu} bytes at most and a call needs {PACKET_BYTES}")).unwrap_or_default()
    )]
    LargePackets(Option<u16>),
    /// The reason as the peer says it.
    #[error("the other side closed the connection ({})", Quoted(.0))]
    Closed(String),
    #[error("the other side has restarted")]
    Reset,
    #[error("this side has closed it")]
    ClosedHere,
    #[error("the address {address} cannot be reached: {message}")]
    Unreachable { address: String, message: String },
    #[error("the connection failed: {0}")]
    Other(String),
}

impl QuicError {
    /// Returns true if trying again cannot help: a person must change something first.
    ///
    /// No such error counts before the other side has proved its key: until then, anyone who sees the packets of a
    /// handshake can answer them, and would end the daemon with one forged packet.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::Bind(error) => !matches!(error, BindError::Other(_)),
            Self::RefusedByPeer { .. } | Self::SignatureRefusedByPeer { .. } => true,
            Self::KeyNotAllowed(_)
            | Self::SignatureInvalid
            | Self::NoCommonProtocol
            | Self::RefusedByAnybody(_)
            | Self::InAnotherCall(_)
            | Self::Declined(_)
            | Self::DoNotDisturb(_)
            | Self::Removed(_)
            | Self::Handshake(_)
            | Self::TimedOut
            | Self::LargePackets(_)
            | Self::Closed(_)
            | Self::Reset
            | Self::ClosedHere
            | Self::Unreachable { .. }
            | Self::Other(_) => false,
        }
    }

    /// Returns true if the other side has said that there is no call now.
    pub(crate) fn is_no(&self) -> bool {
        matches!(self, Self::InAnotherCall(_) | Self::Declined(_) | Self::DoNotDisturb(_) | Self::Removed(_))
    }

    /// Returns true if this is what happens to everybody who is called now and then: a caller that gave up or began anew.
    pub(crate) fn is_mishap(&self) -> bool {
        matches!(self, Self::TimedOut | Self::Reset | Self::ClosedHere)
    }

    /// Returns true if this is what a person must mend, should it be true.
    pub(crate) fn is_mistake(&self) -> bool {
        self.is_final()
            || matches!(
                self,
                Self::KeyNotAllowed(_)
                    | Self::SignatureInvalid
                    | Self::NoCommonProtocol
                    | Self::RefusedByAnybody(_)
                    | Self::LargePackets(_)
            )
    }
}

impl From<QuicError> for Failure {
    fn from(error: QuicError) -> Self {
        Self::network(error)
    }
}
