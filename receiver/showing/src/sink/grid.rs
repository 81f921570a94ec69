//! The pictures of several machines on one sheet: side by side, one large beside the others, or one alone.
//!
//! Each machine's presenter has a [`Tile`], on its own thread; the window's thread lays them out.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use common::units::FrameId;
use kernels::{Converter, Original, Picture, Scaler};
use net::lock::lock;
use picture::params::StreamParams;
use sound::level::Level;

use super::enlarged::enlarged;
use super::text::{Canvas, Letters};
use super::{Sink, SinkError};
use crate::report::Status;
use crate::sound::Audible;

/// Size of a tile of those that are alike, pixels; where one is large, it has three times the width of the others beside it.
const TILE: (usize, usize) = (640, 360);
/// Softest level that a bar shows, decibels.
const FLOOR_DB: f32 = -60.0;
/// Colour and rows of a bar.
const BAR: u32 = 0x0030_c060;
const BAR_ROWS: usize = 4;

/// The member that is shown larger than others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Emphasis {
    /// Nobody.
    #[default]
    Alike,
    /// This one, with the others beside it.
    Large(usize),
    /// Nobody but this one.
    Solo(usize),
}

impl Emphasis {
    /// Returns what pressing the key of `member` leads to: large, then alone, then all alike.
    #[must_use]
    pub fn pressed(self, member: usize) -> Self {
        match self {
            Self::Large(large) if large == member => Self::Solo(member),
            Self::Solo(solo) if solo == member => Self::Alike,
            _ => Self::Large(member),
        }
    }

    /// Returns what follows in turn for so many members: each large, then all alike.
    #[must_use]
    pub fn next(self, count: usize) -> Self {
        let next = match self {
            Self::Alike => 0,
            Self::Large(member) | Self::Solo(member) => member + 1,
        };
        if next < count { Self::Large(next) } else { Self::Alike }
    }

    /// Returns the member that is shown larger than others, if there is one.
    pub fn member(self) -> Option<usize> {
        match self {
            Self::Alike => None,
            Self::Large(member) | Self::Solo(member) => Some(member),
        }
    }
}

/// A place on the sheet, pixels: left upper corner, and width and height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    at: (usize, usize),
    size: (usize, usize),
}

/// Returns the size of the sheet of so many tiles, and the place of each that is shown.
fn places(count: usize, emphasis: Emphasis) -> ((usize, usize), Vec<Option<Place>>) {
    let (width, height) = TILE;
    match emphasis {
        Emphasis::Solo(solo) if solo < count => {
            let size = (2 * width, 2 * height);
            (size, (0..count).map(|tile| (tile == solo).then_some(Place { at: (0, 0), size })).collect())
        }
        Emphasis::Large(large) if large < count && count > 1 => {
            let (small, size) = ((width / 2, height / 2), (3 * width / 2, 3 * height / 2));
            let place = |tile: usize| match tile == large {
                true => Place { at: (0, 0), size },
                false => Place { at: (size.0, (tile - usize::from(tile > large)) * small.1), size: small },
            };
            ((size.0 + small.0, size.1), (0..count).map(|tile| Some(place(tile))).collect())
        }
        _ => {
            let columns = count.clamp(1, 2);
            let place = |tile: usize| Place { at: (tile % columns * width, tile / columns * height), size: TILE };
            let rows = count.div_ceil(columns).max(1);
            ((columns * width, rows * height), (0..count).map(|tile| Some(place(tile))).collect())
        }
    }
}

#[derive(Default)]
struct Shown {
    name: String,
    picture: Option<(Picture, Converter)>,
    notice: Option<String>,
    line: String,
    said: Option<String>,
    audible: Option<Audible>,
    is_new: bool,
}

/// Says a sentence about a machine in a person's language.
pub type Says = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// The tiles, as their presenters fill them.
#[derive(Clone, Default)]
pub struct Grid(Arc<Shared>);

#[derive(Default)]
struct Shared {
    tiles: Mutex<Vec<Shown>>,
    says: Mutex<Option<Says>>,
    changed: Condvar,
}

/// The place in a grid where one machine's pictures go.
pub struct Tile {
    grid: Grid,
    place: usize,
    converter: Option<Converter>,
}

