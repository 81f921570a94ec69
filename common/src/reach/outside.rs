//! This machine's way to the outside, from what servers outside have seen, and what follows from it for a call.

use std::net::{IpAddr, SocketAddr};

use crate::path::ways::{Candidate, Scope};

/// The way outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// Router between this machine and the outside, over IPv4 unless there is IPv6 only.
    pub router: Router,
    /// Reach of IPv6.
    pub ipv6: Ipv6,
    /// Answer of the router to a request for a port.
    pub port: Port,
    /// Answer of the relays that the configuration names.
    pub relay: Place,
}

/// Answer of relays that are asked for a place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// None is named.
    NotNamed,
    /// One has given this.
    At(SocketAddr),
    /// None gives one; what the last of them said, as the end of a sentence that begins with its name.
    Refused(String),
    /// None has answered.
    Silent,
}

/// A port that the router has opened to this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its address outside.
    pub at: SocketAddr,
    /// Name of the protocol by which the router was asked.
    pub by: &'static str,
}

/// Answer of a router that is asked to open a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Port {
    /// It is not asked.
    NotAsked,
    /// It opens none, or does not answer in time.
    Closed,
    /// It opens one.
    Open(Opened),
}

/// Obstacle between a machine and the outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Router {
    /// Not known: no server has answered.
    Silent,
    /// None that translates: this is the machine's own address.
    Open(IpAddr),
    /// One that shows all destinations one port.
    OnePort(IpAddr),
    /// One that shows each destination another port.
    PortPerDestination(IpAddr),
    /// One of which no more is known: one server alone has answered.
    Translated(IpAddr),
}

/// Reach of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ipv6 {
    /// This machine has no such address.
    Absent,
    /// It has one, but no server has answered over it.
    Unanswered,
    /// A server has answered over it.
    Works,
}

/// One line of what is found: as a musician would say it, and what a person can do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its subject.
    pub name: &'static str,
    /// True if calls by name find fewer homes than they could.
    pub is_bad: bool,
    /// The finding.
    pub sentence: String,
    /// Advice.
    pub advice: Option<&'static str>,
}

impl Outside {
    /// Returns what the machine with the addresses `own` sits behind; `seen`: where each server that answered has seen
    /// it; `port`: what the router has done when it was asked; `relay`: likewise the relays.
    pub fn of(own: &[Candidate], seen: &[SocketAddr], port: Port, relay: Place) -> Self {
        let v6 = |address: &SocketAddr| address.is_ipv6();
        let ipv6 = match (seen.iter().any(v6), own.iter().any(|candidate| is_global(candidate.address.ip()))) {
            (true, _) => Ipv6::Works,
            (false, true) => Ipv6::Unanswered,
            (false, false) => Ipv6::Absent,
        };
        let v4: Vec<_> = seen.iter().filter(|address| !v6(address)).collect();
        let seen = if v4.is_empty() { seen.iter().collect() } else { v4 };
        let is_own = |ip: IpAddr| own.iter().any(|candidate| candidate.address.ip() == ip);
        let router = match seen.as_slice() {
            [] => Router::Silent,
            [first, ..] if is_own(first.ip()) => Router::Open(first.ip()),
            [only] => Router::Translated(only.ip()),
            [first, rest @ ..] if rest.iter().all(|address| address == first) => Router::OnePort(first.ip()),
            [first, ..] => Router::PortPerDestination(first.ip()),
        };
        Self { router, ipv6, port, relay }
    }

    /// Returns what there is to say, the most important last.
    pub fn findings(&self) -> [Finding; 6] {
        [self.udp(), self.between(), self.on_request(), self.over_ipv6(), self.over_relay(), self.calls()]
    }

    fn udp(&self) -> Finding {
        let (is_bad, sentence) = match self.router {
            Router::Silent => {
                (true, "no server outside answers: UDP may not leave this house, or the servers are down")
            }
            _ => (false, "leaves this house: servers outside answer"),
        };
        let advice = is_bad.then_some("allow UDP in the firewall, or name other servers in `[expert] stun`");
        Finding { name: "udp", is_bad, sentence: sentence.to_owned(), advice }
    }

