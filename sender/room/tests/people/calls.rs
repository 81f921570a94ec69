//! Calls that ring.

use net::lock::lock;
use room::people::{Answer, Event, Presence, State, What, Why};

use crate::support::{Band, Room, alone, build_sender, until};

/// Each of the two as the one that dials.
fn in_either_role(test: impl Fn(&Band<2>, [usize; 2])) {
    let band = Band::new(["robert", "clara"]);
    test(&band, [0, 1]);
    let band = Band::new(["robert", "clara"]);
    // Whoever has the smaller key.
    let first = usize::from(band.keys[1] > band.keys[0]);
    test(&band, [first, 1 - first]);
}

fn calls_and_is_taken(band: &Band<2>, caller: &Room, called: &Room, [one, other]: [usize; 2]) {
    caller.people.call(&band.keys[other]);
    called.until(&Event::Rings(band.who(one)));
    until("ringing", || matches!(caller.people.state(), State::Calling { rings: true, .. }).then_some(()));
    assert!(called.people.handle().is_none(), "nothing is opened before the call is taken");
    called.people.take(&band.keys[one]);
    caller.sees_the_other();
    called.sees_the_other();
}

#[test]
fn a_call_rings_and_is_taken_and_both_see_texts_hidden_pictures_and_recordings_and_another_call_follows() {
    let name =
        "calls::a_call_rings_and_is_taken_and_both_see_texts_hidden_pictures_and_recordings_and_another_call_follows";
    alone(name, || {
        // As in the program itself, which goes on after a call.
        shell::signals::serve();
        let band = Band::new(["robert", "clara"]);
        let (robert, clara) = (band.room(0), band.room(1));
        until("presence", || {
            let there = [&robert, &clara].map(|room| room.people.list()[0].presence == Presence::There);
            (there == [true, true]).then_some(())
        });
        calls_and_is_taken(&band, &robert, &clara, [0, 1]);
        let [his, hers] = [&robert, &clara].map(|room| room.people.handle().unwrap());
        assert_eq!(robert.people.list()[0].presence, Presence::InCall);

        his.talk.say("a text\nwith \u{202e}tricks").unwrap();
        let mut seen = 0;
        let heard = until("the text", || hers.talk.since(&mut seen).pop());
        assert_eq!((heard.text.as_str(), heard.is_own), ("a text\nwith \u{202e}tricks", false));
        hers.talk.set_recording(true);
        until("the red dot", || his.talk.theirs().is_recording.then_some(()));

        hers.own.set_hidden(true);
        until("the card", || (lock(&robert.seen).covers == 1).then_some(()));
        // His own picture goes on, which takes as much time as hers would.
        clara.sees_the_other();
        assert_eq!(lock(&robert.seen).pictures_since, 0, "nothing of hers is shown");
        hers.own.set_hidden(false);
        robert.sees_the_other();

        robert.people.hang_up();
        robert.until(&Event::Ended(band.who(1), Why::Here));
        clara.until(&Event::Ended(band.who(0), Why::There));
        assert_eq!([robert.people.state(), clara.people.state()], [State::Home, State::Home]);
        assert!(clara.people.list()[0].last_call_ms.is_some());
        assert!(!shell::signals::is_ending(), "the program ends with its first call");
        // Again, and the other way round, in the same processes: whoever has been hung up on calls back at once.
        calls_and_is_taken(&band, &clara, &robert, [1, 0]);
        clara.people.hang_up();
        robert.until(&Event::Ended(band.who(1), Why::There));
        clara.until(&Event::Ended(band.who(0), Why::Here));
        calls_and_is_taken(&band, &robert, &clara, [0, 1]);
    });
}

