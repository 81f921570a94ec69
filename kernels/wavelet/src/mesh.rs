//! Geometry images: points of a surface in three channels of coordinates, as a mesh and as a picture of it (Wong et al., 2007,
//! section VII.C).

use std::fmt::Write;

/// Side of the picture, pixels.
const SIDE: usize = 512;
/// Directions to the eye and to the light, of length one.
const EYE: [f32; 3] = [0.48, 0.36, 0.8];
const LIGHT: [f32; 3] = [0.6, 0.0, 0.8];

/// Points in rows and columns.
pub(crate) struct Mesh {
    points: Vec<[f32; 3]>,
    columns: usize,
}

impl Mesh {
    /// Returns the mesh of three channels of as many values, whose rows have `columns`.
    pub(crate) fn new([x, y, z]: [&[f32]; 3], columns: usize) -> Self {
        let points = x.iter().zip(y).zip(z).map(|((x, y), z)| [*x, *y, *z]).collect();
        Self { points, columns }
    }

    /// Returns the corners of each cell of the grid.
    fn cells(&self) -> impl Iterator<Item = [usize; 4]> {
        let (columns, rows) = (self.columns, self.points.len() / self.columns);
        (1..rows).flat_map(move |row| (1..columns).map(move |column| (row, column))).map(move |(row, column)| {
            let at = row * columns + column;
            [at - columns - 1, at - columns, at, at - 1]
        })
    }

    /// Returns the text of an `.obj` file: points, then four-sided faces.
    pub(crate) fn obj(&self) -> String {
        let mut text = String::from("# geometry image\n");
        for [x, y, z] in &self.points {
            // Writing to a string does not fail.
            let _ = writeln!(text, "v {x} {y} {z}");
        }
        for [a, b, c, d] in self.cells() {
            let _ = writeln!(text, "f {} {} {} {}", a + 1, b + 1, c + 1, d + 1);
        }
        text
    }

    /// Returns a grey picture of it, [`SIDE`] pixels wide and high, seen from afar and lit from one side.
    pub(crate) fn picture(&self) -> (usize, Vec<u8>) {
        let (right, up) = (unit(cross([0.0, 1.0, 0.0], EYE)), unit(cross(EYE, cross([0.0, 1.0, 0.0], EYE))));
        let seen: Vec<[f32; 3]> =
            self.points.iter().map(|&point| [dot(point, right), -dot(point, up), dot(point, EYE)]).collect();
        let finite = || seen.iter().filter(|point| point.iter().all(|value| value.is_finite()));
        let bound = |axis: usize| {
            finite().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), point| {
                (low.min(point[axis]), high.max(point[axis]))
            })
        };
        let (x, y) = (bound(0), bound(1));
        let scale = (SIDE - 8) as f32 / (x.1 - x.0).max(y.1 - y.0).max(f32::MIN_POSITIVE);
        let place = |point: [f32; 3]| {
            let at = |value: f32, (low, high): (f32, f32)| (value - (low + high) / 2.0) * scale + SIDE as f32 / 2.0;
            [at(point[0], x), at(point[1], y), point[2]]
        };
        let (mut grey, mut depths) = (vec![0_u8; SIDE * SIDE], vec![f32::NEG_INFINITY; SIDE * SIDE]);
        for [a, b, c, d] in self.cells() {
            for corners in [[a, b, c], [a, c, d]] {
                let [p, q, r] = corners.map(|at| self.points[at]);
                // Both sides of the surface are lit.
                let light = dot(unit(cross(less(q, p), less(r, p))), LIGHT).abs();
                let shade = (40.0 + 215.0 * light) as u8;
                fill(corners.map(|at| place(seen[at])), shade, &mut grey, &mut depths);
            }
        }
        (SIDE, grey)
    }
}

/// Fills a triangle where it is before what is there.
fn fill([p, q, r]: [[f32; 3]; 3], shade: u8, grey: &mut [u8], depths: &mut [f32]) {
    let area = (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]);
    if !area.is_finite() || area == 0.0 {
        return;
    }
    let range = |axis: usize| {
        let [low, high] = [f32::min, f32::max].map(|of| of(of(p[axis], q[axis]), r[axis]));
        (low.floor().max(0.0) as usize)..((high.ceil().max(0.0) as usize) + 1).min(SIDE)
    };
    for y in range(1) {
        for x in range(0) {
            let at = [x as f32 + 0.5, y as f32 + 0.5];
            let side =
                |a: [f32; 3], b: [f32; 3]| ((b[0] - a[0]) * (at[1] - a[1]) - (b[1] - a[1]) * (at[0] - a[0])) / area;
            let (of_r, of_p, of_q) = (side(p, q), side(q, r), side(r, p));
            let depth = of_p * p[2] + of_q * q[2] + of_r * r[2];
            let pixel = y * SIDE + x;
            if of_p.min(of_q).min(of_r) >= 0.0 && depth > depths[pixel] {
                (grey[pixel], depths[pixel]) = (shade, depth);
            }
        }
    }
}

fn less(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn unit(a: [f32; 3]) -> [f32; 3] {
    let length = dot(a, a).sqrt().max(f32::MIN_POSITIVE);
    a.map(|value| value / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sphere_is_round_and_has_all_of_its_faces() {
        let (rows, columns) = (33, 65);
        let angle = |at: usize, of: usize, turn: f32| at as f32 / (of - 1) as f32 * turn * std::f32::consts::PI;
        let point = |at: usize| {
            let (high, around) = (angle(at / columns, rows, 1.0), angle(at % columns, columns, 2.0));
            [high.sin() * around.cos(), high.cos(), high.sin() * around.sin()]
        };
        let points: Vec<[f32; 3]> = (0..rows * columns).map(point).collect();
        let [x, y, z] = [0, 1, 2].map(|axis| points.iter().map(|point| point[axis]).collect::<Vec<f32>>());
        let mesh = Mesh::new([&x, &y, &z], columns);
        let text = mesh.obj();
        assert_eq!(text.lines().filter(|line| line.starts_with("v ")).count(), rows * columns);
        assert_eq!(text.lines().filter(|line| line.starts_with("f ")).count(), (rows - 1) * (columns - 1));
        let (side, grey) = mesh.picture();
        let filled = grey.iter().filter(|&&value| value > 0).count() as f64 / (side * side) as f64;
        assert!((filled - std::f64::consts::FRAC_PI_4).abs() < 0.03, "{filled} of the picture");
    }
}
