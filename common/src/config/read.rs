//! Text to a configuration: defaults filled in, keys of before moved to where they are now, and errors that name the line and the
//! nearest valid key.

use std::borrow::Cow;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::ConfigError;
use super::hint::instead_of;
use super::table::{ConfigFile, GONE, PEER, Program, SECTIONS, Section};

/// Reads the text of a file for the sender, keys of before included.
pub fn parse_sender(text: &str) -> Result<ConfigFile, ConfigError> {
    read(text, Program::Sender).map(|(file, _)| file)
}

/// Reads the text of a file for the receiver likewise.
pub fn parse_receiver(text: &str) -> Result<ConfigFile, ConfigError> {
    read(text, Program::Receiver).map(|(file, _)| file)
}

/// Reads the text of a `peers.toml`, where machines that were introduced are remembered if no configuration is named.
pub fn parse_peers(text: &str) -> Result<ConfigFile, ConfigError> {
    let document = DeTable::parse(text).map_err(|error| syntax(text, &error))?;
    if let Some(key) = document.get_ref().keys().find(|key| key.get_ref() != PEER) {
        let (line, instead) = (line_of(text, key.span().start), format!("this file has only [[{PEER}]] sections"));
        return Err(ConfigError::UnknownKey { line, key: key.get_ref().to_string(), instead });
    }
    read(text, Program::Both).map(|(file, _)| file)
}

/// Reads the text of a file for `program`, whose own sections (`[sender.network]`) win over those of both; returns what to write instead
/// of each key of before, too.
pub fn read(text: &str, program: Program) -> Result<(ConfigFile, Vec<String>), ConfigError> {
    let mut document = DeTable::parse(text).map_err(|error| syntax(text, &error))?;
    let mut reader = Reader { text, old: Vec::new() };
    let sections = document.get_mut();
    let own = [("sender", Program::Sender), ("receiver", Program::Receiver)].map(|(name, of)| {
        let (key, value) = sections.remove_entry(name)?;
        Some((of, reader.line(&key), value.into_inner()))
    });
    reader.sections(sections)?;
    for (of, line, value) in own.into_iter().flatten() {
        let DeValue::Table(mut more) = value else {
            let message = "this holds sections of one program, such as [receiver.stats]".to_owned();
            return Err(ConfigError::Syntax { line, message });
        };
        reader.sections(&mut more)?;
        if of == program {
            lay_over(sections, more);
        }
    }
    fill(sections);
    match ConfigFile::deserialize(toml::Deserializer::from(document)) {
        Ok(file) => Ok((file, reader.old)),
        Err(error) => Err(syntax(text, &error)),
    }
}

/// A text that is being read.
struct Reader<'t> {
    text: &'t str,
    /// Replacements for the keys of before that were found.
    old: Vec<String>,
}

impl<'t> Reader<'t> {
    fn line<T>(&self, of: &Spanned<T>) -> usize {
        line_of(self.text, of.span().start)
    }

    /// Moves keys of before, and refuses those that do not exist.
    fn sections(&mut self, sections: &mut DeTable<'t>) -> Result<(), ConfigError> {
        self.take_gone(sections)?;
        self.move_old(sections)?;
        for (name, value) in sections {
            let section = SECTIONS.into_iter().find(|section| section.name == name.get_ref());
            let section = section.ok_or_else(|| self.unknown(name, None))?;
            if section.name == PEER && value.get_ref().as_table().is_some() {
                let message = format!("write {}, with two brackets: there may be several", section.header());
                return Err(ConfigError::Syntax { line: self.line(name), message });
            }
            let tables = match value.get_ref() {
                DeValue::Table(table) => std::slice::from_ref(table).iter().collect(),
                DeValue::Array(tables) => tables.iter().filter_map(|table| table.get_ref().as_table()).collect(),
                _ => Vec::new(),
            };
            let is_unknown = |key: &&Spanned<_>| section.keys.iter().all(|known| known.name != key.get_ref());
            if let Some(key) = tables.iter().flat_map(|table| table.keys()).find(is_unknown) {
                return Err(self.unknown(key, Some(section)));
            }
        }
        Ok(())
    }

