//! Triangles of the toolkit on a layer of pixels, without a graphics card: a row at a time, each pixel by its centre, so that
//! triangles that share a side share no pixel of it.

use std::collections::HashMap;

use egui::epaint::{ClippedPrimitive, ImageData, ImageDelta, Mesh, Primitive, Vertex};
use egui::{Color32, Rect, TextureId, TexturesDelta};
use showing::sink::Layer;

/// Red, green, blue, each multiplied by how much it covers, and that.
type Pixel = [u8; 4];

/// Returns `over` laid over `under`.
fn blend(over: Pixel, under: Pixel) -> Pixel {
    let rest = 255 - u32::from(over[3]);
    std::array::from_fn(|at| (u32::from(over[at]) + (u32::from(under[at]) * rest + 127) / 255).min(255) as u8)
}

/// Returns both multiplied.
fn tint(pixel: Pixel, by: Pixel) -> Pixel {
    std::array::from_fn(|at| ((u32::from(pixel[at]) * u32::from(by[at]) + 127) / 255) as u8)
}

struct Texture {
    size: [usize; 2],
    pixels: Vec<Pixel>,
}

impl Texture {
    fn at(&self, u: f32, v: f32) -> Pixel {
        let [width, height] = self.size;
        let place = |part: f32, size: usize| ((part * size as f32) as usize).min(size.saturating_sub(1));
        self.pixels.get(place(v, height) * width + place(u, width)).copied().unwrap_or_default()
    }
}

/// The textures that triangles take their pixels from.
#[derive(Default)]
pub(crate) struct Raster {
    textures: HashMap<TextureId, Texture>,
}

impl Raster {
    /// Takes new and changed textures.
    pub(crate) fn take(&mut self, delta: &TexturesDelta) {
        for (&id, images) in &delta.set {
            images.iter().for_each(|image| self.set(id, image));
        }
    }

    /// Forgets textures that nobody shows any more.
    pub(crate) fn forget(&mut self, delta: &TexturesDelta) {
        delta.free.iter().for_each(|id| drop(self.textures.remove(id)));
    }

    fn set(&mut self, id: TextureId, delta: &ImageDelta) {
        let ImageData::Color(image) = &delta.image;
        let Some([left, top]) = delta.pos else {
            let texture = Texture { size: image.size, pixels: image.pixels.iter().map(Color32::to_array).collect() };
            self.textures.insert(id, texture);
            return;
        };
        let Some(texture) = self.textures.get_mut(&id) else { return };
        for (row, pixels) in image.pixels.chunks_exact(image.size[0].max(1)).enumerate() {
            let first = (top + row) * texture.size[0] + left;
            if let Some(place) = texture.pixels.get_mut(first..first + pixels.len()) {
                place.iter_mut().zip(pixels).for_each(|(place, pixel)| *place = pixel.to_array());
            }
        }
    }

    /// Draws `primitives`, whose points are `scale` pixels.
    pub(crate) fn draw(&self, primitives: &[ClippedPrimitive], scale: f32, layer: &mut Layer) {
        for ClippedPrimitive { clip_rect, primitive } in primitives {
            if let Primitive::Mesh(mesh) = primitive
                && let Some(texture) = self.textures.get(&mesh.texture_id)
            {
                draw_mesh(mesh, texture, *clip_rect * scale, scale, layer);
            }
        }
    }
}

/// The part of a layer that may be drawn on, pixels.
struct Clip {
    rows: (i32, i32),
    columns: (i32, i32),
}

fn draw_mesh(mesh: &Mesh, texture: &Texture, clip: Rect, scale: f32, layer: &mut Layer) {
    let edge = |value: f32, most: usize| (value.round() as i32).clamp(0, most as i32);
    let clip = Clip {
        rows: (edge(clip.min.y, layer.height), edge(clip.max.y, layer.height)),
        columns: (edge(clip.min.x, layer.width), edge(clip.max.x, layer.width)),
    };
    for corners in mesh.indices.chunks_exact(3) {
        let vertex = |at: usize| mesh.vertices.get(corners[at] as usize);
        if let (Some(a), Some(b), Some(c)) = (vertex(0), vertex(1), vertex(2)) {
            let scaled = |vertex: &Vertex| Vertex { pos: vertex.pos * scale, ..*vertex };
            draw_triangle([scaled(a), scaled(b), scaled(c)], texture, &clip, layer);
        }
    }
}

/// Values that change evenly over a triangle: place in the texture and colour.
type Values = [f32; 6];

fn values(vertex: &Vertex) -> Values {
    let [red, green, blue, alpha] = vertex.color.to_array().map(f32::from);
    [vertex.uv.x, vertex.uv.y, red, green, blue, alpha]
}

/// Returns a side's column at the row's centre `y`.
fn crossing(upper: &Vertex, lower: &Vertex, y: f32) -> f32 {
    let share = (y - upper.pos.y) / (lower.pos.y - upper.pos.y);
    upper.pos.x + (lower.pos.x - upper.pos.x) * share
}

