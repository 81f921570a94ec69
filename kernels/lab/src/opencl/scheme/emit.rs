//! A level's steps as one OpenCL C function: which cells of local memory hold what, and where the barriers are.

use std::collections::BTreeSet;
use std::fmt::Write;

use kernels::Element;
use picture::params::Boundary;

use super::code::{Cell, Code, CodeWriter};
use super::matrix::Component;
use super::step::Step;

/// Number of quadruples that a function reads beyond those that it is right for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Margin {
    pub(super) left: usize,
    pub(super) right: usize,
    pub(super) up: usize,
    pub(super) down: usize,
}

/// A function that takes a work-item's quadruple through all steps.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Function {
    pub(super) text: String,
    /// Of all steps together.
    pub(super) reach: Margin,
    /// The longest of any step.
    pub(super) step_reach: Margin,
    /// Local memory cells per quadruple.
    pub(super) slots: usize,
}

/// Returns the function called `name` for `steps`.
///
/// Before each step that reads other quadruples, every component that is read and has changed since it was last stored
/// is stored, then comes one barrier. Nobody may still be reading a slot when it is written: it must be neither read in
/// the step before nor hold what is read later. A cell once read stays in a variable until it changes.
pub(super) fn function(name: &str, steps: &[Step], element: Element, boundary: Boundary) -> Function {
    let mut coder = CodeWriter::new(element, boundary);
    let mut codes: Vec<_> = steps.iter().map(|step| coder.code(step)).collect();
    let mut seen = BTreeSet::new();
    let (mut reach, mut step_reach) = (Margin::default(), Margin::default());
    for code in &mut codes {
        let here = Margin::of(&code.reads);
        (reach, step_reach) = (reach.then(here), step_reach.max(here));
        code.reads.retain(|cell| seen.insert(*cell));
    }

    let mut text = format!("Quad {name}(Quad q, __local real *cells, int x, int y, int w, int h)\n{{\n");
    text += "    real ll0 = q.ll, hl0 = q.hl, lh0 = q.lh, hh0 = q.hh;\n";
    if boundary == Boundary::Zero {
        text += "    int even_w = (w + 1) / 2, odd_w = w / 2, even_h = (h + 1) / 2, odd_h = h / 2;\n";
    }
    let mut slots = Slots::default();
    for (index, code) in codes.iter().enumerate() {
        let mut line = |statement: &str| {
            let _ = writeln!(text, "    {statement}");
        };
        if !code.reads.is_empty() {
            for (component, slot) in slots.store(&codes[index..]) {
                line(&format!("PUBLISH({slot}, {});", code.own[component.index()]));
            }
            line("SYNC;");
        }
        for cell in &code.reads {
            let slot = slots.of(cell);
            line(&format!("real {cell} = CELL({slot}, {}, {});", cell.at.0, cell.at.1));
        }
        code.statements.iter().for_each(|statement| line(statement));
    }
    let [ll, hl, lh, hh] = coder.own();
    let _ = writeln!(text, "    Quad result = {{{ll}, {hl}, {lh}, {hh}}};\n    return result;\n}}");
    Function { text, reach, step_reach, slots: slots.0.len() }
}

impl Margin {
    fn of(cells: &[Cell]) -> Self {
        let far = |direction: fn(&Cell) -> i32| cells.iter().map(direction).max().unwrap_or(0).max(0) as usize;
        Self {
            left: far(|cell| -cell.at.0),
            right: far(|cell| cell.at.0),
            up: far(|cell| -cell.at.1),
            down: far(|cell| cell.at.1),
        }
    }

    fn combine(self, other: Self, with: fn(usize, usize) -> usize) -> Self {
        Self {
            left: with(self.left, other.left),
            right: with(self.right, other.right),
            up: with(self.up, other.up),
            down: with(self.down, other.down),
        }
    }

    /// Returns the reach of one step after another.
    fn then(self, other: Self) -> Self {
        self.combine(other, |a, b| a + b)
    }

    /// Returns the larger one in every direction.
    pub(super) fn max(self, other: Self) -> Self {
        self.combine(other, usize::max)
    }
}

/// Contents of each slot of local memory: a component and its version, and whether the last step read it.
#[derive(Default)]
struct Slots(Vec<LocalSlot>);

#[derive(Clone, Copy)]
struct LocalSlot {
    component: Component,
    version: usize,
    read_before: bool,
}

