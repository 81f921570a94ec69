//! Hints at the key that may have been meant by one that does not exist, wherever in the file.

use super::table::{SECTIONS, Section};

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

/// Returns what to do instead of `key`, which stands in the section `here`, or outside of all.
pub(super) fn instead_of(key: &str, here: Option<&Section>) -> String {
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
    let names: Vec<_> = match here {
        Some(section) => section.keys.iter().map(|key| key.name).collect(),
        None => SECTIONS.iter().map(|section| section.name).chain(["sender", "receiver"]).collect(),
    };
    let of_here = names.iter().map(|name| (likeness(name) + HERE, format!("`{name}`")));
    let elsewhere = SECTIONS.into_iter().filter(|section| here.is_none_or(|here| here.name != section.name));
    let of_others = elsewhere.flat_map(|section| {
        section.keys.iter().map(|key| (likeness(key.name), format!("`{}` in {}", key.name, section.header())))
    });
    match of_here.chain(of_others).max_by(|(a, _), (b, _)| a.total_cmp(b)) {
        Some((likeness, name)) if likeness >= LIKENESS_MIN => format!("did you mean {name}?"),
        _ => format!("there are {}", names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_synonym_stands_for_a_key() {
        for (word, name) in SYNONYMS {
            assert!(SECTIONS.iter().flat_map(|section| section.keys).any(|key| key.name == name), "{name} is no key");
            assert_ne!(word, name);
        }
    }
}
