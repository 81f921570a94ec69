//! The turn of a call with one machine: its streams, joined to the loop.

use common::path::Directions;
use common::stream::talk::TALK;
use common::stream::video::VIDEO;
use common::units::Bitrate;
use common::wire::control::StreamId;
use net::failure::Failure;
use net::link::{LinkOptions, Streams, Waker};
use sending::SenderLink;
use shell::sd::Pulse;
use shell::sound::{Role, hurry};
use showing::present::SeenHook;
use showing::{Network, ReceiverLink};

use crate::handle::Handle;
use crate::sound::Line;
use crate::talking::{Hears, Says};

/// A call with one machine, before it turns.
pub(crate) struct Turn {
    pub(crate) handle: Handle,
    pub(crate) waker: Waker,
    pub(crate) link: SenderLink,
    pub(crate) options: LinkOptions,
    pub(crate) rate: Bitrate,
}

impl Turn {
    /// Returns what the receiving half is given. `is_last`: the process ends with this call.
    pub(crate) fn network(&self, pulse: Pulse, seen: Option<SeenHook>, is_last: bool) -> Network {
        let handle = self.handle.clone();
        Network {
            waker: self.waker.clone(),
            hang_up: Some(handle.hang_up),
            pulses: vec![pulse],
            own: Some(handle.own),
            latency_limit: handle.latency_limit,
            seen,
            sound: handle.sound,
            talk: Some(handle.talk),
            view: handle.view,
            recording: handle.recordings.received,
            is_last,
        }
    }

    /// Turns the loop on this thread until the call has ended.
    pub(crate) fn run(self, mut sound: Option<&mut Line>, mut receiver_link: ReceiverLink) -> Result<(), Failure> {
        let Self { handle, waker, mut link, options, rate } = self;
        let (mut says, mut hears) = (Says::new(&handle), Hears::new(&handle));
        if let Some(sound) = &mut sound {
            hurry(Role::Network);
            sound.record(receiver_link.recording(), link.recording());
        }
        let call = Streams::new(Directions::Both, rate).ended_by(handle.hang_up);
        let call = sound.into_iter().fold(call, |call, sound| sound.join(call));
        let call = call.with(StreamId::sent(VIDEO), &mut link).with(StreamId::received(VIDEO), &mut receiver_link);
        let call = call.with(StreamId::sent(TALK), &mut says).with(StreamId::received(TALK), &mut hears);
        let linked = net::link::run(options, &waker, &mut [call]);
        link.report_final();
        linked
    }
}
