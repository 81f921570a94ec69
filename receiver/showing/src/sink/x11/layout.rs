//! The way in which an X server keeps pixels, and how they are laid out for it.

use x11rb::protocol::xproto::{ImageOrder, Screen, Setup, VisualClass};

/// The byte order of this machine.
const OWN_ORDER: ImageOrder = if cfg!(target_endian = "big") { ImageOrder::MSB_FIRST } else { ImageOrder::LSB_FIRST };
/// Places of red, green and blue in a pixel as the rest of the program has it.
const OWN_MASKS: [u32; 3] = [0x00ff_0000, 0x0000_ff00, 0x0000_00ff];
/// The depths of windows whose pixels other libraries take as they are.
const USUAL_DEPTHS: [u8; 2] = [24, 32];

/// Reasons for which pictures cannot be shown on a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::sink) enum UnknownLayout {
    /// Colours are numbers of a palette, or there are none.
    #[error(
        "the screen has a palette of {0} bits instead of colours of its own: set it to 15, 16, 24 or 30 bits a pixel"
    )]
    Palette(u8),
    /// Pixels are parts of bytes, or are not described.
    #[error("the screen's pixels of {0} bits are laid out in a way that is not known here: set it to 24 bits a pixel")]
    Bits(u8),
}

/// The way in which an X server keeps the pixels of a window.
#[derive(Clone, Debug)]
pub(in crate::sink) struct PixelLayout {
    depth: u8,
    /// Bytes of a pixel.
    bytes: usize,
    /// Rows have a multiple of so many bytes.
    pad: usize,
    /// The parts of a pixel for each value of red, green and blue, first byte last; none: 0x00RRGGBB is such a pixel.
    channels: Option<Box<[[u32; 256]; 3]>>,
}

/// A kind of pixels, as the server describes it.
#[derive(Clone, Copy, Debug)]
struct Description {
    class: VisualClass,
    masks: [u32; 3],
    depth: u8,
    bits_per_pixel: u8,
    pad_bits: u8,
    order: ImageOrder,
}

impl PixelLayout {
    /// Returns the layout of windows that have the kind of pixels of `screen`.
    pub(super) fn of(setup: &Setup, screen: &Screen) -> Result<Self, UnknownLayout> {
        let depth = screen.root_depth;
        let mut visuals = screen.allowed_depths.iter().flat_map(|depth| &depth.visuals);
        let visual = visuals.find(|visual| visual.visual_id == screen.root_visual);
        let format = setup.pixmap_formats.iter().find(|format| format.depth == depth);
        let (Some(visual), Some(format)) = (visual, format) else { return Err(UnknownLayout::Bits(depth)) };
        Self::described(Description {
            class: visual.class,
            masks: [visual.red_mask, visual.green_mask, visual.blue_mask],
            depth,
            bits_per_pixel: format.bits_per_pixel,
            pad_bits: format.scanline_pad,
            order: setup.image_byte_order,
        })
    }

    fn described(as_said: Description) -> Result<Self, UnknownLayout> {
        let Description { class, masks, depth, bits_per_pixel, pad_bits, order } = as_said;
        if ![VisualClass::TRUE_COLOR, VisualClass::DIRECT_COLOR].contains(&class) {
            return Err(UnknownLayout::Palette(depth));
        }
        let (bytes, pad) = (usize::from(bits_per_pixel / 8), usize::from(pad_bits / 8).max(1));
        if !bits_per_pixel.is_multiple_of(8) || !(1..=4).contains(&bytes) || masks.contains(&0) {
            return Err(UnknownLayout::Bits(depth));
        }
        let is_own = bytes == OWN_MASKS.len() + 1 && masks == OWN_MASKS && order == OWN_ORDER;
        let channel = |mask: u32| std::array::from_fn(|value| placed(value as u8, mask, bytes, order));
        let channels = (!is_own).then(|| Box::new(masks.map(channel)));
        Ok(Self { depth, bytes, pad, channels })
    }