impl Grid {
    /// Adds a machine of this name; returns where its pictures go.
    pub fn add(&self, name: &str, audible: Option<Audible>) -> Tile {
        let mut tiles = lock(&self.0.tiles);
        tiles.push(Shown { name: name.to_owned(), audible, is_new: true, ..Shown::default() });
        Tile { grid: self.clone(), place: tiles.len() - 1, converter: None }
    }

    /// Lets `says` say why a machine has no picture, and leaves the lines about streams to whoever shows the window.
    pub fn set_words(&self, says: Says) {
        *lock(&self.0.says) = Some(says);
        lock(&self.0.tiles).iter_mut().for_each(|tile| tile.is_new = true);
    }

    /// Waits at most `longest` until something is new.
    pub fn wait(&self, longest: Duration) {
        let is_old = |tiles: &mut Vec<Shown>| tiles.iter().all(|tile| !tile.is_new);
        let waited = self.0.changed.wait_timeout_while(lock(&self.0.tiles), longest, is_old);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Takes what machines have to say for a moment.
    pub fn take_said(&self) -> Vec<String> {
        lock(&self.0.tiles).iter_mut().filter_map(|tile| tile.said.take()).collect()
    }
}

impl Tile {
    fn change(&self, change: impl FnOnce(&mut Shown)) {
        if let Some(tile) = lock(&self.grid.0.tiles).get_mut(self.place) {
            change(tile);
            tile.is_new = true;
        }
        self.grid.0.changed.notify_all();
    }
}

impl Sink for Tile {
    fn start(&mut self, params: &StreamParams) -> Result<(), SinkError> {
        self.converter = Some(Converter::new(params.colour));
        Ok(())
    }

    fn show(&mut self, _id: FrameId, picture: &Picture) -> Result<(), SinkError> {
        let Some(converter) = self.converter else { return Ok(()) };
        let shape = |picture: &Picture| (picture.format(), picture.depth(), picture.size());
        self.change(|tile| match &mut tile.picture {
            // Its memory is that of the one before.
            Some((shown, with)) if shape(shown) == shape(picture) => {
                shown.data_mut().copy_from_slice(picture.data());
                *with = converter;
            }
            shown => *shown = Some((picture.clone(), converter)),
        });
        Ok(())
    }

    fn status(&mut self, status: &Status) {
        let line = status.line.lines().last().unwrap_or_default().to_owned();
        self.change(|tile| tile.line = line);
    }

    fn notice(&mut self, notice: Option<&str>) {
        self.change(|tile| tile.notice = notice.map(str::to_owned));
    }

    fn cover(&mut self) {
        self.change(|tile| tile.picture = None);
    }

    fn say(&mut self, text: &str) {
        self.change(|tile| tile.said = Some(text.to_owned()));
    }
}

/// A grid's tiles laid out.
#[derive(Default)]
pub struct Sheet {
    emphasis: Emphasis,
    size: (usize, usize),
    /// 0x00RRGGBB row by row.
    pixels: Vec<u32>,
    scalers: Vec<Option<Scaler>>,
    cell: Vec<u32>,
    /// Level of each as it is drawn, pixels, and its volume, per cent.
    heard: Vec<(usize, u32)>,
}

impl Sheet {
    /// Shows tiles as `emphasis` says from now on.
    pub fn set_emphasis(&mut self, emphasis: Emphasis) {
        if std::mem::replace(&mut self.emphasis, emphasis) != emphasis {
            self.size = (0, 0);
        }
    }

    /// Returns who is shown larger than others.
    pub fn emphasis(&self) -> Emphasis {
        self.emphasis
    }

    /// Returns the member whose tile has a pixel of the sheet.
    pub fn member_at(&self, (x, y): (usize, usize)) -> Option<usize> {
        let (_, places) = places(self.scalers.len(), self.emphasis);
        places.into_iter().position(|place| {
            place.is_some_and(|Place { at, size }| {
                (at.0..at.0 + size.0).contains(&x) && (at.1..at.1 + size.1).contains(&y)
            })
        })
    }

    /// Returns its size, and its pixels, 0x00RRGGBB row by row.
    pub fn pixels(&self) -> ((usize, usize), &[u32]) {
        (self.size, &self.pixels)
    }

    /// Returns the size of its left upper part that has who is shown larger than others; all of it: nobody is.
    pub fn large(&self) -> (usize, usize) {
        let (_, places) = places(self.scalers.len(), self.emphasis);
        let large = self.emphasis.member().and_then(|member| *places.get(member)?);
        large.map_or(self.size, |place| place.size)
    }

