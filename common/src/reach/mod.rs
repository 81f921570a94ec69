//! The first acquaintance of two machines: tickets that introduce them, their messages at the introduction, notes that
//! they leave for each other, signs that one is there, and what a machine finds of its own way outside. On which ways they then meet and stay
//! connected is decided in [`crate::path::ways`].

mod introduction;
mod name;
mod note;
mod outside;
mod presence;
mod remembering;
mod ticket;

pub use self::introduction::{Introduced, LENGTH_BYTES, MAC_BYTES, MESSAGE_BYTES_MAX, Message, MessageError};
pub use self::name::{NAME_MAX, is_name, name_in, told_name};
pub use self::note::{NOTE_BYTES, NOTE_LIFE_MS, Note};
pub use self::outside::{Finding, Ipv6, Opened, Outside, Place, Port, Router};
pub use self::presence::{Presence, Signs};
pub use self::remembering::{FOUND_MAX, Remembering};
pub use self::ticket::{PROOF_BYTES, Purpose, TICKET_LIFE_S, Ticket, TicketError};
