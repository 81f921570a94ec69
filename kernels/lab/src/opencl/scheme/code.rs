//! Statements of one step in OpenCL C, in terms of the own quadruple's variables and of cells read from others.

use std::collections::BTreeMap;
use std::fmt;

use kernels::Element;
use kernels::parts::opencl::literal;
use picture::params::Boundary;

use super::lift::{LiftStep, LiftWeights};
use super::matrix::{Component, Matrix};
use super::step::Step;

/// A component of another quadruple, and how often it had been changed when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cell {
    pub(super) component: Component,
    pub(super) version: usize,
    /// (x, y), in quadruples from the own one.
    pub(super) at: (i32, i32),
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["ll", "hl", "lh", "hh"][self.index()])
    }
}

impl fmt::Display for Cell {
    /// Returns the variable that holds it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = |n: i32| format!("{}{}", if n < 0 { "m" } else { "" }, n.unsigned_abs());
        write!(f, "{}{}_{}_{}", self.component, self.version, offset(self.at.0), offset(self.at.1))
    }
}

/// Reads and operations of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Code {
    /// In the order of first use, each once.
    pub(super) reads: Vec<Cell>,
    pub(super) statements: Vec<String>,
    /// The own quadruple's variables before the step, and the versions of their components.
    pub(super) own: [String; 4],
    pub(super) versions: [usize; 4],
}

/// Turns steps into code, one after another.
pub(super) struct CodeWriter {
    element: Element,
    boundary: Boundary,
    own: [String; 4],
    versions: [usize; 4],
    temporaries: usize,
    code: Code,
}

impl CodeWriter {
    /// Creates the code for quadruples whose components are in `ll0`, `hl0`, `lh0`, `hh0`.
    pub(super) fn new(element: Element, boundary: Boundary) -> Self {
        Self {
            element,
            boundary,
            own: Component::ALL.map(|component| format!("{component}0")),
            versions: [0; 4],
            temporaries: 0,
            code: Code::default(),
        }
    }

    /// Returns the variables that hold the quadruple now.
    pub(super) fn own(&self) -> &[String; 4] {
        &self.own
    }

    /// Returns the code of the next step.
    pub(super) fn code(&mut self, step: &Step) -> Code {
        self.code = Code { own: self.own.clone(), versions: self.versions, ..Code::default() };
        let new = match step {
            Step::Linear(matrix) => Component::ALL.map(|row| self.row(matrix, row)),
            Step::Lifts(lifts) => {
                let mut nest = Nest { coder: self, lifts, known: BTreeMap::new() };
                Component::ALL.map(|component| nest.changed(component))
            }
            Step::Scale(scales) => Component::ALL.map(|component| self.scaled(component, scales[component.index()])),
        };
        for (index, name) in new.into_iter().enumerate() {
            if let Some(name) = name {
                self.own[index] = name;
                self.versions[index] += 1;
            }
        }
        std::mem::take(&mut self.code)
    }

    /// Adds a row of a matrix, one fused multiply-add per tap.
    fn row(&mut self, matrix: &Matrix, row: Component) -> Option<String> {
        let taps = matrix.added(row);
        let (last, rest) = taps.split_last()?;
        let mut value = self.own[row.index()].clone();
        let name = self.temporary();
        for (index, (component, at, c)) in rest.iter().chain([last]).enumerate() {
            let declare = if index == 0 { "real " } else { "" };
            let (c, from) = (self.literal(*c), self.value(*component, *at));
            self.state(format!("{declare}{name} = fma({c}, {from}, {value});"));
            value.clone_from(&name);
        }
        self.keep(&name, row, (0, 0));
        Some(name)
    }

    fn scaled(&mut self, component: Component, scale: f64) -> Option<String> {
        if scale == 1.0 {
            return None;
        }
        let (name, from, scale) = (self.temporary(), &self.own[component.index()], self.literal(scale));
        let statement = format!("real {name} = {from} * {scale};");
        self.state(statement);
        Some(name)
    }

    /// Returns a component of the quadruple at `at` as it is before this step.
    fn value(&mut self, component: Component, at: (i32, i32)) -> String {
        if at == (0, 0) {
            return self.own[component.index()].clone();
        }
        let cell = Cell { component, version: self.versions[component.index()], at };
        if !self.code.reads.contains(&cell) {
            self.code.reads.push(cell);
        }
        cell.to_string()
    }

    /// Keeps zero what is outside the picture, with the zero boundary.
    fn keep(&mut self, name: &str, component: Component, (x, y): (i32, i32)) {
        if self.boundary == Boundary::Zero {
            let index = component.index();
            let width = if index & 1 == 0 { "even_w" } else { "odd_w" };
            let height = if index & 2 == 0 { "even_h" } else { "odd_h" };
            self.state(format!("KEEP({name}, x + {x}, {width}, y + {y}, {height});"));
        }
    }

    fn state(&mut self, statement: String) {
        self.code.statements.push(statement);
    }

    fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("t{}", self.temporaries)
    }

    fn literal(&self, value: f64) -> String {
        literal(self.element, value)
    }
}

/// Value of a component of the quadruple at an offset after so many lifts of the step.
type CellKey = (Component, usize, (i32, i32));

/// Lifting steps without a barrier between them.
struct Nest<'a> {
    coder: &'a mut CodeWriter,
    lifts: &'a [LiftStep],
    /// Variables of the values computed so far.
    known: BTreeMap<CellKey, String>,
}

impl Nest<'_> {
    /// Returns the own component after all lifts, if any changes it.
    fn changed(&mut self, component: Component) -> Option<String> {
        let changes = self.lifts.iter().any(|lift| lift.source(component).is_some());
        changes.then(|| self.value((component, self.lifts.len(), (0, 0))))
    }

    /// Returns the variable of a value, computed if it is not there.
    fn value(&mut self, stage: CellKey) -> String {
        let (component, done, at) = stage;
        let Some(before) = done.checked_sub(1) else { return self.coder.value(component, at) };
        if let Some(name) = self.known.get(&stage) {
            return name.clone();
        }
        let lift = &self.lifts[before];
        let Some(source) = lift.source(component) else { return self.value((component, before, at)) };
        let mut name = self.value((component, before, at));
        let mut pairs = Vec::new();
        for k in 0..lift.weights.pairs() {
            let ends = lift.neighbours(k).map(|(x, y)| self.value((source, before, (at.0 + x, at.1 + y))));
            pairs.push(ends);
        }
        match &lift.weights {
            LiftWeights::Real(coefficients) => {
                for (c, [left, right]) in coefficients.iter().zip(pairs) {
                    let c = self.coder.literal(*c);
                    name = self.declare(&format!("fma({c}, {left} + {right}, {name})"));
                }
            }
            LiftWeights::Reversible { back } => {
                let step = if lift.odd { "predicted" } else { "updated" };
                for [left, right] in pairs {
                    name = self.declare(&format!("{step}({name}, {left}, {right}, {back})"));
                }
            }
        }
        self.coder.keep(&name, component, at);
        self.known.insert(stage, name.clone());
        name
    }

    fn declare(&mut self, expression: &str) -> String {
        let name = self.coder.temporary();
        self.coder.state(format!("real {name} = {expression};"));
        name
    }
}
