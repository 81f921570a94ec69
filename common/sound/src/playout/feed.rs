//! Way of units from the network's thread into the callback.

use std::sync::Arc;

use rtrb::Producer;

use crate::observed::{Outcome, Shared};
use crate::unit::{Body, Unit};

/// Numbers that are remembered as pushed.
const REMEMBERED: usize = 1024;

/// The network thread's end of the ring.
#[derive(Debug)]
pub struct Feed {
    units: Producer<Unit>,
    /// By the number's lower bits: number, epoch, and the best form of its sound that was pushed.
    pushed: Vec<Option<(u32, u8, Body)>>,
    shared: Arc<Shared>,
}

impl Feed {
    pub(crate) fn new(units: Producer<Unit>, shared: Arc<Shared>) -> Self {
        Self { units, pushed: vec![None; REMEMBERED], shared }
    }

    /// Hands a unit to the callback, its own sound and copies in any order. Returns false where the ring has no room: nobody plays, or
    /// the peer floods. A copy of what was pushed before already is left out.
    pub fn push(&mut self, unit: &Unit) -> bool {
        let place = &mut self.pushed[unit.number as usize % REMEMBERED];
        let best = place.filter(|(number, epoch, _)| (*number, *epoch) == (unit.number, unit.epoch));
        let is_known = matches!((best, unit.body), (Some((.., Body::Whole)), _) | (Some(_), Body::Adpcm));
        // A packet's own sound tells about the line, whatever came before it.
        if unit.copies_back > 0 && is_known {
            return true;
        }
        if self.units.push(unit.clone()).is_err() {
            self.shared.count(Outcome::Dropped);
            return false;
        }
        if !is_known {
            *place = Some((unit.number, unit.epoch, unit.body));
        }
        true
    }
}
