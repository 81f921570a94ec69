//! The past of calls, kept in a file beside the one of peers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use common::config::{PublicKey, SharedConfig};
use net::failure::Failure;
use net::identity::Identity;
use net::reach::{Change, LockedFile};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::person::{Reason, What};

/// Name of the file, beside this machine's key.
const FILE_NAME: &str = "calls.toml";
/// Reasons of one person that are kept.
const REASONS_MAX: usize = 5;

/// The past of calls with a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Past {
    /// End of the last call, milliseconds since 1970.
    pub(super) last_call_ms: Option<u64>,
    /// Newest first.
    pub(super) reasons: Vec<Reason>,
}

/// The past of all calls. What cannot be written is remembered until this program ends.
#[derive(Debug, Default)]
pub(super) struct History {
    path: PathBuf,
    of: BTreeMap<PublicKey, Past>,
}

impl History {
    /// Reads the file beside the key of `shared`. One that cannot be read counts as empty, with the reason.
    pub(super) fn read(shared: &SharedConfig) -> (Self, Option<Failure>) {
        let path = match Identity::path_of(shared) {
            Ok(key) => key.with_file_name(FILE_NAME),
            Err(error) => return (Self::default(), Some(error.into())),
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                let failure = Failure::usage(format!("{} cannot be read: {error}", path.display()));
                return (Self { path, of: BTreeMap::new() }, Some(failure));
            }
        };
        match parse(&text) {
            Some(of) => (Self { path, of }, None),
            None => {
                let failure = Failure::usage(format!("{} is no list of calls: it begins anew", path.display()));
                (Self { path, of: BTreeMap::new() }, Some(failure))
            }
        }
    }

    /// Returns what became of calls with the machine of this key.
    pub(super) fn of(&self, key: &PublicKey) -> Past {
        self.of.get(key).cloned().unwrap_or_default()
    }

    /// Notes the end of a call.
    pub(super) fn on_call(&mut self, key: PublicKey, at_ms: u64) -> Result<(), Failure> {
        self.of.entry(key).or_default().last_call_ms = Some(at_ms);
        self.write()
    }

    /// Notes why a call did not come about.
    pub(super) fn on_reason(&mut self, key: PublicKey, at_ms: u64, what: What) -> Result<(), Failure> {
        let reasons = &mut self.of.entry(key).or_default().reasons;
        reasons.insert(0, Reason { at_ms, what });
        reasons.truncate(REASONS_MAX);
        self.write()
    }

    /// Forgets whoever is removed.
    pub(super) fn forget(&mut self, key: &PublicKey) -> Result<(), Failure> {
        if self.of.remove(key).is_some() { self.write() } else { Ok(()) }
    }

    fn write(&self) -> Result<(), Failure> {
        let text = self.text();
        LockedFile::make(&self.path)?.change(|_| Ok((Change::To(text.clone()), ())))
    }

    fn text(&self) -> String {
        let mut people = ArrayOfTables::new();
        for (key, past) in &self.of {
            let mut table = Table::new();
            table.insert("public_key", value(key.to_string()));
            past.last_call_ms.into_iter().for_each(|ms| drop(table.insert("last_call_ms", number(ms))));
            let mut reasons = ArrayOfTables::new();
            for Reason { at_ms, what } in &past.reasons {
                let mut reason = Table::new();
                reason.insert("at_ms", number(*at_ms));
                reason.insert("what", value(what.code()));
                if let What::Failed(words) = what {
                    reason.insert("words", value(words));
                }
                reasons.push(reason);
            }
            if !reasons.is_empty() {
                table.insert("reason", Item::ArrayOfTables(reasons));
            }
            people.push(table);
        }
        let mut document = DocumentMut::new();
        document.insert("person", Item::ArrayOfTables(people));
        document.to_string()
    }
}

fn number(ms: u64) -> Item {
    value(i64::try_from(ms).unwrap_or(i64::MAX))
}

/// Returns what the text holds; none if it is no such file. What is wrong in it is left out.
fn parse(text: &str) -> Option<BTreeMap<PublicKey, Past>> {
    let document: DocumentMut = text.parse().ok()?;
    let ms = |table: &Table, key: &str| table.get(key)?.as_integer()?.try_into().ok();
    let tables = |item: Option<&Item>| {
        let tables = item.and_then(Item::as_array_of_tables);
        tables.into_iter().flat_map(ArrayOfTables::iter).cloned().collect::<Vec<_>>()
    };
    let reason = |table: &Table| {
        let words = table.get("words").and_then(Item::as_str);
        let what = What::of(table.get("what")?.as_str()?, words)?;
        Some(Reason { at_ms: ms(table, "at_ms")?, what })
    };
    let person = |table: &Table| {
        let key = table.get("public_key")?.as_str()?.parse().ok()?;
        let reasons = tables(table.get("reason")).iter().filter_map(reason).take(REASONS_MAX).collect();
        Some((key, Past { last_call_ms: ms(table, "last_call_ms"), reasons }))
    };
    Some(tables(document.get("person")).iter().filter_map(person).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

    #[test]
    fn what_became_of_calls_survives_the_file_and_the_newest_reasons_stay() {
        let folder = std::env::temp_dir().join(format!("duet-history-{}", std::process::id()));
        let key = KEY.parse().unwrap();
        let mut history = History { path: folder.join("calls.toml"), of: BTreeMap::new() };
        history.on_call(key, 7).unwrap();
        for (n, what) in What::FIXED.into_iter().chain([What::Failed("no \"camera\"\n\u{202e}".to_owned())]).enumerate()
        {
            history.on_reason(key, n as u64, what).unwrap();
        }
        let text = std::fs::read_to_string(&history.path).unwrap();
        let of = parse(&text).unwrap();
        assert_eq!(of, history.of, "{text}");
        assert_eq!((of[&key].reasons.len(), of[&key].reasons[0].at_ms), (REASONS_MAX, 10));
        for wrong in ["", "person = 3", "[[person]]\nlast_call_ms = -1", "[[person]]\npublic_key = 5"] {
            assert_eq!(parse(wrong), Some(BTreeMap::new()), "{wrong}");
        }
        assert_eq!(parse("[[per"), None);
        // A full disk: the file is as it was, and what came since is remembered.
        let before = text;
        let mut history = History { path: "/dev/full/calls.toml".into(), of };
        assert!(history.on_call(key, 8).is_err() && history.of(&key).last_call_ms == Some(8));
        assert_eq!(std::fs::read_to_string(folder.join("calls.toml")).unwrap(), before);
        history.path = folder.join("calls.toml");
        history.forget(&key).unwrap();
        assert!(!std::fs::read_to_string(&history.path).unwrap().contains("duet-key"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
