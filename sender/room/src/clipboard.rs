//! Links in the clipboard, which are offered when the window gets the focus.

use crate::screens::is_link;

/// The clipboard, as it was when it was looked at.
#[derive(Default)]
pub(crate) struct Clipboard {
    had_focus: bool,
    /// The last link that was offered.
    offered: Option<String>,
    /// The last link that this side has made, which is not to be joined with.
    own: Option<String>,
}

impl Clipboard {
    /// Takes notice of a link that this side has made.
    pub(crate) fn on_own(&mut self, link: &str) {
        if self.own.as_deref() != Some(link) {
            self.own = Some(link.to_owned());
        }
    }

    /// Returns a link that is to be offered. The clipboard is read by `read`, and only when the window has got the focus: some desktops
    /// tell a person of each time.
    pub(crate) fn look(&mut self, has_focus: bool, read: impl FnOnce() -> Option<String>) -> Option<String> {
        if std::mem::replace(&mut self.had_focus, has_focus) || !has_focus {
            return None;
        }
        let text = read()?.trim().to_owned();
        let is_new = [&self.own, &self.offered].iter().all(|known| known.as_ref() != Some(&text));
        if !is_link(&text) || !is_new {
            return None;
        }
        self.offered = Some(text.clone());
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = "duet:duet-ticket-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789";
    const OWN: &str = "duet:duet-ticket-OwnLinkOwnLinkOwnLinkOwnLinkOwnLinkOwn";

    #[test]
    fn a_link_is_offered_once_when_the_window_gets_the_focus_and_never_ones_own() {
        let mut clipboard = Clipboard::default();
        clipboard.on_own(OWN);
        let mut focus = |text: Option<&str>| {
            let nobody_reads = || -> Option<String> { unreachable!("it is read without need") };
            assert_eq!(clipboard.look(false, nobody_reads), None);
            let found = clipboard.look(true, || text.map(str::to_owned));
            assert_eq!(clipboard.look(true, nobody_reads), None);
            found
        };
        for text in [None, Some(""), Some("a text of somebody's"), Some(OWN), Some(&format!(" {OWN}\n"))] {
            assert_eq!(focus(text), None, "{text:?}");
        }
        assert_eq!(focus(Some(&format!("{LINK}\n"))).as_deref(), Some(LINK));
        assert_eq!(focus(Some(LINK)), None, "it has been offered");
        assert_eq!(focus(Some(&"x".repeat(1_000_000))), None);
    }
}
