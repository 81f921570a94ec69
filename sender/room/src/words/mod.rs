//! The room's words, in the language of the person: one catalogue (Project Fluent) for each language, all complete.

mod engine;

use self::engine::{DEPTH_MAX, Template};
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
pub(crate) struct Words {
    bundle: FluentBundle<FluentResource>,
    /// Sentences that the engine says; none: they are in this language already.
    engine: Vec<Template>,
}

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
        let identifier: LanguageIdentifier = language.parse().unwrap_or_default();
        let mut bundle = FluentBundle::new_concurrent(vec![identifier]);
        // Marks around names are for texts of both directions, and for fonts that have them.
        bundle.set_use_isolating(false);
        let resource = FluentResource::try_new(text.to_owned()).unwrap_or_else(|(resource, _)| resource);
        let _ = bundle.add_resource(resource);
        let (first, english) = LANGUAGES[0];
        let engine = if language == first { Vec::new() } else { Template::all(english) };
        Self { bundle, engine }
    }

    /// Returns a sentence that stands alone.
    pub(crate) fn say(&self, key: &str) -> String {
        self.said(key, None)
    }

    /// Returns the texts of a button that turns something on, and off again.
    pub(crate) fn both(&self, off: &str, on: &str) -> [String; 2] {
        [off, on].map(|key| self.say(key))
    }

    /// Returns why a call did not come about.
    pub(crate) fn why(&self, what: &What) -> String {
        match what {
            What::Failed(words) => self.of_engine(words),
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

    /// Returns what the engine or the doctor says, in English, in this language; what is not in the catalogue stays as it is.
    pub(crate) fn of_engine(&self, said: &str) -> String {
        said.lines().map(|line| self.of_engine_within(line, 0)).collect::<Vec<_>>().join("\n")
    }

    fn of_engine_within(&self, said: &str, depth: u32) -> String {
        let found = self.engine.iter().find_map(|template| Some((template.key, template.parts(said)?)));
        let Some((key, parts)) = found.filter(|_| depth < DEPTH_MAX) else { return said.to_owned() };
        let mut args = FluentArgs::new();
        for (name, part) in parts {
            let is_sentence = Template::is_sentence(name);
            args.set(name, if is_sentence { self.of_engine_within(part, depth + 1) } else { part.to_owned() });
        }
        self.said(key, Some(&args))
    }

    fn said(&self, key: &str, args: Option<&FluentArgs<'_>>) -> String {
        let Some(pattern) = self.bundle.get_message(key).and_then(|message| message.value()) else {
            return key.to_owned();
        };
        self.bundle.format_pattern(pattern, args, &mut Vec::new()).into_owned()
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
                || key.starts_with(engine::KEYS)
                || key.strip_prefix("why-").is_some_and(|code| WHYS.contains(&code));
            assert!(is_said, "`{key}` is in the catalogue, but nobody says it");
        }
    }

    /// Returns all of a folder's sources, and of those in it; lines that go on are joined.
    fn sources(folder: &str) -> String {
        let mut all = String::new();
        let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder)];
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            } else if path.extension().is_some_and(|found| found == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                all += &text.split("\\\n").map(str::trim_start).collect::<String>();
            }
        }
        all
    }

    /// The engine says what the catalogue expects of it: each run of words stands in its sources.
    #[test]
    fn the_engine_says_what_is_in_the_catalogue() {
        let folders = [
            "receiver/showing/src",
            "sender/sending/src",
            "common/shell/src",
            "common/net/src",
            "common/src/reach",
            "sender/room/src/examination.rs",
            "sender/room/src/computer/mend.rs",
        ];
        let said: String = folders.into_iter().map(sources).collect();
        for template in Template::all(LANGUAGES[0].1) {
            for words in template.words() {
                let words = words.trim_matches([' ', ',', ';', ':', '(', ')', '.', '%', '\u{2019}']);
                let is_said = said.contains(words) || said.contains(&words.to_lowercase());
                assert!(is_said, "{}: nobody says `{words}`", template.key);
            }
        }
    }

    #[test]
    fn sentences_of_the_engine_are_said_in_each_language() {
        let german = Words::of("de");
        for (said, wanted) in [
            ("Picture 43 ms behind, line good", "Bild 43 ms später, Leitung gut"),
            ("Picture 43 ms behind (±7 ms), line good", "Bild 43 ms später (±7 ms), Leitung gut"),
            (
                "Picture 43 ms behind, line poor: 12 % of pictures damaged, held up 151 ms by the computer there; sound 20 ms behind",
                "Bild 43 ms später, Leitung schlecht: 12 % der Bilder beschädigt, aufgehalten 151 ms durch den Computer dort; Ton 20 ms später",
            ),
            (
                "You record this call\nPicture 9 ms behind, line good",
                "Du zeichnest diesen Anruf auf\nBild 9 ms später, Leitung gut",
            ),
            (
                "Clara has been missing for 1 min 2 s; this computer has no network",
                "Clara ist seit 1 min 2 s weg; dieser Computer hat kein Netz",
            ),
            (
                "Camera lost: no picture from Clara for 4 s; the computer there tries to open it again",
                "Kamera verloren: seit 4 s kein Bild von Clara; der Computer dort versucht sie wieder zu öffnen",
            ),
            ("Only Clara is heard", "Nur Clara ist zu hören"),
            ("Something that nobody has translated", "Something that nobody has translated"),
            ("", ""),
        ] {
            assert_eq!(german.of_engine(said), wanted);
            assert_eq!(Words::of("en").of_engine(said), said);
        }
        // Names are nobody's sentences, however they read.
        assert_eq!(
            german.of_engine("line good left 3 s ago; looking again"),
            "line good ging vor 3 s; es wird weiter gesucht"
        );
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
