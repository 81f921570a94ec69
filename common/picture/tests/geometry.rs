//! Properties of the pyramid and of the block layout, from 1x1 to 16384x1 and back.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use picture::frame::{Chroma, FrameSize};
use picture::params::{Boundary, CodecParams, Levels, Padding};
use picture::pyramid::{BLOCK_SIDE, BlockLayout, Orientation, Pyramid, Rect};
use proptest::prelude::*;

fn side() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 1..=70u32, 2 => 71..=700u32, 1 => prop::sample::select(vec![1023, 1025, 1919, 4097, 16_383, 16_384])]
}

/// Sizes whose square is not too large to be laid out often.
fn size() -> impl Strategy<Value = FrameSize> {
    (side(), side()).prop_map(|(width, height)| {
        let narrow = |side: u32, other: u32| if other > 2_000 { side.min(40) } else { side };
        FrameSize::new(narrow(width, height.min(2_001)), narrow(height, width)).unwrap()
    })
}

fn codec() -> impl Strategy<Value = CodecParams> {
    let levels = prop_oneof![3 => Just(Levels::Full), 1 => (0..=14u8).prop_map(Levels::AtMost)];
    let boundary = prop::sample::select(vec![Boundary::Symmetric, Boundary::Periodic, Boundary::Zero]);
    let padding = prop::sample::select(vec![Padding::Smooth, Padding::Zero]);
    (levels, boundary, padding).prop_map(|(levels, boundary, padding)| CodecParams {
        levels,
        boundary,
        padding,
        ..CodecParams::default()
    })
}

/// Returns every band of a decomposition: the low band and three details a level.
fn bands(pyramid: &Pyramid) -> Vec<Rect> {
    let details = (1..=pyramid.levels()).flat_map(|level| {
        [Orientation::HL, Orientation::LH, Orientation::HH].map(|orientation| pyramid.band(level, orientation))
    });
    std::iter::once(pyramid.band(pyramid.levels(), Orientation::LL)).chain(details).collect()
}

fn overlap(a: Rect, b: Rect) -> usize {
    let along = |a: usize, a_len: usize, b: usize, b_len: usize| (a + a_len).min(b + b_len).saturating_sub(a.max(b));
    along(a.x, a.width, b.x, b.width) * along(a.y, a.height, b.y, b.height)
}

/// Returns true for each low and high coefficient that depends on a non-zero sample, by the lifting steps.
fn reach(row: &[bool]) -> (Vec<bool>, Vec<bool>) {
    let half = row.len() / 2;
    let mut low: Vec<_> = row.iter().copied().step_by(2).collect();
    let mut high: Vec<_> = row.iter().copied().skip(1).step_by(2).collect();
    for _ in 0..2 {
        for n in 0..half {
            high[n] |= low[n] | low[(n + 1).min(half - 1)];
        }
        for n in 0..half {
            low[n] |= high[n.saturating_sub(1)] | high[n];
        }
    }
    (low, high)
}

fn extent(row: &[bool]) -> usize {
    row.iter().rposition(|&reached| reached).map_or(0, |last| last + 1)
}

