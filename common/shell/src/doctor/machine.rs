//! `doctor`'s lines about this computer: real-time priority, the clock, and how large datagrams may be.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::path::Path;

use cards::priority::rtkit_priority_max;
use nix::ifaddrs::getifaddrs;

use super::check::{Check, Status};

/// Datagrams that QUIC needs, with IPv6 and UDP headers around them, bytes.
const MTU_LEAST: u32 = 1200 + 48;
/// Size of a packet that nearly all lines of homes bear, PPPoE and tunnels included, bytes.
const MTU_USUAL: u32 = 1400;
const _: () = assert!(MTU_LEAST <= MTU_USUAL);
/// The capability to take real-time priority (`CAP_SYS_NICE`), as a bit.
const NICE: u64 = 1 << 23;
/// Files and folders that show that a program sets the clock, and its name.
const CLOCK_SETTERS: [(&str, &str); 4] = [
    ("/run/systemd/timesync/synchronized", "systemd-timesyncd"),
    ("/run/chrony", "chrony"),
    ("/run/ntpd.pid", "ntpd"),
    ("/run/openntpd.pid", "openntpd"),
];

/// Returns the lines.
pub(crate) fn checks() -> Vec<Check> {
    vec![real_time(), clock(), mtu()]
}

fn real_time() -> Check {
    let read = |file: &str| fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
    real_time_of(&read("stat"), &read("status"), &read("limits"), rtkit_priority_max)
}

/// Tells from what the kernel says of this process whether it has real-time priority or may take it; otherwise from `rtkit`, the greatest
/// priority that this service gives.
fn real_time_of(stat: &str, status: &str, limits: &str, rtkit: impl FnOnce() -> Option<u32>) -> Check {
    let name = "real-time priority";
    // Fields 40 and 41 (proc(5)), counted behind the program's name, which may contain anything.
    let fields: Vec<_> = stat.rsplit_once(')').map_or("", |parts| parts.1).split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).and_then(|text| text.parse::<u32>().ok());
    if let (Some(priority), Some(1 | 2)) = (field(40), field(41)) {
        return Check::new(name, Status::Ok, format!("{priority}"), None);
    }
    let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:")).map(str::trim);
    let has_capability =
        capabilities.and_then(|text| u64::from_str_radix(text, 16).ok()).is_some_and(|all| all & NICE > 0);
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max realtime priority"));
    let limit = limit.and_then(|line| line.split_whitespace().next());
    if has_capability || limit.is_some_and(|limit| limit != "0") {
        let detail = "not in use, and this user may take it: sound does; `chrt --rr 1 sender call NAME` also keeps other programs from \
                      holding pictures up";
        return Check::new(name, Status::Ok, detail, None);
    }
    if let Some(most) = rtkit() {
        return Check::new(name, Status::Ok, format!("rtkit gives sound up to {most}"), None);
    }
    let detail =
        "not for this user: when the computer is busy, other programs may hold pictures up, and sound drops out";
    let advice = "as root: echo '@audio - rtprio 20' >/etc/security/limits.d/25-duet.conf; log in again as a member of the group \
                  audio (or install rtkit); `chrt --rr 1 sender call NAME` gives it to pictures, too; the system units have it";
    Check::new(name, Status::Warn, detail, Some(advice.to_owned()))
}

fn clock() -> Check {
    let source = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let setter = CLOCK_SETTERS.iter().find(|(path, _)| Path::new(path).exists()).map(|(_, name)| *name);
    clock_of(source.unwrap_or_default().trim(), setter)
}

/// Tells whether reading the clock is quick, and whether the time of day is right: tickets are good for ten minutes by both clocks.
fn clock_of(source: &str, setter: Option<&str>) -> Check {
    let name = "clock";
    if ["acpi_pm", "jiffies", "pit"].contains(&source) {
        let detail = format!("the kernel reads the time from {source}, which is slow or coarse: latencies are inexact");
        let advice = "`cat /sys/devices/system/clocksource/clocksource0/available_clocksource` lists others; start the kernel with \
                      clocksource=tsc if that is among them";
        return Check::new(name, Status::Warn, detail, Some(advice.to_owned()));
    }
    match setter {
        Some(setter) => Check::new(name, Status::Ok, format!("set by {setter}"), None),
        None => {
            let detail = "nothing here is seen to set the time of day: tickets are good for ten minutes by the clocks of both sides";
            let advice = "`sudo timedatectl set-ntp true`, or compare the clock with another one";
            Check::new(name, Status::Warn, detail, Some(advice.to_owned()))
        }
    }
}

fn mtu() -> Check {
    mtu_of(outgoing().map(|name| {
        let text = fs::read_to_string(format!("/sys/class/net/{name}/mtu"));
        (name, text.ok().and_then(|text| text.trim().parse().ok()))
    }))
}