    fn between(&self) -> Finding {
        let sentence = match self.router {
            Router::Silent => "what stands between this machine and the outside cannot be told".to_owned(),
            Router::Open(ip) => format!("none that translates: {ip} is this machine's own address"),
            Router::OnePort(ip) => format!("it shows everybody outside one port ({ip}), as routers at home do"),
            Router::PortPerDestination(ip) => {
                format!("it shows everybody outside another port ({ip}), as mobile networks and some companies do")
            }
            Router::Translated(ip) => {
                format!("there is one ({ip}); one server alone answers, so its kind cannot be told")
            }
        };
        let is_bad = matches!(self.router, Router::PortPerDestination(_)) && !self.is_opened() && !self.has_place();
        let advice = is_bad.then_some(
            "look in the router for `full cone` or `endpoint independent` NAT, or forward a UDP port to this machine",
        );
        Finding { name: "router", is_bad, sentence, advice }
    }

    fn on_request(&self) -> Finding {
        const SWITCH: &str = "many routers have a switch for UPnP, PCP or NAT-PMP on their page";
        let (sentence, advice) = match self.port {
            Port::NotAsked => ("the router is not asked to open one: `[expert] open_port` is false".to_owned(), None),
            Port::Closed => {
                let needs_it = matches!(self.router, Router::OnePort(_) | Router::PortPerDestination(_));
                (
                    "the router opens none when it is asked by UPnP, PCP or NAT-PMP".to_owned(),
                    needs_it.then_some(SWITCH),
                )
            }
            Port::Open(Opened { at, by }) => match self.seen() {
                Some(ip) if ip != at.ip() => (
                    format!(
                        "the router opens one by {by} ({at}), but servers outside see {ip}: there is another router"
                    ),
                    None,
                ),
                _ => (format!("the router opens one by {by} ({at}), and has closed it again"), None),
            },
        };
        Finding { name: "port", is_bad: false, sentence, advice }
    }

    /// The address that servers outside see, if any has answered.
    fn seen(&self) -> Option<IpAddr> {
        match self.router {
            Router::Silent => None,
            Router::Open(ip) | Router::OnePort(ip) | Router::PortPerDestination(ip) | Router::Translated(ip) => {
                Some(ip)
            }
        }
    }

    /// True if the router opens a port at the address that everybody outside sees.
    fn is_opened(&self) -> bool {
        matches!(self.port, Port::Open(Opened { at, .. }) if self.seen() == Some(at.ip()))
    }

    fn over_ipv6(&self) -> Finding {
        let sentence = match self.ipv6 {
            Ipv6::Works => "works: two homes that have it need nothing of their routers but to let answers in",
            Ipv6::Unanswered => "this machine has an address, but nobody outside answers over it",
            Ipv6::Absent => "none here: calls go over IPv4",
        };
        Finding { name: "ipv6", is_bad: false, sentence: sentence.to_owned(), advice: None }
    }

    fn has_place(&self) -> bool {
        matches!(self.relay, Place::At(_))
    }

    fn over_relay(&self) -> Finding {
        let (is_bad, sentence, advice) = match &self.relay {
            Place::NotNamed => (false, "none is named in `[reach] turn`".to_owned(), None),
            Place::At(at) => (false, format!("it gives this machine a place ({at}), and has it back again"), None),
            Place::Refused(says) => {
                let advice = "whoever runs the relay knows its name, its password and how many calls it allows";
                (true, format!("the one in `[reach] turn` {says}"), Some(advice))
            }
            Place::Silent => {
                let advice = "see whether its name in `[reach] turn` is right, whether it runs, and whether its UDP port (3478 as a \
                              rule) is open there";
                (true, "the one in `[reach] turn` does not answer".to_owned(), Some(advice))
            }
        };
        Finding { name: "relay", is_bad, sentence, advice }
    }

