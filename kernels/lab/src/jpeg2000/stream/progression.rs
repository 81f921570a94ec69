//! The order of packets (ISO/IEC 15444-1, annex B.12).

use crate::jpeg2000::geometry::Resolution;

/// Order of packets, by that which changes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    LayerResolution,
    ResolutionLayer,
    ResolutionPosition,
    PositionComponent,
    ComponentPosition,
}

impl Order {
    const ALL: [Self; 5] = [
        Self::LayerResolution,
        Self::ResolutionLayer,
        Self::ResolutionPosition,
        Self::PositionComponent,
        Self::ComponentPosition,
    ];

    /// Returns the order that the header names so.
    pub(crate) fn of(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).copied()
    }

    pub(crate) fn byte(self) -> u8 {
        self as u8
    }
}

/// A precinct, and its place in the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrecinctPlace {
    pub(crate) component: usize,
    pub(crate) resolution: usize,
    pub(crate) precinct: usize,
    position: (u64, u64),
}

/// Returns all precincts of a tile, `(resolutions, sub-sampling)` of each component, in the order of `order`; `corner` is the tile's.
pub(crate) fn precincts(
    order: Order,
    components: &[(&[Resolution], (u8, u8))],
    corner: (u32, u32),
) -> Vec<PrecinctPlace> {
    let mut all = Vec::new();
    for (component, (resolutions, step)) in components.iter().enumerate() {
        for (index, resolution) in resolutions.iter().enumerate() {
            for precinct in 0..resolution.precinct_count() as usize {
                let above = (resolutions.len() - 1 - index) as u8;
                let position = resolution.position(precinct, above, *step, corner);
                all.push(PrecinctPlace { component, resolution: index, precinct, position });
            }
        }
    }
    let key = |place: &PrecinctPlace| {
        let PrecinctPlace { component: c, resolution: r, precinct: p, position: (y, x) } = *place;
        let (c, r, p) = (c as u64, r as u64, p as u64);
        match order {
            Order::LayerResolution | Order::ResolutionLayer => [r, c, p, 0, 0],
            Order::ResolutionPosition => [r, y, x, c, p],
            Order::PositionComponent => [y, x, c, r, p],
            Order::ComponentPosition => [c, y, x, r, p],
        }
    };
    all.sort_by_key(key);
    all
}

/// Returns the order of packets: `(index into places, layer)`.
pub(crate) fn packets(
    order: Order,
    places: &[PrecinctPlace],
    layers: usize,
) -> Box<dyn Iterator<Item = (usize, usize)> + '_> {
    let all = 0..places.len();
    match order {
        Order::LayerResolution => Box::new((0..layers).flat_map(move |layer| all.clone().map(move |at| (at, layer)))),
        Order::ResolutionLayer => {
            let groups = places.chunk_by(|a, b| a.resolution == b.resolution);
            let starts = groups.scan(0, |start, group| {
                let first = *start;
                *start += group.len();
                Some(first..*start)
            });
            let layered = move |group: std::ops::Range<usize>| {
                (0..layers).flat_map(move |layer| group.clone().map(move |at| (at, layer)))
            };
            Box::new(starts.flat_map(layered))
        }
        _ => Box::new(all.flat_map(move |at| (0..layers).map(move |layer| (at, layer)))),
    }
}
