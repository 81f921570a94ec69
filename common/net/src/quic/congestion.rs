//! A congestion controller that leaves the rate to the path.
//!
//! quinn's own controllers take every lost datagram for congestion and pace frames over a round trip. This one opens
//! the window far enough that neither happens: a second of the path's target of the moment, and more on longer
//! routes, and [`FRAMES_MIN`] frames at any target. This is enough for all that a call sends while it hears
//! nothing, coarse bands after the first second, until the connection ends: so datagrams sent right after a blackout
//! show at once that the path works again. A full window would wait for a probe, up to seconds. Loss does not change
//! the window, not even loss of everything for several round trips: the path has then cut its target to the coarse
//! bands (its circuit breaker), which the window follows with the next acknowledgement. A window that is halved again
//! for each such event opens only over several round trips after the peer is back, and frames wait in it. The window is
//! bounded, so that a peer that acknowledges nothing cannot fill our memory.

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory};

use crate::live_rate::LiveRate;

/// Round trip assumed before one is measured. A packet of a handshake that is lost is sent again after three of them,
/// then six, twelve; on a longer route the first of these is sent for nothing.
pub(super) const INITIAL_RTT: Duration = Duration::from_millis(30);

/// Smallest full window, bytes: room for control messages when no video is sent.
const WINDOW_MIN_BYTES: u64 = 64 << 10;
/// Number of the largest frames that the window holds: coarse bands, a tenth of them or less, for as long as a
/// connection lives in silence.
const FRAMES_MIN: u64 = 64;
/// Time whose bytes the window holds at least.
const SPAN_MIN: Duration = Duration::from_secs(1);

/// Figures on which the window depends besides the round trip.
#[derive(Clone, Debug)]
pub(super) struct Demand {
    /// Video rate now.
    pub(super) rate: LiveRate,
    /// Largest frame, bytes.
    pub(super) frame_bytes: u64,
}

impl Demand {
    /// Returns the window when nothing is wrong.
    fn window(&self, rtt: Duration) -> u64 {
        let span = (2 * rtt).max(SPAN_MIN);
        let in_flight = u128::from(self.rate.get().as_bps()) * span.as_micros() / 8_000_000;
        (FRAMES_MIN * self.frame_bytes).max(in_flight.min(1 << 40) as u64).max(WINDOW_MIN_BYTES)
    }
}

impl ControllerFactory for Demand {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        let window = self.window(INITIAL_RTT);
        Box::new(Passive { demand: (*self).clone(), window })
    }
}

#[derive(Clone, Debug)]
struct Passive {
    demand: Demand,
    window: u64,
}

impl Controller for Passive {
    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, _: bool, rtt: &RttEstimator) {
        self.window = self.demand.window(rtt.get());
    }

    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}

    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        self.window
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.demand.window(INITIAL_RTT)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::units::Bitrate;

    fn demand(rate_bps: u64, frame_bytes: u64) -> Demand {
        Demand { rate: LiveRate::new(Bitrate::from_bps(rate_bps)), frame_bytes }
    }

    #[test]
    fn no_loss_closes_the_window() {
        let demand = Arc::new(demand(40_000_000, 17_000));
        let now = Instant::now();
        let mut controller = demand.build(now, 1200);
        assert_eq!(controller.window(), 5_000_000);
        for is_persistent_congestion in [false, true, true] {
            controller.on_congestion_event(now, now, is_persistent_congestion, 50_000);
            assert_eq!(controller.window(), 5_000_000);
        }
    }

    #[test]
    fn many_frames_always_fit_and_the_rate_is_that_of_the_moment() {
        assert_eq!(demand(0, 0).window(Duration::from_secs(1)), WINDOW_MIN_BYTES);
        assert_eq!(demand(800_000, 170_000).window(Duration::from_millis(50)), 64 * 170_000);
        let demand = demand(40_000_000, 17_000);
        assert_eq!(demand.window(Duration::from_millis(50)), 5_000_000);
        assert_eq!(demand.window(Duration::from_millis(700)), 7_000_000);
        demand.rate.set(Bitrate::from_bps(80_000_000));
        assert_eq!(demand.window(Duration::from_millis(50)), 10_000_000);
    }
}
