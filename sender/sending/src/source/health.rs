//! State of a source, as it tells it while it gives pictures or none.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use common::stats::UnusablePictures;
use net::lock::lock;

/// Reasons for which a picture that has come cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// It has no bytes.
    Empty,
    /// It has fewer bytes than a picture, or more than its memory.
    Short,
    /// The driver says that it may be damaged.
    Flagged,
    /// The driver could not fetch it.
    Failed,
    /// It is damaged or of a kind that cannot be decoded.
    Damaged,
}

impl Unusable {
    /// All reasons, with the words for people.
    pub const ALL: [(Self, &str); 5] = [
        (Self::Empty, "empty"),
        (Self::Short, "too short"),
        (Self::Flagged, "damaged, says the driver"),
        (Self::Failed, "not fetched by the driver"),
        (Self::Damaged, "damaged or of an unknown kind"),
    ];
}

/// Shared by a source, which writes it, and whoever tells others.
#[derive(Debug, Default)]
pub struct Health {
    /// True while the device has gone.
    lost: AtomicBool,
    withheld: AtomicBool,
    unusable: [AtomicU64; Unusable::ALL.len()],
    trouble: Mutex<Option<String>>,
    has_ended: Mutex<bool>,
    ended: Condvar,
}

impl Health {
    /// Ends the source's waits for its device, for good.
    pub fn end(&self) {
        *lock(&self.has_ended) = true;
        self.ended.notify_all();
    }

    /// Waits for that, for `most` at most; true if it has come.
    pub fn ends_within(&self, most: Duration) -> bool {
        let waited = self.ended.wait_timeout_while(lock(&self.has_ended), most, |has_ended| !*has_ended);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Says whether the device has gone.
    pub fn set_lost(&self, lost: bool) {
        self.lost.store(lost, Ordering::Relaxed);
    }

    /// Returns true while the device has gone.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Says whether no pictures are to be sent, wherever there are some.
    pub fn set_withheld(&self, withheld: bool) {
        self.withheld.store(withheld, Ordering::Relaxed);
    }

    /// Returns true while no pictures are to be sent.
    pub fn is_withheld(&self) -> bool {
        self.withheld.load(Ordering::Relaxed)
    }

    /// Counts a picture that cannot be used.
    pub fn count(&self, reason: Unusable) {
        self.unusable[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many pictures could not be used, in all and by reason.
    pub fn unusable(&self) -> UnusablePictures {
        let of = |reason: Unusable| self.unusable[reason as usize].load(Ordering::Relaxed);
        UnusablePictures {
            empty: of(Unusable::Empty),
            short: of(Unusable::Short),
            flagged: of(Unusable::Flagged),
            failed: of(Unusable::Failed),
            damaged: of(Unusable::Damaged),
        }
    }

    /// Says in a sentence why pictures that come cannot be used; none: they can.
    pub fn set_trouble(&self, trouble: Option<String>) {
        *lock(&self.trouble) = trouble;
    }

    /// Returns why pictures that come cannot be used.
    pub fn trouble(&self) -> Option<String> {
        lock(&self.trouble).clone()
    }
}