impl Slots {
    /// Finds slots for what the first of the remaining steps reads: the components to be stored, with their slots.
    fn store(&mut self, rest: &[Code]) -> Vec<(Component, usize)> {
        let Some(code) = rest.first() else { return Vec::new() };
        let read_by = |code: &Code, component, version| {
            code.reads.iter().any(|cell| cell.component == component && cell.version == version)
        };
        let mut stored = Vec::new();
        for component in Component::ALL {
            let version = code.versions[component.index()];
            let there = self.0.iter().any(|slot| slot.component == component && slot.version == version);
            if there || !read_by(code, component, version) {
                continue;
            }
            let needed = |slot: &LocalSlot| rest.iter().any(|code| read_by(code, slot.component, slot.version));
            let new = LocalSlot { component, version, read_before: false };
            let free = self.0.iter().position(|slot| !slot.read_before && !needed(slot));
            let slot = match free {
                Some(slot) => {
                    self.0[slot] = new;
                    slot
                }
                None => {
                    self.0.push(new);
                    self.0.len() - 1
                }
            };
            stored.push((component, slot));
        }
        for slot in &mut self.0 {
            slot.read_before = read_by(code, slot.component, slot.version);
        }
        stored
    }

    /// Returns the place of the cell's component.
    fn of(&self, cell: &Cell) -> usize {
        let holds = |slot: &LocalSlot| slot.component == cell.component && slot.version == cell.version;
        self.0.iter().position(holds).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::step::linear;
    use super::*;
    use crate::opencl::address::Direction;
    use crate::scheme::Scheme;
    use kernels::parts::{CDF53, CDF97, DD137, Lifting};

    /// Operations in the text of a function, per quadruple.
    #[derive(Debug, PartialEq, Eq)]
    struct Counts {
        barriers: usize,
        operations: usize,
        reads: usize,
        writes: usize,
        single: usize,
        double: usize,
    }

    /// Returns the slots named by `call(slot, ..` in a text.
    fn slots(text: &str, call: &str) -> BTreeSet<usize> {
        text.split(call).skip(1).map(|rest| rest.split(',').next().unwrap().parse().unwrap()).collect()
    }

    fn count(scheme: Scheme, lifting: &Lifting, direction: Direction) -> Counts {
        // The 5/3 without rounding, as in the paper.
        let lifting = Lifting { reversible: false, ..*lifting };
        let steps = linear(scheme, &lifting, direction).unwrap();
        let text = function("steps", &steps, Element::F32, Boundary::Symmetric).text;
        let times = |what: &str| text.matches(what).count();
        Counts {
            barriers: times("SYNC"),
            operations: times("fma("),
            reads: times("CELL("),
            writes: times("PUBLISH("),
            single: text.split("SYNC").map(|step| slots(step, "CELL(").len()).max().unwrap(),
            double: slots(&text, "PUBLISH(").len(),
        }
    }

    /// Scheme; barriers, writes of the first pair and of each further one; reads by degree 1 and 3, operations of 5/3
    /// and DD 13/7, all per pair; cells with single and double buffering, and with double buffering of two pairs.
    type Row = (Scheme, usize, [usize; 2], [usize; 2], [usize; 2], [usize; 3]);

    /// Tables 2, 3 and 4 of Barina, Kula and Zemcik.
    const TABLES: [Row; 9] = [
        (Scheme::Sweldens, 4, [5, 4], [8, 24], [16, 32], [2, 3, 3]),
        (Scheme::Iwahashi, 3, [6, 4], [10, 42], [24, 64], [3, 4, 4]),
        (Scheme::IwahashiStar, 3, [6, 6], [10, 42], [18, 50], [3, 4, 6]),
        (Scheme::Explosive, 3, [4, 4], [10, 42], [24, 64], [2, 3, 3]),
        (Scheme::ExplosiveStar, 3, [4, 4], [10, 42], [18, 50], [2, 3, 3]),
        (Scheme::Monolithic, 2, [6, 6], [10, 42], [24, 64], [3, 6, 6]),
        (Scheme::MonolithicStar, 2, [6, 6], [10, 42], [18, 50], [3, 6, 6]),
        (Scheme::Polyphase, 1, [4, 4], [21, 117], [63, 255], [4, 4, 8]),
        (Scheme::PolyphaseStar, 1, [4, 4], [12, 117], [23, 203], [4, 4, 8]),
    ];

    #[test]
    fn generated_code_has_the_papers_counts() {
        for (scheme, barriers, writes, reads, operations, [single, double, connected]) in TABLES {
            let one_pair = |degree: usize| Counts {
                barriers,
                operations: operations[degree],
                reads: reads[degree],
                writes: writes[0],
                single,
                double,
            };
            let two_pairs = Counts {
                barriers: 2 * barriers,
                operations: 2 * operations[0],
                reads: 2 * reads[0],
                writes: writes[0] + writes[1],
                single,
                double: connected,
            };
            for direction in [Direction::Forward, Direction::Inverse] {
                assert_eq!(count(scheme, &CDF53, direction), one_pair(0), "{scheme} 5/3 {direction:?}");
                assert_eq!(count(scheme, &DD137, direction), one_pair(1), "{scheme} 13/7 {direction:?}");
                assert_eq!(count(scheme, &CDF97, direction), two_pairs, "{scheme} 9/7 {direction:?}");
            }
        }
    }
}
