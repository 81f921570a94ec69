//! The pages as a screen reader tells of them.

use egui::accesskit::{Live, Role};

use super::*;

/// Returns what a screen reader says by itself, each with what it stands for.
fn spoken(shown: &mut Shown) -> BTreeMap<String, (u64, Live)> {
    let told = shown.told().into_iter();
    let spoken = told.filter_map(|(id, node)| {
        let live = node.live().filter(|live| *live != Live::Off)?;
        Some((node.value().unwrap_or_default().to_owned(), (id, live)))
    });
    spoken.collect()
}

#[test]
fn every_page_has_the_windows_name_and_says_everything_in_words() {
    for (name, page, facts, call) in pages() {
        let mut shown = Shown::new("en", page, facts, call, SIZES[0]);
        shown.context.enable_accesskit();
        shown.open(name);
        let told = shown.told();
        let windows: Vec<_> = told.values().filter(|node| node.role() == Role::Window).collect();
        assert!(matches!(windows[..], [window] if window.label() == Some(TITLE)), "{name}: {windows:?}");
        let labels = told.values().filter(|node| node.role() == Role::Label);
        let texts: Vec<_> = labels.map(|node| node.value().unwrap_or_default()).collect();
        let signs: Vec<_> = texts.iter().filter(|text| !text.chars().any(char::is_alphanumeric)).collect();
        assert!(signs.is_empty(), "{name}: {signs:?} among {texts:?}");
    }
}

#[test]
fn what_comes_is_said_at_once_and_figures_that_change_are_not() {
    let (_, page, facts, call) = pages().pop().unwrap();
    let mut shown = Shown::new("en", page, facts, call, SIZES[0]);
    shown.context.enable_accesskit();
    assert!(spoken(&mut shown).is_empty());
    let mut said = |change: &dyn Fn(&mut Facts, &mut Said)| {
        change(&mut shown.facts, shown.call.as_mut().unwrap());
        spoken(&mut shown)
    };
    assert!(said(&|_, call| call.line = "Picture 44 ms behind, line good".to_owned()).is_empty());
    let first = said(&|_, call| call.alert = Some("Clara has hidden her picture".to_owned()));
    let second = said(&|_, call| call.alert = Some("Clara shows her picture again".to_owned()));
    let [one, other] = [&first, &second].map(|said| said.values().copied().collect::<Vec<_>>());
    assert!(one.len() == 1 && one == other, "it is the same sentence that changes: {first:?}, {second:?}");
    assert!(first.contains_key("Clara has hidden her picture"), "{first:?}");

    let texts = said(&|facts, call| {
        call.alert = None;
        facts.texts = vec![(false, "Again from bar 12?".to_owned()), (true, "Yes".to_owned())];
    });
    assert!(texts.is_empty(), "they are not shown");
    shown.screens.on_texts(true);
    // The toolkit takes the size of something new before it shows it.
    shown.pass(Vec::new());
    let before = spoken(&mut shown);
    shown.facts.texts.push((false, "A bit slower".to_owned()));
    let after = spoken(&mut shown);
    assert_eq!(before.keys().collect::<Vec<_>>(), ["Again from bar 12?"], "own texts are known");
    assert_eq!(after.keys().collect::<Vec<_>>(), ["A bit slower", "Again from bar 12?"]);
    assert_eq!(before["Again from bar 12?"], after["Again from bar 12?"], "it is not said anew");

    shown.call = None;
    shown.facts.rings = Some(clara());
    let rings = spoken(&mut shown);
    assert!(matches!(rings.values().collect::<Vec<_>>()[..], [(_, Live::Assertive)]), "{rings:?}");
    assert!(rings.keys().all(|sentence| sentence.contains("Clara")), "{rings:?}");
}
