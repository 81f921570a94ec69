//! The settings of what is sent, as the command `set` changes them.

use common::config::parse_size;
use picture::effects::Effect;

use super::OwnSide;
use crate::control::Setting;

impl OwnSide {
    /// Returns the settings of what is sent: rate, size, whether it is hidden, and effects.
    pub fn settings(&self) -> Vec<Setting> {
        let effects = Effect::ALL.map(|effect| effect_setting(self, effect));
        [rate_setting(self), size_setting(self), hidden_setting(self)].into_iter().chain(effects).collect()
    }
}

/// The setting that changes the size of what is sent.
fn size_setting(own: &OwnSide) -> Setting {
    let source = own.source_size().map(|size| size.to_string()).unwrap_or_default();
    let own = own.clone();
    let set = move |value: &str| {
        let most = if value == FULL { None } else { Some(parse_size(value).ok()?) };
        Some(format!("sending {}", own.set_size(most)?))
    };
    Setting { key: "size", takes: format!("a size up to {source}, such as 640x360, or {FULL}"), set: Box::new(set) }
}

/// The setting that hides what is sent.
fn hidden_setting(own: &OwnSide) -> Setting {
    let own = own.clone();
    let set = move |value: &str| {
        let is_hidden = match value {
            "on" => true,
            "off" => false,
            _ => return None,
        };
        own.set_hidden(is_hidden);
        Some(if is_hidden { "your picture is hidden: nobody sees you" } else { "your picture is shown" }.to_owned())
    };
    Setting { key: "hidden", takes: "on or off".to_owned(), set: Box::new(set) }
}

/// Asks for pictures as large as the source's.
const FULL: &str = "full";

/// The setting that changes an effect.
fn effect_setting(own: &OwnSide, effect: Effect) -> Setting {
    let own = own.clone();
    let set = move |value: &str| {
        let effects = own.set_effect(effect, value.parse().ok()?).ok()?;
        Some(format!("effects: {effects}"))
    };
    Setting { key: effect.key(), takes: effect.takes(), set: Box::new(set) }
}

/// The setting that changes the highest rate.
fn rate_setting(own: &OwnSide) -> Setting {
    let [least, most] = own.rates();
    let own = own.clone();
    let set = move |value: &str| {
        let rate = own.set_rate(value.parse().ok()?)?;
        Some(format!("sending {rate} at most"))
    };
    Setting { key: "rate", takes: format!("{least} to {most}, such as 8M"), set: Box::new(set) }
}