/// Returns the network interface by which datagrams leave the house; none: there is no way out.
fn outgoing() -> Option<String> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // Nothing is sent: the kernel only chooses the way to this address, which is kept for documents (RFC 5737).
    socket.connect((Ipv4Addr::new(203, 0, 113, 1), 9)).ok()?;
    let IpAddr::V4(own) = socket.local_addr().ok()?.ip() else { return None };
    let has_it =
        |address: &nix::sys::socket::SockaddrStorage| address.as_sockaddr_in().is_some_and(|v4| v4.ip() == own);
    let mut interfaces = getifaddrs().ok()?;
    interfaces
        .find(|interface| interface.address.as_ref().is_some_and(has_it))
        .map(|interface| interface.interface_name)
}

/// Tells whether datagrams of a call fit into those of an interface, whose size may not be known.
fn mtu_of(interface: Option<(String, Option<u32>)>) -> Check {
    let name = "mtu";
    let (interface, mtu) = match interface {
        Some((interface, Some(mtu))) => (interface, mtu),
        Some((interface, None)) => {
            return Check::new(name, Status::Ok, format!("that of {interface} is not told here"), None);
        }
        None => return Check::new(name, Status::Ok, "no network leads out of this house: nothing to look at", None),
    };
    let detail = format!("{mtu} bytes on {interface}");
    let advice =
        || Some(format!("`ip link set {interface} mtu 1500`, as root, unless a tunnel or a provider needs it so"));
    if mtu < MTU_LEAST {
        return Check::new(name, Status::Fail, format!("{detail}: no call is possible below {MTU_LEAST}"), advice());
    }
    if mtu < MTU_USUAL {
        let detail = format!("{detail}: datagrams are smaller than usual, which costs some of the rate");
        return Check::new(name, Status::Warn, detail, advice());
    }
    Check::new(name, Status::Ok, format!("{detail}; what the way beyond bears is found out in each call"), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line of `/proc` of a process with this priority and policy.
    fn stat(priority: u32, policy: u32) -> String {
        let before = (4..40).map(|number| number.to_string()).collect::<Vec<_>>().join(" ");
        format!("77 (a) b) S {before} {priority} {policy} 0 0")
    }

    #[test]
    fn real_time_priority_is_had_may_be_taken_or_is_refused() {
        let limits =
            |most: &str| format!("Max nice priority         0  0\nMax realtime priority     {most}        99\n");
        let line = |stat: &str, capabilities: &str, most: &str| {
            let status = format!("Name:\tsender\nCapEff:\t{capabilities}\n");
            let check = real_time_of(stat, &status, &limits(most), || None);
            (check.status, check.detail, check.advice.is_some())
        };
        assert_eq!(line(&stat(1, 2), "0", "0"), (Status::Ok, "1".to_owned(), false));
        for (capabilities, most) in [("0000000000800000", "0"), ("0", "1"), ("0", "unlimited")] {
            let (status, detail, _) = line(&stat(0, 0), capabilities, most);
            assert!(status == Status::Ok && detail.starts_with("not in use"), "{detail}");
        }
        let (status, detail, has_advice) = line(&stat(0, 0), "00000000000000ff", "0");
        assert!(status == Status::Warn && detail.starts_with("not for this user") && has_advice, "{detail}");
        let check = real_time_of(&stat(0, 0), "", "", || Some(20));
        assert!(check.status == Status::Ok && check.detail.contains("rtkit") && check.detail.contains("20"));
        assert_eq!(real_time_of("", "", "", || None).status, Status::Warn, "a kernel that does not tell");
    }

    #[test]
    fn a_clock_that_nobody_sets_or_that_is_slow_is_told() {
        assert_eq!(clock_of("tsc", Some("chrony")).status, Status::Ok);
        assert_eq!(clock_of("tsc", None).status, Status::Warn);
        let slow = clock_of("acpi_pm", Some("chrony"));
        assert!(slow.status == Status::Warn && slow.detail.contains("acpi_pm") && slow.advice.is_some());
    }

    #[test]
    fn datagrams_that_are_too_small_for_a_call_are_told() {
        let status = |mtu| mtu_of(Some(("ppp0".to_owned(), Some(mtu)))).status;
        let all = [1247, 1248, 1399, 1400, 1492, 65_536].map(status);
        assert_eq!(all, [Status::Fail, Status::Warn, Status::Warn, Status::Ok, Status::Ok, Status::Ok]);
        assert_eq!([mtu_of(None).status, mtu_of(Some(("ppp0".to_owned(), None))).status], [Status::Ok; 2]);
    }
}
