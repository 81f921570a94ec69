//! The room's words, in the language of the person: one catalogue (Project Fluent) for each language, all complete.

use crate::people::What;
use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};
use unic_langid::LanguageIdentifier;

/// The languages, by the first two letters of a locale. The first is that of everybody else.
pub(crate) const LANGUAGES: [(&str, &str); 4] = [
    ("en", include_str!("en.ftl")),
    ("de", include_str!("de.ftl")),
    ("fr", include_str!("fr.ftl")),
    ("es", include_str!("es.ftl")),
];

/// The words of one language.
pub(crate) struct Words(FluentBundle<FluentResource>);

impl Words {
    /// Returns those of the environment's locale.
    pub(crate) fn of_environment() -> Self {
        let set = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(set).unwrap_or_default();
        Self::of(&locale)
    }

    /// Returns those of a locale, such as `de_AT.UTF-8`.
    pub(crate) fn of(locale: &str) -> Self {
        let language = locale.get(..2).unwrap_or_default().to_ascii_lowercase();
        let known = LANGUAGES.iter().find(|(known, _)| *known == language);
        let &(language, text) = known.unwrap_or(&LANGUAGES[0]);
        let language: LanguageIdentifier = language.parse().unwrap_or_default();
        let mut bundle = FluentBundle::new_concurrent(vec![language]);
        // Marks around names are for texts of both directions, and for fonts that have them.
        bundle.set_use_isolating(false);
        let resource = FluentResource::try_new(text.to_owned()).unwrap_or_else(|(resource, _)| resource);
        let _ = bundle.add_resource(resource);
        Self(bundle)
    }

    /// Returns a sentence that stands alone.
    pub(crate) fn say(&self, key: &str) -> String {
        self.said(key, None)
    }

    /// Returns why a call did not come about.
    pub(crate) fn why(&self, what: &What) -> String {
        match what {
            What::Failed(words) => words.clone(),
            _ => self.say(&format!("why-{}", what.code())),
        }
    }

    /// Returns a sentence about `name`, in which it is `$name`.
    pub(crate) fn of_name(&self, key: &str, name: &str) -> String {
        self.with(key, &[("name", name.into())])
    }

    /// Returns a sentence with what it tells.
    pub(crate) fn with(&self, key: &str, told: &[(&'static str, FluentValue<'_>)]) -> String {
        let mut args = FluentArgs::new();
        told.iter().for_each(|(name, value)| args.set(*name, value.clone()));
        self.said(key, Some(&args))
    }

    fn said(&self, key: &str, args: Option<&FluentArgs<'_>>) -> String {
        let Some(pattern) = self.0.get_message(key).and_then(|message| message.value()) else { return key.to_owned() };
        self.0.format_pattern(pattern, args, &mut Vec::new()).into_owned()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Returns the keys of a catalogue, each with the names that its sentence tells.
    fn keys(text: &str) -> BTreeMap<String, Vec<String>> {
        let mut found = BTreeMap::new();
        let mut last = String::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some((key, _)) = line.split_once(" = ").filter(|_| !line.starts_with(' ')) {
                last = key.to_owned();
                assert!(found.insert(last.clone(), Vec::new()).is_none(), "{key} stands twice");
            }
            let names = line.split('$').skip(1).map(|rest| rest.split([' ', '}']).next().unwrap().to_owned());
            let told: &mut Vec<String> = found.entry(last.clone()).or_default();
            told.extend(names);
            told.sort();
            told.dedup();
        }
        found.remove("");
        found
    }

    #[test]
    fn each_language_has_each_sentence_and_tells_the_same_in_it() {
        let english = keys(LANGUAGES[0].1);
        assert!(english.len() > 50);
        for (language, text) in LANGUAGES {
            FluentResource::try_new(text.to_owned()).unwrap_or_else(|(_, errors)| panic!("{language}: {errors:?}"));
            assert_eq!(keys(text), english, "{language}");
        }
    }

    const WHYS: [&str; 10] = [
        "missed",
        "not-taken",
        "not-found",
        "no-network",
        "busy",
        "declined",
        "do-not-disturb",
        "removed",
        "other-program",
        "large-packets",
    ];

    #[test]
    fn each_reason_has_words() {
        for code in WHYS {
            assert!(keys(LANGUAGES[0].1).contains_key(&format!("why-{code}")), "{code}");
        }
        assert!(Words::of("de").why(&What::NotTaken).contains("geläutet"));
        assert_eq!(Words::of("de").why(&What::Failed("the card".to_owned())), "the card");
    }

    /// Every sentence that a page says is in the catalogue, and no other is.
    #[test]
    fn the_pages_say_what_is_in_the_catalogue() {
        let mut source = String::new();
        let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|found| found == "rs") && !path.ends_with("words/mod.rs") {
                    source.push_str(&fs::read_to_string(&path).unwrap());
                }
            }
        }
        let said: Vec<_> = ["say(\"", "of_name(\"", "words.with(\"", "tell(\""]
            .iter()
            .flat_map(|call| source.split(call).skip(1).map(|rest| rest.split('"').next().unwrap()))
            .collect();
        let known = keys(LANGUAGES[0].1);
        for key in &said {
            assert!(known.contains_key(*key), "`{key}` is said, but not in the catalogue");
        }
        for key in known.keys() {
            let is_said = source.contains(&format!("\"{key}\""))
                || key.strip_prefix("why-").is_some_and(|code| WHYS.contains(&code));
            assert!(is_said, "`{key}` is in the catalogue, but nobody says it");
        }
    }

    #[test]
    fn the_locale_chooses() {
        for (locale, wanted) in [
            ("de_AT.UTF-8", "Zurück"),
            ("fr", "Retour"),
            ("es_MX", "Atrás"),
            ("", "Back"),
            ("C", "Back"),
            ("ja_JP", "Back"),
        ] {
            assert_eq!(Words::of(locale).say("back"), wanted, "{locale}");
        }
        let words = Words::of("en");
        assert_eq!(words.with("looking-seconds", &[("seconds", 1.into())]), "for 1 second");
        assert_eq!(words.with("looking-seconds", &[("seconds", 13.into())]), "for 13 seconds");
        assert_eq!(words.of_name("ringing", "Clara"), "Clara is calling");
    }
}