    /// Returns true if pixels are 0x00RRGGBB in windows of a usual depth, as libraries expect.
    pub(in crate::sink) fn is_usual(&self) -> bool {
        self.channels.is_none() && USUAL_DEPTHS.contains(&self.depth)
    }

    /// Returns the bits of colour of a pixel.
    pub(super) fn depth(&self) -> u8 {
        self.depth
    }

    /// Returns the bytes of a pixel.
    pub(in crate::sink) fn pixel_bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the bytes of a row of `width` pixels.
    pub(super) fn row_bytes(&self, width: usize) -> usize {
        (self.bytes * width).next_multiple_of(self.pad)
    }

    /// Returns `pixels`, 0x00RRGGBB, in rows of `width`, as the server wants them; `room` is memory for that.
    pub(super) fn laid_out<'a>(&self, pixels: &'a [u32], width: usize, room: &'a mut Vec<u8>) -> &'a [u8] {
        let Some(channels) = &self.channels else { return bytemuck::cast_slice(pixels) };
        let row_bytes = self.row_bytes(width);
        room.resize(row_bytes * pixels.len().div_ceil(width.max(1)), 0);
        for (row, out) in pixels.chunks(width.max(1)).zip(room.chunks_exact_mut(row_bytes.max(1))) {
            match self.bytes {
                1 => lay_out::<1>(channels, row, out),
                2 => lay_out::<2>(channels, row, out),
                3 => lay_out::<3>(channels, row, out),
                _ => lay_out::<4>(channels, row, out),
            }
        }
        room
    }
}

fn lay_out<const BYTES: usize>(channels: &[[u32; 256]; 3], row: &[u32], out: &mut [u8]) {
    for (pixel, out) in row.iter().zip(out.chunks_exact_mut(BYTES)) {
        let [_, red, green, blue] = pixel.to_be_bytes().map(usize::from);
        let laid_out = channels[0][red] | channels[1][green] | channels[2][blue];
        out.copy_from_slice(&laid_out.to_le_bytes()[..BYTES]);
    }
}