fn draw_triangle(mut corners: [Vertex; 3], texture: &Texture, clip: &Clip, layer: &mut Layer) {
    corners.sort_by(|a, b| a.pos.y.total_cmp(&b.pos.y));
    let [upper, middle, lower] = &corners;
    let (a, b) = (middle.pos - upper.pos, lower.pos - upper.pos);
    let area = a.x * b.y - a.y * b.x;
    if !area.is_finite() || area.abs() < 1e-6 {
        return;
    }
    let first = ((upper.pos.y - 0.5).ceil() as i32).max(clip.rows.0);
    let last = ((lower.pos.y - 0.5).ceil() as i32).min(clip.rows.1);
    let (base, to_middle, to_lower) = (values(upper), values(middle), values(lower));
    let is_flat = upper.uv == middle.uv && upper.uv == lower.uv;
    let has_one_colour = upper.color == middle.color && upper.color == lower.color;
    // Change for each column and each row.
    let slope = |at: usize| {
        let (along, down) = (to_middle[at] - base[at], to_lower[at] - base[at]);
        ((along * b.y - down * a.y) / area, (down * a.x - along * b.x) / area)
    };
    let slopes: [(f32, f32); 6] = std::array::from_fn(slope);
    let plain = (is_flat && has_one_colour).then(|| tint(texture.at(upper.uv.x, upper.uv.y), upper.color.to_array()));
    if plain == Some([0; 4]) {
        return;
    }
    for row in first..last {
        let y = row as f32 + 0.5;
        let long = crossing(upper, lower, y);
        let short = if y < middle.pos.y { crossing(upper, middle, y) } else { crossing(middle, lower, y) };
        let begin = ((long.min(short) - 0.5).ceil() as i32).max(clip.columns.0);
        let end = ((long.max(short) - 0.5).ceil() as i32).min(clip.columns.1);
        if begin >= end {
            continue;
        }
        layer.top = layer.top.min(row as usize);
        let start = row as usize * layer.width;
        let pixels = &mut layer.pixels[start + begin as usize..start + end as usize];
        if let Some(plain) = plain {
            match plain[3] {
                255 => pixels.fill(plain),
                _ => pixels.iter_mut().for_each(|pixel| *pixel = blend(plain, *pixel)),
            }
            continue;
        }
        let (across, down) = (begin as f32 + 0.5 - upper.pos.x, y - upper.pos.y);
        let mut at: Values = std::array::from_fn(|at| base[at] + slopes[at].0 * across + slopes[at].1 * down);
        let one = is_flat.then(|| texture.at(upper.uv.x, upper.uv.y));
        for pixel in pixels {
            let from = one.unwrap_or_else(|| texture.at(at[0], at[1]));
            let by = if has_one_colour {
                upper.color.to_array()
            } else {
                [at[2], at[3], at[4], at[5]].map(|value| (value + 0.5) as u8)
            };
            let over = tint(from, by);
            *pixel = match over[3] {
                255 => over,
                _ => blend(over, *pixel),
            };
            at.iter_mut().zip(&slopes).for_each(|(value, slope)| *value += slope.0);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
mod tests {
    use egui::{Pos2, pos2};

    use super::*;

    const HALF: Pixel = [100, 0, 0, 128];

    fn raster() -> Raster {
        let white = Texture { size: [1, 1], pixels: vec![[255; 4]] };
        Raster { textures: HashMap::from([(TextureId::default(), white)]) }
    }

    fn mesh(corners: &[Pos2], indices: &[u32], [r, g, b, a]: Pixel) -> ClippedPrimitive {
        let color = Color32::from_rgba_premultiplied(r, g, b, a);
        let vertices = corners.iter().map(|&pos| Vertex { pos, uv: Pos2::ZERO, color }).collect();
        let mesh = Mesh { indices: indices.to_vec(), vertices, texture_id: TextureId::default() };
        ClippedPrimitive { clip_rect: Rect::EVERYTHING, primitive: Primitive::Mesh(mesh) }
    }

    #[test]
    fn triangles_that_share_a_side_cover_each_pixel_once() {
        let mut layer = Layer::default();
        let corners = [pos2(3.3, 2.1), pos2(60.9, 7.7), pos2(49.5, 51.2), pos2(5.0, 40.0)];
        layer.begin(64, 64, [0; 4]);
        raster().draw(&[mesh(&corners, &[0, 1, 2, 0, 2, 3], HALF)], 1.0, &mut layer);
        let drawn = layer.pixels.iter().filter(|&&pixel| pixel != [0; 4]).count();
        assert!((1_900..2_300).contains(&drawn), "{drawn} pixels");
        assert!(layer.pixels.iter().all(|&pixel| pixel == HALF || pixel == [0; 4]));
        assert_eq!(layer.top, 2);
    }

    #[test]
    fn what_is_clipped_or_beyond_the_layer_is_not_drawn() {
        let mut layer = Layer::default();
        layer.begin(20, 10, [0; 4]);
        let everywhere = [pos2(-1e6, -1e6), pos2(1e6, -1e6), pos2(0.0, 1e6)];
        let clipped = ClippedPrimitive {
            clip_rect: Rect::from_min_max(pos2(2.0, 3.0), pos2(5.0, 900.0)),
            ..mesh(&everywhere, &[0, 1, 2], HALF)
        };
        raster().draw(&[clipped], 1.0, &mut layer);
        let drawn = layer.pixels.iter().filter(|&&pixel| pixel == HALF).count();
        assert_eq!((drawn, layer.top), (3 * 7, 3));
        let odd = [pos2(f32::NAN, 1.0), pos2(1.0, f32::INFINITY), pos2(3.0, 3.0)];
        raster().draw(&[mesh(&odd, &[0, 1, 2, 7, 8, 9], HALF)], 1.0, &mut layer);
    }
}