    fn unknown(&self, key: &Spanned<Cow<'t, str>>, here: Option<&Section>) -> ConfigError {
        let name = key.get_ref().to_string();
        ConfigError::UnknownKey { line: self.line(key), instead: instead_of(&name, here), key: name }
    }

    /// Takes out the keys that had one value.
    fn take_gone(&mut self, sections: &mut DeTable<'t>) -> Result<(), ConfigError> {
        for (place, only) in GONE {
            let Some((key, value)) = taken(sections, place) else { continue };
            let line = self.line(&key);
            if value.get_ref().as_str() != Some(only) {
                return Err(ConfigError::Value { key: place, message: format!("it is `{only}` always: leave it out") });
            }
            self.old.push(format!("`{}` (line {line}) has no other value: leave it out", key.get_ref()));
        }
        Ok(())
    }

    /// Moves keys of before to where they are now.
    fn move_old(&mut self, sections: &mut DeTable<'t>) -> Result<(), ConfigError> {
        for (section, key) in
            SECTIONS.into_iter().flat_map(|section| section.keys.iter().map(move |key| (section, key)))
        {
            let (old, before) = (taken(sections, key.was), key.was.split('.').next().unwrap_or_default());
            // Also one without a key: those of before, with all keys commented out, are in many files.
            if sections.get(before).and_then(|left| left.get_ref().as_table()).is_some_and(DeTable::is_empty) {
                sections.remove(before);
            }
            let Some((was, value)) = old else { continue };
            let line = self.line(&was);
            self.old.push(match was.get_ref() == key.name {
                true => format!("`{}` (line {line}) is in {} now", key.name, section.header()),
                false => {
                    format!(
                        "`{}` in [{before}] (line {line}) is `{}` in {} now",
                        was.get_ref(),
                        key.name,
                        section.header()
                    )
                }
            });
            let now = sections.entry(named(section.name)).or_insert_with(empty);
            if let DeValue::Table(now) = now.get_mut()
                && now.insert(Spanned::new(was.span(), Cow::Borrowed(key.name)), value).is_some()
            {
                let message = format!("`{}` is in {} too: leave this one out", key.name, section.header());
                return Err(ConfigError::Syntax { line, message });
            }
        }
        Ok(())
    }
}

/// Takes the key at `section.key` out.
fn taken<'t>(sections: &mut DeTable<'t>, place: &str) -> Option<(Spanned<Cow<'t, str>>, Spanned<DeValue<'t>>)> {
    let (section, key) = place.split_once('.')?;
    match sections.get_mut(section)?.get_mut() {
        DeValue::Table(table) => table.remove_entry(key),
        _ => None,
    }
}

/// Lays sections of one program over those of both.
fn lay_over<'t>(sections: &mut DeTable<'t>, more: DeTable<'t>) {
    for (name, value) in more {
        match (sections.get_mut(name.get_ref().as_ref()).map(Spanned::get_mut), value.into_inner()) {
            (Some(DeValue::Table(table)), DeValue::Table(more)) => table.extend(more),
            (_, value) => drop(sections.insert(name.clone(), Spanned::new(name.span(), value))),
        }
    }
}

/// Fills in the table's defaults.
fn fill(sections: &mut DeTable<'_>) {
    for section in SECTIONS.into_iter().filter(|section| section.name != PEER) {
        let table = sections.entry(named(section.name)).or_insert_with(empty);
        let DeValue::Table(table) = table.get_mut() else { continue };
        for key in section.keys.iter().filter(|key| key.has_default) {
            if let Ok(value) = DeValue::parse(key.shown) {
                table.entry(named(key.name)).or_insert(value);
            }
        }
    }
}

fn named(name: &'static str) -> Spanned<Cow<'static, str>> {
    Spanned::new(0..0, Cow::Borrowed(name))
}

fn empty<'t>() -> Spanned<DeValue<'t>> {
    Spanned::new(0..0, DeValue::Table(DeTable::new()))
}

fn syntax(text: &str, error: &toml::de::Error) -> ConfigError {
    let line = line_of(text, error.span().map_or(0, |span| span.start));
    ConfigError::Syntax { line, message: error.message().replace('\n', ", ") }
}

/// Returns the number of the line with the byte at `at`.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