/// Returns the bits of a pixel of `bytes` bytes in which `mask` stands for `value` of 255; its first byte is the lowest.
fn placed(value: u8, mask: u32, bytes: usize, order: ImageOrder) -> u32 {
    let most = u64::from(mask >> mask.trailing_zeros());
    let scaled = (u64::from(value) * most + 127) / 255;
    let bits = (scaled as u32) << mask.trailing_zeros();
    if order == ImageOrder::LSB_FIRST { bits } else { bits.swap_bytes() >> (32 - 8 * bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: Description = Description {
        class: VisualClass::TRUE_COLOR,
        masks: OWN_MASKS,
        depth: 24,
        bits_per_pixel: 32,
        pad_bits: 32,
        order: ImageOrder::LSB_FIRST,
    };
    /// Black, white, and the three colours at half of their strength.
    const PIXELS: [u32; 5] = [0, 0x00ff_ffff, 0x0080_0000, 0x0000_8000, 0x0000_0080];

    fn laid_out(description: Description) -> Vec<u8> {
        let layout = PixelLayout::described(description).unwrap();
        layout.laid_out(&PIXELS, PIXELS.len(), &mut Vec::new()).to_vec()
    }

    #[test]
    fn pixels_have_the_bits_of_each_kind_of_screen() {
        let five_six_five = Description { masks: [0xf800, 0x07e0, 0x001f], depth: 16, bits_per_pixel: 16, ..WIDE };
        let words = |words: [u16; 5]| words.map(u16::to_le_bytes).concat();
        assert_eq!(laid_out(five_six_five)[..10], words([0, 0xffff, 0x8000, 0x0400, 0x0010]));
        let fives = Description { masks: [0x7c00, 0x03e0, 0x001f], depth: 15, ..five_six_five };
        assert_eq!(laid_out(fives)[..10], words([0, 0x7fff, 0x4000, 0x0200, 0x0010]));
        let tens = Description { masks: [0x3ff0_0000, 0x000f_fc00, 0x0000_03ff], depth: 30, ..WIDE };
        let wide = |words: [u32; 5]| words.map(u32::to_le_bytes).concat();
        assert_eq!(laid_out(tens), wide([0, 0x3fff_ffff, 0x2020_0000, 0x0008_0800, 0x0000_0202]));
        let blue_first = Description { masks: [0xff, 0xff00, 0x00ff_0000], ..WIDE };
        assert_eq!(laid_out(blue_first), wide([0, 0x00ff_ffff, 0x80, 0x8000, 0x0080_0000]));
        let tight = Description { bits_per_pixel: 24, ..WIDE };
        assert_eq!(laid_out(tight)[..15], [0, 0, 0, 255, 255, 255, 0, 0, 128, 0, 128, 0, 128, 0, 0]);
        let few = Description { masks: [0x07, 0x38, 0xc0], depth: 8, bits_per_pixel: 8, ..WIDE };
        assert_eq!(laid_out(few)[..5], [0, 0xff, 4, 4 << 3, 2 << 6]);
    }

    #[test]
    fn servers_of_the_other_byte_order_get_theirs() {
        let other = Description { order: ImageOrder::MSB_FIRST, ..WIDE };
        assert_eq!(laid_out(other), PIXELS.map(u32::to_be_bytes).concat());
        let five_six_five = Description { masks: [0xf800, 0x07e0, 0x001f], depth: 16, bits_per_pixel: 16, ..other };
        assert_eq!(laid_out(five_six_five)[..6], [0, 0, 0xff, 0xff, 0x80, 0]);
    }

    #[test]
    fn rows_end_where_the_server_says() {
        let layout = PixelLayout::described(Description {
            bits_per_pixel: 16,
            depth: 16,
            masks: [0xf800, 0x07e0, 0x1f],
            ..WIDE
        });
        let layout = layout.unwrap();
        assert_eq!([1, 2, 3, 5].map(|width| layout.row_bytes(width)), [4, 4, 8, 12]);
        let mut room = vec![9; 100];
        let rows = layout.laid_out(&[0x00ff_ffff; 6], 3, &mut room);
        assert_eq!((rows.len(), &rows[..6], &rows[8..14]), (16, &[255; 6][..], &[255; 6][..]));
    }

    #[test]
    fn what_the_rest_of_the_program_has_is_taken_as_it_is_where_it_fits() {
        let own = PixelLayout::described(Description { order: OWN_ORDER, ..WIDE }).unwrap();
        assert!(own.is_usual());
        let mut room = Vec::new();
        assert_eq!(own.laid_out(&PIXELS, 5, &mut room), bytemuck::cast_slice::<_, u8>(&PIXELS));
        // A window with the usual places in more bits than libraries take.
        assert!(!PixelLayout::described(Description { depth: 30, ..WIDE }).unwrap().is_usual());
    }

    #[test]
    fn screens_without_colours_of_their_own_are_refused_by_name() {
        for class in [VisualClass::PSEUDO_COLOR, VisualClass::STATIC_GRAY, VisualClass::GRAY_SCALE] {
            let refused = PixelLayout::described(Description { class, depth: 8, bits_per_pixel: 8, ..WIDE });
            assert_eq!(refused.unwrap_err(), UnknownLayout::Palette(8));
        }
        for (bits_per_pixel, masks) in [(4, OWN_MASKS), (0, OWN_MASKS), (64, OWN_MASKS), (32, [0xff, 0, 0xff00])] {
            let refused = PixelLayout::described(Description { bits_per_pixel, masks, ..WIDE });
            assert_eq!(refused.unwrap_err(), UnknownLayout::Bits(24));
        }
    }
}