    /// Lays out what is new; returns true if anything is.
    pub fn renew(&mut self, grid: &Grid) -> bool {
        let says = lock(&grid.0.says).clone();
        let mut tiles = lock(&grid.0.tiles);
        let (size, places) = places(tiles.len(), self.emphasis);
        let is_other = self.size != size || self.scalers.len() != tiles.len();
        if is_other {
            self.size = size;
            self.pixels = vec![0; size.0 * size.1];
            self.scalers = tiles.iter().map(|_| None).collect();
            self.heard = vec![(0, 100); tiles.len()];
        }
        let mut has_changed = is_other;
        for (at, (tile, place)) in tiles.iter_mut().zip(places).enumerate() {
            let Some(place) = place else { continue };
            let level = tile.audible.as_ref().map_or(Level::SILENCE, |audible| audible.levels().0);
            let volume = tile.audible.as_ref().map_or(1.0, |audible| audible.side.volume());
            let heard = (bar(level, place.size.0), (100.0 * volume).round() as u32);
            let is_new = std::mem::take(&mut tile.is_new) | (std::mem::replace(&mut self.heard[at], heard) != heard);
            if is_new || is_other {
                self.draw(at, tile, place, says.as_ref());
                has_changed = true;
            }
        }
        has_changed
    }

    /// Draws a tile: the picture in its own shape, name, volume and delay under it, and its level.
    fn draw(&mut self, at: usize, tile: &Shown, Place { at: (left, top), size }: Place, says: Option<&Says>) {
        let (bar, percent) = self.heard[at];
        let (width, height) = size;
        self.cell.clear();
        self.cell.resize(width * height, 0);
        if let Some((picture, converter)) = &tile.picture {
            let from = (picture.size().width(), picture.size().height());
            let inner = enlarged(from, size);
            let scaler = match &mut self.scalers[at] {
                Some(scaler) if scaler.sizes() == (from, inner) => scaler,
                other => other.insert(Scaler::new(from, inner)),
            };
            let (x, y) = ((width - inner.0.min(width)) / 2, (height - inner.1.min(height)) / 2);
            let rows = &mut self.cell[y * width..(y + inner.1.min(height)) * width];
            scaler.scale_rows(Original::Planes { picture, converter, mirrored: false }, rows, width, x, 0);
        }
        let mut canvas = Canvas { pixels: &mut self.cell, width };
        let letters = Letters::for_height(2 * height);
        match &tile.notice {
            Some(notice) => canvas.draw_notice(&says.map_or_else(|| notice.clone(), |says| says(notice))),
            None if says.is_some() => {}
            None if tile.picture.is_none() => canvas.write_notice(&format!("Waiting for {}", tile.name)),
            None => {}
        }
        let name = if percent == 100 { tile.name.clone() } else { format!("{} at {percent} %", tile.name) };
        let words = if tile.line.is_empty() || says.is_some() { name } else { format!("{name}: {}", tile.line) };
        let lines: Vec<_> = letters.wrap(&words, width).into_iter().take(1).collect();
        canvas.write(&lines, letters, height.saturating_sub(3 * letters.line() / 2), false);
        for row in self.cell.rchunks_exact_mut(width).take(BAR_ROWS) {
            row[..bar].fill(BAR);
        }
        for (y, row) in self.cell.chunks_exact(width).enumerate() {
            self.pixels[(top + y) * self.size.0 + left..][..width].copy_from_slice(row);
        }
    }
}

/// Returns the length of a level's bar on so many pixels.
fn bar(level: Level, width: usize) -> usize {
    let part = level.db().map_or(0.0, |db| (db - FLOOR_DB) / -FLOOR_DB);
    (part.clamp(0.0, 1.0) * width as f32) as usize
}

#[cfg(test)]
mod tests {
    use picture::frame::{Chroma, ColourSpace, FrameSize, PixelFormat};

    use super::*;

    /// Shows a grey picture of so much light in a tile.
    fn show(tile: &mut Tile, light: u8) {
        let size = FrameSize::new(64, 36).unwrap();
        let params = StreamParams { colour: ColourSpace::JPEG, ..StreamParams::new(size, Chroma::Grey) };
        tile.start(&params).unwrap();
        let picture = Picture::from_data(PixelFormat::Grey8, size, vec![light; size.pixels()]).unwrap();
        tile.show(FrameId(0), &picture).unwrap();
    }

