//! The words, and the list that they are of.

use std::fmt;
use std::str::FromStr;

use bip39::Language;

/// Number of words.
const WORDS: usize = 4;
/// Words of the list, and bits of each.
const LIST: usize = 2048;
/// Letters that tell a word of the list from all others.
const LETTERS: usize = 4;

/// Four words of BIP 39's list.
#[derive(Clone, PartialEq, Eq)]
pub struct Words([&'static str; WORDS]);

/// Texts that are not the four words of anybody.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WordsError {
    /// Another number of them.
    #[error("there are {0} words, and it takes the four that `pair` shows on the other machine")]
    Number(usize),
    /// One that is in no such four.
    #[error("`{0}` is not one of the words that `pair` shows: is it spelt as there?")]
    Unknown(String),
}

impl Words {
    /// Chooses words by random bits.
    pub(in crate::reach) fn new(random: u64) -> Self {
        let list = Language::English.word_list();
        Self(std::array::from_fn(|at| list[(random >> (11 * at)) as usize % LIST]))
    }

    /// Returns the name of the place at which the two machines meet.
    pub(super) fn place(&self) -> String {
        Language::English.find_word(self.0[0]).map_or_else(String::new, |index| index.to_string())
    }
}

impl FromStr for Words {
    type Err = WordsError;

    /// Takes words with anything but letters between them, in any case; of a longer one four letters do.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words: Vec<_> = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
        let known = |word: &str| {
            let lower = word.to_lowercase();
            let exact =
                Language::English.find_word(&lower).map(|index| Language::English.word_list()[usize::from(index)]);
            let by_letters = || {
                let mut words = Language::English.words_by_prefix_iter(lower.get(..LETTERS)?);
                words.next().filter(|_| words.next().is_none())
            };
            exact.or_else(by_letters).ok_or_else(|| WordsError::Unknown(word.chars().take(30).collect()))
        };
        let words: Vec<_> = words.into_iter().map(known).collect::<Result<_, _>>()?;
        let number = words.len();
        Ok(Self(words.try_into().map_err(|_| WordsError::Number(number))?))
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("-"))
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // They are a secret.
        f.write_str("Words")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_their_text_however_it_is_typed() {
        for random in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            let words = Words::new(random);
            let text = words.to_string();
            assert_eq!(text.split('-').count(), WORDS);
            assert!(text.parse() == Ok(words.clone()));
            assert!(format!(" {} \n", text.to_uppercase().replace('-', ", ")).parse() == Ok(words.clone()));
            let short: Vec<_> = text.split('-').map(|word| &word[..word.len().min(LETTERS)]).collect();
            assert!(short.join(" ").parse() == Ok(words));
        }
    }

    #[test]
    fn what_is_not_four_words_is_named() {
        assert_eq!("zoo zoo zoo".parse::<Words>().unwrap_err(), WordsError::Number(3));
        assert_eq!("".parse::<Words>().unwrap_err(), WordsError::Number(0));
        assert_eq!("zoo zoo zoo quaver".parse::<Words>().unwrap_err(), WordsError::Unknown("quaver".to_owned()));
        assert_eq!("zoo zoo zoo ação".parse::<Words>().unwrap_err(), WordsError::Unknown("ação".to_owned()));
    }
}
