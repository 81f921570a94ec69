//! Sentences of the engine and of the doctor, which say them in English: each is found in the English catalogue by its words, and said
//! again by that of another language.

/// Keys of such sentences.
pub(super) const KEYS: &str = "engine-";
/// The beginning of the name of a part that is a sentence of the engine itself.
const WITHIN: &str = "said";
/// Sentences within sentences at most.
pub(super) const DEPTH_MAX: u32 = 6;

/// An English sentence of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    pub(super) key: &'static str,
    /// Words before the first part, and behind each part its name and the words that follow.
    first: &'static str,
    parts: Vec<(&'static str, &'static str)>,
}

impl Template {
    /// Reads those of a catalogue. Those with the most words come first: they say the most.
    pub(super) fn all(catalogue: &'static str) -> Vec<Self> {
        let lines = catalogue.lines().filter(|line| line.starts_with(KEYS)).filter_map(|line| line.split_once(" = "));
        let mut all: Vec<_> = lines
            .map(|(key, text)| {
                let mut pieces = text.split("{ $");
                let first = pieces.next().unwrap_or_default();
                Self { key, first, parts: pieces.filter_map(|piece| piece.split_once(" }")).collect() }
            })
            .collect();
        all.sort_by_key(|template| std::cmp::Reverse(template.words().map(str::len).sum::<usize>()));
        all
    }

    /// Returns the words of it that are always the same.
    pub(super) fn words(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.first).chain(self.parts.iter().map(|(_, words)| *words))
    }

    /// Returns the parts of a sentence, by name, if it is this one.
    pub(super) fn parts<'a>(&self, said: &'a str) -> Option<Vec<(&'static str, &'a str)>> {
        let mut rest = said.strip_prefix(self.first)?;
        let mut found = Vec::with_capacity(self.parts.len());
        for (at, (name, words)) in self.parts.iter().enumerate() {
            let is_last = at + 1 == self.parts.len();
            let end = match (is_last, words.is_empty()) {
                (true, true) => rest.len(),
                (true, false) => rest.strip_suffix(words)?.len(),
                (false, _) => rest.find(words)?,
            };
            let (part, behind) = rest.split_at(end);
            if part.is_empty() {
                return None;
            }
            found.push((*name, part));
            rest = &behind[words.len()..];
        }
        rest.is_empty().then_some(found)
    }

    /// Returns true if a part of that name is a sentence itself.
    pub(super) fn is_sentence(name: &str) -> bool {
        name.contains(WITHIN)
    }
}