#[test]
fn a_call_is_declined_or_missed_or_disturbs_and_both_know() {
    alone("calls::a_call_is_declined_or_missed_or_disturbs_and_both_know", || {
        in_either_role(|band, [one, other]| {
            let (caller, called) = (band.room(one), band.room(other));
            let [here, there] = [band.who(one), band.who(other)];
            caller.people.call(&there.key);
            called.until(&Event::Rings(here.clone()));
            until("ringing", || matches!(caller.people.state(), State::Calling { rings: true, .. }).then_some(()));
            caller.people.hang_up();
            caller.until(&Event::Ended(there.clone(), Why::Kept(What::NotTaken)));
            called.until(&Event::RingEnded(here.clone(), true));
            assert_eq!(called.people.list()[0].reasons[0].what, What::Missed);

            caller.people.call(&there.key);
            called.until(&Event::Rings(here.clone()));
            called.people.decline(&here.key);
            caller.until(&Event::Ended(there.clone(), Why::Kept(What::Declined)));
            assert_eq!(caller.people.list()[0].reasons[0].what, What::Declined);

            called.people.set_answer(Answer::DoNotDisturb);
            until("the answer", || (called.people.answer() == Answer::DoNotDisturb).then_some(()));
            called.rest();
            caller.people.call(&there.key);
            caller.until(&Event::Ended(there.clone(), Why::Kept(What::DoNotDisturb)));
            assert_eq!(called.rest(), [Event::ToldNotToDisturb(here.clone())]);
        });
    });
}

#[test]
fn a_third_is_told_that_this_side_is_busy_and_calls_are_taken_at_once_where_that_is_wished() {
    alone("calls::a_third_is_told_that_this_side_is_busy_and_calls_are_taken_at_once_where_that_is_wished", || {
        let band = Band::new(["robert", "clara", "tina"]);
        let [robert, clara, tina] = [0, 1, 2].map(|who| band.room(who));
        clara.people.set_answer(Answer::AtOnce);
        robert.people.call(&band.keys[1]);
        robert.sees_the_other();
        clara.sees_the_other();
        assert!(!clara.rest().iter().any(|event| matches!(event, Event::Rings(_))));
        tina.people.call(&band.keys[0]);
        robert.until(&Event::ToldBusy(band.who(2)));
        until("busy", || match tina.people.state() {
            State::Calling { why_not: Some(net::link::Obstacle::InAnotherCall), .. } => Some(()),
            _ => None,
        });
        tina.people.hang_up();
        tina.until(&Event::Ended(band.who(0), Why::Kept(What::Busy)));
        robert.sees_the_other();
    });
}

#[test]
fn several_are_called_together_and_whoever_leaves_leaves_the_others() {
    alone("calls::several_are_called_together_and_whoever_leaves_leaves_the_others", || {
        let band = Band::new(["robert", "clara", "tina"]);
        let [robert, clara, tina] = [0, 1, 2].map(|who| band.room(who));
        clara.people.set_answer(Answer::AtOnce);
        // Somebody who is not known is called by nobody.
        robert.people.call_together(&[band.keys[1], band.keys[0]]);
        tina.people.call(&band.keys[0]);
        robert.until(&Event::Rings(band.who(2)));
        // Who rings is one of them.
        robert.people.call_together(&[band.keys[1], band.keys[2]]);
        robert.until(&Event::Begins(band.who(2)));
        clara.sees_the_other();
        tina.sees_the_other();
        let State::InBand { who, .. } = robert.people.state() else { panic!("{:?}", robert.people.state()) };
        assert_eq!(who, [band.who(1), band.who(2)]);
        until("both", || {
            let presences = robert.people.list().into_iter().filter(|person| person.presence == Presence::InCall);
            (presences.count() == 2).then_some(())
        });
        robert.people.handles().iter().for_each(|handle| handle.talk.say("to all").unwrap());
        for other in [&clara, &tina] {
            let mut seen = 0;
            until("the text", || other.people.handle().unwrap().talk.since(&mut seen).pop());
        }
        clara.people.hang_up();
        clara.until(&Event::Ended(band.who(0), Why::Here));
        until("the two that are left", || {
            let there = |name| robert.people.list().iter().any(|it| it.name == name && it.presence == Presence::InCall);
            (there("tina") && !there("clara")).then_some(())
        });
        tina.sees_the_other();
        robert.people.hang_up();
        robert.until(&Event::Ended(band.who(1), Why::There));
        robert.until(&Event::Ended(band.who(2), Why::Here));
        tina.until(&Event::Ended(band.who(0), Why::There));
        assert_eq!(robert.people.state(), State::Home);
    });
}

