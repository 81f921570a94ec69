//! A clock of a card that is not quite right: drives a JACK server of nominally 48 kHz a little faster or slower.
//!
//! It plays the master of JACK's `netone` driver, whose server runs a period for each packet: a header of fourteen big-endian words,
//! and silence. The server answers how long before its own deadline the packet came; the deadline is kept far behind, so that the
//! packets alone are its clock.

use faults::machine::priority::raised;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;

/// Priority of the clock.
const PRIORITY: u8 = 86;
/// Samples a second, as the server tells its programs.
const RATE: u32 = 48_000;
/// Channels each way.
const CHANNELS: u32 = 2;
/// Words of a packet's header, and the place of an answer's time to the deadline, us.
const WORDS: usize = 14;
const TO_DEADLINE: usize = 10;
/// Deadline that is aimed at, us after the packet.
const AIM_US: u32 = 12_000;
/// More than any "goodness" that the server wants: it moves its deadline by a hundredth of a period, later or earlier.
const MOVE: i32 = 1_000_000;
/// Longest packet: never sent in parts.
const MTU: u32 = 60_000;
/// Periods of latency that the server reckons with.
const LATENCY: u32 = 5;

/// A running clock. It ends with its value.
pub(crate) struct Ticker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts a clock for the server that listens at a port, `ppm` millionths faster than it says.
    pub(crate) fn start(port: u16, period: u32, ppm: f64) -> Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&stop);
        let to = (Ipv4Addr::LOCALHOST, port).into();
        let run = move || tick(&socket, to, period, ppm, &is_over);
        Ok(Self { stop, thread: Some(raised(PRIORITY, || std::thread::spawn(run))) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn tick(socket: &UdpSocket, to: SocketAddr, period: u32, ppm: f64, is_over: &AtomicBool) {
    let began = Instant::now();
    let (mut shift, mut answer) = (MOVE, vec![0; MTU as usize]);
    for number in 0u32.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        std::thread::sleep((began + due(number, period, ppm)).saturating_duration_since(Instant::now()));
        // An error is a server that is not there yet, or no more.
        let _ = socket.send_to(&packet(number, period, shift), to);
        while let Ok(count) = socket.recv(&mut answer) {
            if let Some(left) = word(&answer[..count], TO_DEADLINE) {
                shift = if left < AIM_US { MOVE } else { -MOVE };
            }
        }
    }
}

/// Returns the time of a period since the first.
fn due(number: u32, period: u32, ppm: f64) -> Duration {
    Duration::from_secs_f64(f64::from(number) * f64::from(period) / (f64::from(RATE) * (1.0 + ppm / 1e6)))
}

fn packet(number: u32, period: u32, shift: i32) -> Vec<u8> {
    let transport = [shift.cast_unsigned(), number.wrapping_mul(period), 0];
    let form = [CHANNELS, CHANNELS, 0, 0, period, RATE];
    let words: [&[u32]; 3] = [&form, &transport, &[number, LATENCY, 0, MTU, 0]];
    let mut bytes: Vec<u8> = words.concat().iter().flat_map(|word| word.to_be_bytes()).collect();
    bytes.resize(4 * (WORDS + (CHANNELS * period) as usize), 0);
    bytes
}

fn word(packet: &[u8], place: usize) -> Option<u32> {
    packet.get(4 * place..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_a_header_and_silence() {
        let bytes = packet(7, 64, -MOVE);
        assert_eq!(bytes.len(), 56 + 2 * 64 * 4);
        let words: Vec<_> = (0..WORDS).filter_map(|place| word(&bytes, place)).collect();
        assert_eq!(words, [2, 2, 0, 0, 64, 48_000, (-MOVE).cast_unsigned(), 448, 0, 7, 5, 0, 60_000, 0]);
        assert_eq!(word(&bytes[..42], TO_DEADLINE), None);
    }

    #[test]
    fn a_fast_card_has_more_periods_a_second() {
        assert_eq!(due(750, 64, 0.0), Duration::from_secs(1));
        let hour = due(750 * 3_600, 64, 100.0).as_secs_f64();
        assert!((hour - 3_600.0 / 1.0001).abs() < 1e-6, "{hour}");
    }
}
