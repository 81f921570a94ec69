//! Recordings that begin and end while a call goes on.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use picture::container::{ContainerReader, Content, Entry, FileFrame};
use room::people::Event;

use crate::support::{Band, Room, alone, until};

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Returns the number of a recording's frames, of which the first stands alone; none: it is not complete.
fn frames(path: &Path) -> Option<usize> {
    let mut reader = ContainerReader::new(File::open(path).ok()?).ok()?;
    // Else it could begin anywhere.
    assert!(reader.params().codec.profile.states() > 0, "nothing is predicted here");
    let mut frames = 0;
    while let Some(entry) = reader.next_entry().unwrap() {
        let Entry::Frame(FileFrame { number, content: Content::Blocks { reference, .. } }) = entry else { return None };
        assert!(frames > 0 || (number, reference) == (0, 0), "{}: {number}, {reference}", path.display());
        frames += 1;
    }
    Some(frames)
}

#[test]
fn a_call_is_recorded_from_the_middle_twice_and_both_see_it_and_a_folder_that_takes_nothing_is_told() {
    let name =
        "recordings::a_call_is_recorded_from_the_middle_twice_and_both_see_it_and_a_folder_that_takes_nothing_is_told";
    alone(name, || {
        let band = Band::new(["robert", "clara"]);
        let rooms: [Room; 2] = [band.room(0), band.room(1)];
        rooms[0].people.call(&band.keys[1]);
        rooms[1].until(&Event::Rings(band.who(0)));
        rooms[1].people.take(&band.keys[0]);
        rooms.iter().for_each(Room::sees_the_other);
        let [his, hers] = [0, 1].map(|who| rooms[who].people.handle().unwrap());
        let folder = band.folder.join("recordings");
        for count in 1..=2 {
            hers.recordings.begin(&folder).unwrap();
            until("the red dot", || his.talk.theirs().is_recording.then_some(()));
            until("the file", || (files(&folder).len() == count).then_some(()));
            rooms.iter().for_each(Room::sees_the_other);
            hers.recordings.end();
            until("the end of the red dot", || (!his.talk.theirs().is_recording).then_some(()));
            // The files are complete while the call goes on.
            let newest = files(&folder).pop().unwrap();
            let count = until("its end", || frames(&newest));
            assert!(count >= 3, "{count} frames");
            rooms.iter().for_each(Room::sees_the_other);
        }
        let file = files(&folder).pop().unwrap();
        hers.recordings.begin(&file.join("within")).unwrap();
        let trouble = until("trouble", || hers.recordings.take_trouble());
        assert!(trouble.contains("within"), "{trouble}");
        assert!(!hers.recordings.is_on() && hers.recordings.take_trouble().is_none());
        until("no red dot", || (!his.talk.theirs().is_recording).then_some(()));
    });
}