#[test]
fn whoever_is_removed_is_a_stranger_at_once_also_in_a_call() {
    alone("calls::whoever_is_removed_is_a_stranger_at_once_also_in_a_call", || {
        in_either_role(|band, [one, other]| {
            let (removed, here) = (band.room(one), band.room(other));
            removed.people.call(&band.keys[other]);
            here.until(&Event::Rings(band.who(one)));
            here.people.take(&band.keys[one]);
            removed.sees_the_other();
            let key = band.keys[one].to_string();
            assert!(std::fs::read_to_string(band.file(other)).unwrap().contains(&key));
            here.people.remove(&band.keys[one]).unwrap();
            here.until(&Event::Ended(band.who(one), Why::Removed));
            removed.until(&Event::Ended(band.who(other), Why::Kept(What::Removed)));
            assert!(!std::fs::read_to_string(band.file(other)).unwrap().contains(&key));
            assert_eq!(here.people.list(), []);
            // Whoever was removed calls again.
            removed.people.call(&band.keys[other]);
            removed.until(&Event::Begins(band.who(other)));
            until("a reason", || match removed.people.state() {
                State::Calling { why_not: Some(_), .. } | State::Home => Some(()),
                _ => None,
            });
            assert_eq!(here.rest(), []);
        });
    });
}

#[test]
fn a_second_start_raises_the_first_and_names_are_checked() {
    alone("calls::a_second_start_raises_the_first_and_names_are_checked", || {
        let band = Band::new(["robert", "clara"]);
        let robert = band.room(0);
        let start = |link: Option<&str>| {
            let host = room::people::Host {
                open_sinks: std::sync::Arc::new(|_, _| Ok(Vec::new())),
                show_band: std::sync::Arc::new(|_| Ok(())),
                wake: std::sync::Arc::new(|| {}),
            };
            room::people::People::open(band.flags(0), host, link).unwrap()
        };
        let long = "x".repeat(10_000);
        for hostile in [None, Some("duet:duet-ticket-\u{202e}\nshow=now"), Some(long.as_str())] {
            assert!(start(hostile).is_none());
            robert.until(&Event::Raise);
            assert_eq!(robert.rest(), []);
        }
        let ticket = common::reach::Ticket {
            purpose: common::reach::Purpose::Invitation,
            key: band.keys[1],
            proof: [7; 16],
            expires: 2_000_000_000,
            candidates: Vec::new(),
        };
        assert!(start(Some(&format!("see you: {}", ticket.link()))).is_none());
        robert.until(&Event::Linked(ticket.link()));
        for wrong in ["", "clara\u{202e}", "c\nlara", &"x".repeat(10_000)] {
            assert!(robert.people.rename(&band.keys[1], wrong).is_err(), "{wrong:?}");
        }
        robert.people.rename(&band.keys[1], "klara").unwrap();
        until("the name", || (robert.people.list()[0].name == "klara").then_some(()));
    });
}

#[test]
fn a_sender_call_that_knows_of_no_room_rings_as_well_and_is_declined_when_it_calls_on() {
    build_sender();
    alone("calls::a_sender_call_that_knows_of_no_room_rings_as_well_and_is_declined_when_it_calls_on", || {
        let band = Band::new(["robert", "clara"]);
        let clara = band.room(1);
        let robert = band.sender_call(0, 1);
        clara.until(&Event::Rings(band.who(0)));
        clara.people.take(&band.keys[0]);
        clara.sees_the_other();
        robert.says("connected to clara");
        let handle = clara.people.handle().unwrap();
        handle.talk.say("a text\nwith \u{202e}tricks").unwrap();
        robert.says("clara says \"a text\\nwith \\u{202e}tricks\"");
        handle.talk.set_recording(true);
        robert.says("clara records this call");
        handle.own.set_hidden(true);
        robert.says("clara hides the picture");
        clara.people.hang_up();
        clara.until(&Event::Ended(band.who(0), Why::Here));
        // It calls on, as it always does, and nothing rings.
        robert.says("clara has declined the call");
        assert_eq!(clara.rest(), []);
    });
}
