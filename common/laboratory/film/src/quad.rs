//! A flat rectangle as a camera sees it.

/// A point of a picture: column and row.
pub type Point = (f64, f64);

/// The picture of a rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quad {
    /// Its corners: top left, top right, bottom right, bottom left.
    pub corners: [Point; 4],
}

impl Quad {
    /// Returns the point at which the camera sees the one at (`u`, `v`), both 0 to 1 from the top left corner: a projective map
    /// (Heckbert, Fundamentals of Texture Mapping, 1989, section 2.2.3).
    pub fn at(&self, u: f64, v: f64) -> Point {
        let [p0, p1, p2, p3] = self.corners;
        let (dx1, dy1) = (p1.0 - p2.0, p1.1 - p2.1);
        let (dx2, dy2) = (p3.0 - p2.0, p3.1 - p2.1);
        let (dx3, dy3) = (p0.0 - p1.0 + p2.0 - p3.0, p0.1 - p1.1 + p2.1 - p3.1);
        let area = dx1 * dy2 - dx2 * dy1;
        let g = (dx3 * dy2 - dx2 * dy3) / area;
        let h = (dx1 * dy3 - dx3 * dy1) / area;
        let by = g * u + h * v + 1.0;
        let x = (p1.0 - p0.0 + g * p1.0) * u + (p3.0 - p0.0 + h * p3.0) * v + p0.0;
        let y = (p1.1 - p0.1 + g * p1.1) * u + (p3.1 - p0.1 + h * p3.1) * v + p0.1;
        (x / by, y / by)
    }

    /// Returns the lengths of the top, right, bottom and left side.
    pub fn sides(&self) -> [f64; 4] {
        let next = |corner: usize| self.corners[(corner + 1) % 4];
        std::array::from_fn(|corner| {
            let (from, to) = (self.corners[corner], next(corner));
            (to.0 - from.0).hypot(to.1 - from.1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_and_middle_are_where_a_camera_sees_them() {
        let corners = [(10.0, 20.0), (110.0, 30.0), (100.0, 80.0), (15.0, 90.0)];
        let quad = Quad { corners };
        for ((u, v), (x, y)) in [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)].into_iter().zip(corners) {
            let at = quad.at(u, v);
            assert!((at.0 - x).abs() < 1e-9 && (at.1 - y).abs() < 1e-9, "{at:?}");
        }
        // The middle is where the diagonals cross.
        let (x, y) = quad.at(0.5, 0.5);
        for (from, to) in [(corners[0], corners[2]), (corners[1], corners[3])] {
            let off = (x - from.0) * (to.1 - from.1) - (y - from.1) * (to.0 - from.0);
            assert!(off.abs() < 1e-6, "{off}");
        }
    }
}