    /// Returns what follows for a call: without a relay, and what one changes.
    fn calls(&self) -> Finding {
        let (is_bad, direct) = self.direct_calls();
        let finds_all = self.is_opened() || matches!(self.router, Router::Open(_));
        let (is_bad, sentence, advice) = match &self.relay {
            Place::At(_) if self.router == Router::Silent => {
                (false, "every home that names the relay too is called through it".to_owned(), None)
            }
            Place::At(_) if finds_all => (is_bad, direct.to_owned(), None),
            Place::At(_) => (false, format!("{direct}; all others are called through the relay, a little later"), None),
            Place::NotNamed if finds_all || self.router == Router::Silent => (is_bad, direct.to_owned(), None),
            Place::NotNamed => {
                let advice =
                    "a relay in `[reach] turn` joins all homes: docker/meet/README.md says how a group runs one";
                (is_bad, format!("{direct}; without a relay all others are not called at all"), Some(advice))
            }
            Place::Refused(_) | Place::Silent if finds_all || self.router == Router::Silent => {
                (is_bad, direct.to_owned(), None)
            }
            Place::Refused(_) | Place::Silent => {
                (true, format!("{direct}; all others only once the relay gives a place"), None)
            }
        };
        Finding { name: "calls", is_bad, sentence, advice }
    }

    fn direct_calls(&self) -> (bool, &'static str) {
        match (self.router, self.ipv6) {
            (Router::Silent, _) => (true, "within the house they work; outside nobody will be found"),
            (Router::Open(_), _) => (false, "every home that can send UDP finds this machine"),
            _ if self.is_opened() => {
                (false, "every home that can send UDP finds this machine, at the port that the router opens")
            }
            (Router::OnePort(_), _) => (
                false,
                "a direct way is found to every home but those whose router shows each destination another port",
            ),
            (Router::PortPerDestination(_), Ipv6::Works) => {
                (false, "a direct way is found to homes that have IPv6, or a router that lets everybody in")
            }
            (Router::PortPerDestination(_), _) => {
                (true, "a direct way is found only to homes with a router that lets everybody in, or with none")
            }
            (Router::Translated(_), _) => {
                (false, "a direct way is found to most homes, if the router is of the usual kind")
            }
        }
    }
}

