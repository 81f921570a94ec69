//! Failures of words in one run after the other: after the second one other words are no advice any more.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::failure::Failure;

/// Advice after the first failure.
pub(in crate::reach) const ANEW: &str = "type `pair` anew, for other words";
/// Advice after the next ones.
const NOT_ANEW: &str = "that is the second time, so other words are no help: strangers may hold the places of this mailbox server. Use \
                        `invite` and `join`, which need no server, or another one in `[reach] mailbox`";
/// Time after which a failure is forgotten.
const REMEMBERED: Duration = Duration::from_secs(1800);

/// The memory of a failure: a file beside the key, as old as the failure.
pub(in crate::reach) struct WordFailures(PathBuf);

impl WordFailures {
    /// The memory of the machine with the key at `identity`.
    pub(in crate::reach) fn beside(identity: &Path) -> Self {
        Self(identity.with_file_name("words-failed"))
    }

    /// Takes the end of a run, and returns it with the advice that fits.
    pub(in crate::reach) fn told(&self, ended: Result<(), Failure>, now: SystemTime) -> Result<(), Failure> {
        let failure = match ended {
            Ok(()) => {
                // There may be none.
                let _ = fs::remove_file(&self.0);
                return Ok(());
            }
            Err(failure) if failure.message.contains(ANEW) => failure,
            Err(failure) => return Err(failure),
        };
        let last = fs::metadata(&self.0).and_then(|there| there.modified());
        let is_again = last.is_ok_and(|last| now.duration_since(last).unwrap_or_default() < REMEMBERED);
        // What cannot be remembered is a first failure next time, too.
        let _ = File::create(&self.0).and_then(|file| file.set_modified(now));
        let message = if is_again { failure.message.replace(ANEW, NOT_ANEW) } else { failure.message };
        Err(Failure { message, ..failure })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::mailbox::PairError;

    #[test]
    fn nobody_is_sent_for_other_words_twice() {
        let folder = std::env::temp_dir().join(format!("duet-words-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let failures = WordFailures::beside(&folder.join("key.pem"));
        let begin = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let crowded = |s| {
            let ended = Err(Failure::network(PairError::Crowded));
            failures.told(ended, begin + Duration::from_secs(s)).unwrap_err().message
        };
        let is_anew = |said: String| {
            assert!(said.starts_with("somebody else is where these words lead: "), "{said}");
            assert_ne!(said.contains(ANEW), said.contains("`invite` and `join`, which need no server"), "{said}");
            said.contains(ANEW)
        };
        assert!(is_anew(crowded(0)));
        assert!(!is_anew(crowded(60)));
        assert!(!is_anew(crowded(90)));
        // Another evening is another matter, and so is what comes after words that worked.
        assert!(is_anew(crowded(90 + 1800)));
        failures.told(Ok(()), begin).unwrap();
        assert!(is_anew(crowded(1900)));
        let other = Failure::network("the mailbox server has gone away");
        assert_eq!(failures.told(Err(other.clone()), begin), Err(other));
        fs::remove_dir_all(&folder).unwrap();
    }
}