    fn light(sheet: &Sheet, (x, y): (usize, usize)) -> u32 {
        let ((width, _), pixels) = sheet.pixels();
        pixels[y * width + x] & 0xff
    }

    #[test]
    fn tiles_lie_side_by_side_or_one_is_large_or_alone_as_its_key_is_pressed() {
        let (grid, mut sheet) = (Grid::default(), Sheet::default());
        let mut tiles = ["clara", "robert", "mia"].map(|name| grid.add(name, None));
        for (tile, light) in tiles.iter_mut().zip([50, 100, 150]) {
            show(tile, light);
        }
        assert!(sheet.renew(&grid) && !sheet.renew(&grid));
        assert_eq!(sheet.pixels().0, (1280, 720));
        let middles = [(320, 100), (960, 100), (320, 460)];
        assert_eq!(middles.map(|at| light(&sheet, at)), [50, 100, 150]);
        // What is new of one changes no other.
        show(&mut tiles[1], 90);
        assert!(sheet.renew(&grid));
        assert_eq!(middles.map(|at| light(&sheet, at)), [50, 90, 150]);
        sheet.set_emphasis(sheet.emphasis().pressed(1));
        assert!(sheet.renew(&grid));
        assert_eq!(sheet.pixels().0, (1280, 540));
        assert_eq!([(480, 100), (1100, 60), (1100, 240)].map(|at| light(&sheet, at)), [90, 50, 150]);
        sheet.set_emphasis(sheet.emphasis().pressed(1));
        assert!(sheet.renew(&grid));
        assert_eq!([(10, 10), (1270, 600)].map(|at| light(&sheet, at)), [90, 90]);
        assert_eq!(sheet.emphasis().pressed(1), Emphasis::Alike);
        assert_eq!(sheet.emphasis().pressed(0), Emphasis::Large(0));
        // By turns, and where the pointer is.
        let turns = std::iter::successors(Some(Emphasis::Alike), |emphasis| Some(emphasis.next(3))).take(5);
        let members = turns.map(Emphasis::member).collect::<Vec<_>>();
        assert_eq!(members, [None, Some(0), Some(1), Some(2), None]);
        sheet.set_emphasis(Emphasis::Large(1));
        assert!(sheet.renew(&grid));
        assert_eq!(
            [(0, 0), (959, 539), (960, 0), (1279, 200), (960, 400)].map(|at| sheet.member_at(at)),
            [Some(1), Some(1), Some(0), Some(2), None]
        );
        assert_eq!(sheet.large(), (960, 540));
        // One whose key nobody has.
        sheet.set_emphasis(Emphasis::Large(7));
        assert!(sheet.renew(&grid));
        assert_eq!((sheet.pixels().0, sheet.large()), ((1280, 720), (1280, 720)));
    }

    #[test]
    fn a_tile_without_a_picture_says_why_and_each_has_its_name() {
        let (grid, mut sheet) = (Grid::default(), Sheet::default());
        let (mut first, mut second) = (grid.add("clara", None), grid.add("robert", None));
        show(&mut first, 50);
        sheet.renew(&grid);
        let ((width, _), pixels) = sheet.pixels();
        assert_eq!(sheet.pixels().0, (1280, 360));
        let rows = |columns: std::ops::Range<usize>, rows: std::ops::Range<usize>| {
            rows.flat_map(|y| pixels[y * width..][columns.clone()].to_vec()).filter(|pixel| *pixel & 0xff > 200).count()
        };
        assert!(rows(0..640, 0..300) == 0 && rows(0..640, 300..360) > 20, "a name under a picture");
        assert!(rows(640..1280, 0..300) > 20, "and why there is none");
        // In a person's language, and without the line.
        first.status(&Status { line: "a line".to_owned(), ..Status::default() });
        sheet.renew(&grid);
        let lines = |sheet: &Sheet| sheet.pixels().1.iter().filter(|pixel| **pixel & 0xff > 200).count();
        let before = lines(&sheet);
        second.notice(Some("looking"));
        grid.set_words(Arc::new(|said| format!("{said} {said} {said} {said}")));
        assert!(sheet.renew(&grid) && lines(&sheet) != before);
        second.say("robert records this call");
        assert_eq!(grid.take_said(), ["robert records this call"]);
        first.cover();
        assert!(sheet.renew(&grid));
        assert_eq!(light(&sheet, (320, 60)), 0);
    }
}