/// True for an IPv6 address that is known outside the house.
fn is_global(ip: IpAddr) -> bool {
    ip.is_ipv6() && Scope::of(ip) == Scope::World
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::ways::Kind;

    #[test]
    fn the_kind_of_router_follows_from_what_two_servers_see() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let candidate = |kind, text: &str| Candidate::new(kind, address(text)).unwrap();
        let home = [candidate(Kind::Host, "192.168.1.2:7"), candidate(Kind::HostIpv6, "[fd00::2]:7")];
        let with_ipv6 = [home[0], candidate(Kind::HostIpv6, "[2001:db8::1]:7")];
        let (one, other, six) = (address("203.0.113.5:7"), address("203.0.113.5:8"), address("[2001:db8::1]:7"));
        let ip = one.ip();
        for (own, seen, router, ipv6, bad, says) in [
            (home, &[][..], Router::Silent, Ipv6::Absent, "udp calls", "outside nobody"),
            (home, &[one], Router::Translated(ip), Ipv6::Absent, "", "most homes"),
            (home, &[one, one], Router::OnePort(ip), Ipv6::Absent, "", "every home but"),
            (with_ipv6, &[one, one], Router::OnePort(ip), Ipv6::Unanswered, "", "every home but"),
            (with_ipv6, &[six, one, one], Router::OnePort(ip), Ipv6::Works, "", "every home but"),
            (with_ipv6, &[six], Router::Open(six.ip()), Ipv6::Works, "", "every home that"),
            (
                home,
                &[one, other],
                Router::PortPerDestination(ip),
                Ipv6::Absent,
                "router calls",
                "lets everybody in, or with none",
            ),
            (with_ipv6, &[one, six, other], Router::PortPerDestination(ip), Ipv6::Works, "router", "have IPv6"),
            (
                home,
                &[address("192.168.1.2:9")],
                Router::Open(home[0].address.ip()),
                Ipv6::Absent,
                "",
                "every home that",
            ),
        ] {
            let found = Outside::of(&own, seen, Port::NotAsked, Place::NotNamed);
            assert_eq!(found, Outside { router, ipv6, port: Port::NotAsked, relay: Place::NotNamed });
            let findings = found.findings();
            let names: Vec<_> = findings.iter().filter(|finding| finding.is_bad).map(|finding| finding.name).collect();
            assert_eq!(names.join(" "), bad, "{findings:?}");
            assert!(findings[5].sentence.contains(says), "{findings:?}");
            let of_udp = findings[0].advice.is_some_and(|advice| advice.contains("firewall"));
            assert_eq!(of_udp, findings[0].is_bad, "{findings:?}");
        }
    }

    #[test]
    fn a_relay_joins_the_homes_that_no_direct_way_joins_if_it_gives_a_place() {
        let [one, other] = ["203.0.113.5:7", "203.0.113.5:8"].map(|text| text.parse::<SocketAddr>().unwrap());
        let at = Place::At("198.51.100.7:49152".parse().unwrap());
        let refused = Place::Refused("refuses the name or the password".to_owned());
        for (seen, relay, bad, of_relay, of_calls) in [
            (&[one, one][..], Place::NotNamed, "", "none is named", "without a relay all others are not called"),
            (&[one, one], at.clone(), "", "gives this machine a place (198.51.100.7:49152)", "through the relay"),
            (&[one, one], refused.clone(), "relay calls", "refuses the name", "only once the relay"),
            (&[one, one], Place::Silent, "relay calls", "does not answer", "only once the relay"),
            (&[one, other], Place::NotNamed, "router calls", "none is named", "without a relay"),
            (&[one, other], at.clone(), "", "gives this machine a place", "all others are called through the relay"),
            (&[one, other], Place::Silent, "router relay calls", "does not answer", "only once the relay"),
            (&[], at, "udp", "gives this machine a place", "every home that names the relay too"),
            (&[], refused, "udp relay calls", "refuses", "outside nobody"),
        ] {
            let findings = Outside::of(&[], seen, Port::Closed, relay.clone()).findings();
            let names: Vec<_> = findings.iter().filter(|finding| finding.is_bad).map(|finding| finding.name).collect();
            assert_eq!(names.join(" "), bad, "{relay:?} {findings:?}");
            let [.., relay, calls] = &findings;
            assert!(relay.sentence.contains(of_relay) && calls.sentence.contains(of_calls), "{findings:?}");
            assert_eq!(relay.advice.is_some(), relay.is_bad);
        }
    }

    #[test]
    fn a_port_that_the_router_opens_helps_if_nothing_else_stands_before_it() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let symmetric = [address("11.0.1.2:7"), address("11.0.1.2:8")];
        for (port, bad, of_port, of_calls) in [
            (Port::NotAsked, "router calls", "not asked", "lets everybody in"),
            (Port::Closed, "router calls", "opens none", "lets everybody in"),
            (
                Port::Open(Opened { at: address("11.0.1.2:20000"), by: "UPnP" }),
                "",
                "by UPnP (11.0.1.2:20000)",
                "every home",
            ),
            (
                Port::Open(Opened { at: address("11.0.9.9:20000"), by: "PCP" }),
                "router calls",
                "servers outside see 11.0.1.2",
                "lets everybody in",
            ),
        ] {
            let findings = Outside::of(&[], &symmetric, port, Place::NotNamed).findings();
            let names: Vec<_> = findings.iter().filter(|finding| finding.is_bad).map(|finding| finding.name).collect();
            assert_eq!(names.join(" "), bad, "{findings:?}");
            assert!(findings[2].sentence.contains(of_port) && findings[5].sentence.contains(of_calls), "{findings:?}");
            assert_eq!(findings[2].advice.is_some(), port == Port::Closed);
        }
    }
}