#[track_caller]
fn check_layout(size: FrameSize, chroma: Chroma, codec: &CodecParams) {
    let layout = BlockLayout::for_planes(size, chroma, codec);
    let mut tiles = BTreeSet::new();
    for block in layout.blocks() {
        let rect = block.rect;
        let tile = (block.channel, rect.x / BLOCK_SIDE, rect.y / BLOCK_SIDE);
        assert!(tiles.insert(tile), "two blocks in one tile: {block:?}");
        assert!(rect.width > 0 && rect.height > 0, "{block:?}");
        assert!(rect.x % BLOCK_SIDE + rect.width <= BLOCK_SIDE, "{block:?} leaves its tile");
        assert!(rect.y % BLOCK_SIDE + rect.height <= BLOCK_SIDE, "{block:?} leaves its tile");
    }
    // No two blocks share a coefficient, so equal areas mean that each band is covered exactly once.
    for (&channel, pyramid) in chroma.channels().iter().zip(layout.pyramids()) {
        let blocks: Vec<_> = layout.blocks().iter().filter(|block| block.channel == channel).collect();
        for band in bands(pyramid) {
            let covered: usize = blocks.iter().map(|block| overlap(block.rect, band)).sum();
            assert_eq!(covered, band.width * band.height, "{size} {chroma:?} {codec:?} {channel:?} {band:?}");
        }
        for block in &blocks[1..] {
            let band = pyramid.band(block.level, block.orientation);
            assert_eq!(overlap(block.rect, band), block.rect.width * block.rect.height, "{block:?} leaves its band");
        }
    }
    let (coarse, fine) = layout.blocks().split_at(layout.coarse_blocks());
    assert!(coarse.iter().all(|block| block.orientation == Orientation::LL));
    assert!(fine.iter().all(|block| block.orientation != Orientation::LL));
    let band_side = |channel: picture::frame::Channel, level| layout.pyramids()[channel.index()].side() >> level;
    assert!(fine.is_sorted_by_key(|block| band_side(block.channel, block.level)), "coarse bands first");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bands_tile_their_extents(size in size(), codec in codec()) {
        let pyramid = Pyramid::new(size, &codec);
        let side = pyramid.side();
        prop_assert!(side.is_power_of_two() && side >= size.width().max(size.height()));
        prop_assert!(side == 1 || side / 2 < size.width().max(size.height()));
        let mut before = Rect { x: 0, y: 0, width: size.width(), height: size.height() };
        for level in 1..=pyramid.levels() {
            let [ll, hl, lh, hh] = [Orientation::LL, Orientation::HL, Orientation::LH, Orientation::HH]
                .map(|orientation| pyramid.band(level, orientation));
            let half = side >> level;
            prop_assert_eq!((ll.x, ll.y, hl.x, hl.y, lh.x, lh.y, hh.x, hh.y), (0, 0, half, 0, 0, half, half, half));
            prop_assert!([ll, hl, lh, hh].iter().all(|band| band.width <= half && band.height <= half));
            prop_assert_eq!((hl.height, lh.width, hh.width, hh.height), (ll.height, ll.width, hl.width, lh.height));
            if codec.padding == Padding::Smooth {
                prop_assert_eq!((ll.width + hl.width, ll.height + lh.height), (before.width, before.height));
                prop_assert_eq!(pyramid.transform_extent(level), (before.width, before.height));
            } else {
                prop_assert_eq!(pyramid.transform_extent(level), (2 * half, 2 * half));
            }
            before = ll;
        }
        prop_assert_eq!(codec.levels == Levels::Full, codec.levels == Levels::Full && side >> pyramid.levels() == 1);
    }

    #[test]
    fn nothing_outside_the_bands_can_be_non_zero(width in side(), boundary in prop::sample::select(vec![Boundary::Symmetric, Boundary::Zero])) {
        let codec = CodecParams { padding: Padding::Zero, boundary, ..CodecParams::default() };
        let pyramid = Pyramid::new(FrameSize::new(width, 1).unwrap(), &codec);
        let mut row: Vec<_> = (0..pyramid.side()).map(|x| x < width as usize).collect();
        for level in 1..=pyramid.levels() {
            let (low, high) = reach(&row);
            let (ll, hl) = (pyramid.band(level, Orientation::LL), pyramid.band(level, Orientation::HL));
            prop_assert!(extent(&low) <= ll.width && extent(&high) <= hl.width, "level {}", level);
            // And not much of what is coded must be zero.
            prop_assert!(ll.width <= extent(&low) + 2 && hl.width <= extent(&high) + 2, "level {}", level);
            row = low;
        }
    }

    #[test]
    fn blocks_cover_every_coefficient_once(
        size in size(),
        chroma in prop::sample::select(vec![Chroma::Grey, Chroma::C420, Chroma::C444]),
        codec in codec(),
    ) {
        check_layout(size, chroma, &codec);
    }
}

#[test]
fn extreme_and_usual_sizes_are_covered() {
    for (width, height) in [
        (1, 1),
        (2, 3),
        (17, 31),
        (1, 16_384),
        (16_384, 1),
        (1_280, 720),
        (1_919, 1_079),
        (1_920, 1_080),
        (4_096, 4_096),
    ] {
        for padding in [Padding::Smooth, Padding::Zero] {
            let codec = CodecParams { padding, ..CodecParams::default() };
            check_layout(FrameSize::new(width, height).unwrap(), Chroma::C420, &codec);
        }
    }
}

#[test]
fn a_missing_block_is_noticed() {
    let codec = CodecParams::default();
    let layout = BlockLayout::for_planes(FrameSize::new(100, 70).unwrap(), Chroma::Grey, &codec);
    let band = layout.pyramids()[0].band(1, Orientation::HH);
    let covered: usize = layout.blocks().iter().skip(1).map(|block| overlap(block.rect, band)).sum();
    let without_last: usize = layout.blocks().iter().rev().skip(1).map(|block| overlap(block.rect, band)).sum();
    assert!(covered == band.width * band.height && without_last < covered);
}
