//! Hints at the key that may have been meant by one that does not exist, wherever in the file.

use serde::de::DeserializeOwned;

/// Words that people use for a key, where its letters would not tell.
const SYNONYMS: [(&str, &str); 12] = [
    ("bitrate", "rate"),
    ("bandwidth", "rate"),
    ("camera", "source"),
    ("capture", "source"),
    ("framerate", "fps"),
    ("host", "address"),
    ("ip", "address"),
    ("output", "sink"),
    ("port", "address"),
    ("resolution", "size"),
    ("relay", "turn"),
    ("window", "sink"),
];
/// Likeness below which a name is no hint: half of the letters differ.
const LIKENESS_MIN: f64 = 0.5;
/// Of two names that are as like, the one that is possible at this place is meant.
const HERE: f64 = 0.05;

/// A section of a file and its keys.
struct Section {
    name: String,
    keys: Vec<String>,
}

/// Returns the names in serde's message "unknown field `x`, expected one of `a`, `b`": the wrong one, then those that are right.
pub(super) fn names_in(message: &str) -> Option<(String, Vec<String>)> {
    let mut quoted = message.strip_prefix("unknown field ")?.split('`').skip(1).step_by(2).map(str::to_owned);
    Some((quoted.next()?, quoted.collect()))
}

/// Returns what to do instead of `key`, at a place of a file `T` where `here` are possible; `Other` is the other program's file, whose
/// name is `other`.
pub(super) fn instead_of<T: DeserializeOwned, Other: DeserializeOwned>(
    key: &str,
    here: &[String],
    other: &str,
) -> String {
    let sections = sections::<T>();
    let synonym = SYNONYMS.iter().find(|(word, _)| *word == key.to_lowercase()).map(|(_, name)| *name);
    let likeness = |name: &str| {
        let like = |word: &str| match () {
            () if word == name => 1.0,
            // A word of a name is most like it, however long the name.
            () if name.split('_').any(|part| part == word) => 0.9,
            () => strsim::normalized_damerau_levenshtein(word, name),
        };
        synonym.map_or(0.0, like).max(like(key))
    };
    let of_here = here.iter().map(|name| (likeness(name) + HERE, format!("`{name}`")));
    let elsewhere = sections.iter().filter(|section| section.keys != here);
    let of_others = elsewhere
        .flat_map(|section| section.keys.iter().map(|name| (likeness(name), format!("`{name}` in {}", section.name))));
    let nearest = of_here.chain(of_others).max_by(|(a, _), (b, _)| a.total_cmp(b));
    let in_other_file = || {
        let others = sections_of::<Other>();
        let is_there = |(name, section): &(String, Section)| name == key || section.keys.iter().any(|name| name == key);
        others.into_iter().find(is_there).map(|(_, section)| section.name)
    };
    match nearest {
        Some((likeness, name)) if likeness >= 1.0 => format!("did you mean {name}?"),
        nearest => match (in_other_file(), nearest) {
            (Some(section), _) => format!("it belongs in {section} of {other}"),
            (None, Some((likeness, name))) if likeness >= LIKENESS_MIN => format!("did you mean {name}?"),
            _ => format!("there are {}", here.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
        },
    }
}

/// Returns the sections of a file `T` with their keys.
fn sections<T: DeserializeOwned>() -> Vec<Section> {
    sections_of::<T>().into_iter().map(|(_, section)| section).collect()
}

/// Returns each section of a file `T` behind its bare name. What is possible is asked of the structs, so that no list of it can
/// be wrong.
fn sections_of<T: DeserializeOwned>() -> Vec<(String, Section)> {
    // No key is empty.
    let possible = |text: &str| names_in(toml::from_str::<T>(text).err()?.message()).map(|(_, names)| names);
    let section = |name: String| {
        let headers = [format!("[{name}]"), format!("[[{name}]]")];
        headers.into_iter().find_map(|header| {
            let keys = possible(&format!("{header}\n\"\" = 0"))?;
            Some((name.clone(), Section { name: header, keys }))
        })
    };
    possible("\"\" = 0").unwrap_or_default().into_iter().filter_map(section).collect()
}

#[cfg(test)]
mod tests {
    use super::super::raw::{ReceiverFile, SenderFile};
    use super::*;

    #[test]
    fn sections_and_keys_are_those_of_the_structs() {
        let sections = sections::<SenderFile>();
        let names: Vec<_> = sections.iter().map(|section| section.name.as_str()).collect();
        assert!(names.starts_with(&["[video]", "[codec]"]) && names.contains(&"[[peer]]"), "{names:?}");
        let keys_of = |name: &str| &sections.iter().find(|section| section.name == name).unwrap().keys;
        assert_eq!(*keys_of("[video]"), ["source", "size", "fps"]);
        assert_eq!(*keys_of("[record]"), ["path"]);
    }

    #[test]
    fn every_synonym_stands_for_a_key() {
        let keys: Vec<_> = sections::<SenderFile>().into_iter().flat_map(|section| section.keys).collect();
        for (word, name) in SYNONYMS {
            assert!(keys.iter().any(|key| key == name), "{name} is no key");
            assert_ne!(word, name);
        }
    }

    #[test]
    fn what_belongs_in_the_other_file_is_told() {
        let here = ["display".to_owned(), "compute".to_owned()];
        let hint = |key: &str| instead_of::<ReceiverFile, SenderFile>(key, &here, "sender.toml");
        assert_eq!(hint("video"), "it belongs in [video] of sender.toml");
        assert_eq!(hint("rate_max"), "did you mean `rate_max` in [network]?");
        assert_eq!(hint("fps"), "it belongs in [video] of sender.toml");
        assert_eq!(hint("xyzzy"), "there are `display`, `compute`");
    }
}
