//! The devices that compute, and sound cards, for the command `devices`.

use cards::{Listed, Offer};
use kernels::DeviceInfo;
use kernels::apart::{self, Patience};
use serde_json::{Value, json};

/// Returns the devices as a JSON array.
pub fn as_json(devices: &[DeviceInfo]) -> Value {
    let device = |device: &DeviceInfo| {
        json!({
            "backend": device.backend.name(),
            "name": device.name,
            "platform": device.platform,
            "driver": device.driver,
            "kind": format!("{:?}", device.kind).to_lowercase(),
            "memory_bytes": device.memory_bytes,
            "compute_units": device.compute_units,
        })
    };
    devices.iter().map(device).collect()
}

/// Prints the devices, one a line.
pub fn print(devices: &[DeviceInfo]) {
    for device in devices {
        println!("{:8} {}  ({:?}, {} compute units)", device.backend, device.name, device.kind, device.compute_units);
    }
}

/// Returns the sound cards; none that a driver does not let go of.
pub fn cards() -> Vec<Listed> {
    apart::once("cards", Patience::OPEN, cards::list).unwrap_or_default()
}

/// Returns sound cards as a JSON array.
pub fn cards_as_json(cards: &[Listed]) -> Value {
    let offer = |offer: &Option<Offer>| {
        offer.as_ref().map(|offer| {
            json!({
                "channels": offer.channels,
                "rate_hz": [offer.rates_hz.0, offer.rates_hz.1],
                "period_frames": offer.frames.map(|(least, most)| [least, most]),
            })
        })
    };
    let card = |card: &Listed| {
        json!({
            "name": card.name,
            "backend": card.backend.to_string(),
            "description": card.description,
            "capture": offer(&card.capture),
            "playback": offer(&card.playback),
            "problem": card.problem,
        })
    };
    cards.iter().map(card).collect()
}

/// Prints sound cards, with what they capture and play.
pub fn print_cards(cards: &[Listed]) {
    if cards.is_empty() {
        println!("no sound cards");
    }
    for card in cards {
        println!("sound card {}  {}", card.name, card.description);
        for (does, offer) in [("captures", &card.capture), ("plays", &card.playback)] {
            if let Some(offer) = offer {
                println!("  {does} {offer}");
            }
        }
        if let Some(problem) = &card.problem {
            println!("  {problem}");
        }
    }
}
