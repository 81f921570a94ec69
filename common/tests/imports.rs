//! No files and no folders of a crate lean on each other in a circle.
//!
//! A file leans on the file that defines what it names: in a `use`, by a path in its code or its macros, by a glob, or through
//! re-exports of others, which are followed to the definition. Tests are left out.
//!
//! At each level of a crate its modules, each with all below it, and the file above them (`mod.rs`, `lib.rs`) make no circle.
//! This holds for files, for folders and for a folder with a file. A parent may name its children with `mod` and `pub use`, which
//! only say what there is; if its code uses them, they must not use what it defines.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// A module of a crate, inline ones too.
#[derive(Default)]
struct Module {
    /// From the root of the crate.
    path: Vec<String>,
    parent: usize,
    /// The module whose file this one stands in.
    home: usize,
    children: BTreeMap<String, usize>,
    items: BTreeSet<String>,
    uses: Vec<Import>,
    /// Paths in the code.
    named: BTreeSet<Vec<String>>,
}

struct Import {
    /// The name that it binds; none of a glob.
    name: Option<String>,
    path: Vec<String>,
    public: bool,
}

#[derive(Clone, Copy)]
enum Target<'a> {
    Module(usize),
    /// A module and the name of something that it defines.
    Item(usize, &'a str),
}

/// Returns true of what only tests have.
fn of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|it| {
        it.path().is_ident("cfg") && it.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

/// Returns the name that an item other than a module or a `use` defines.
fn name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(it) => &it.ident,
        Item::Enum(it) => &it.ident,
        Item::Fn(it) => &it.sig.ident,
        Item::Macro(it) => it.ident.as_ref()?,
        Item::Static(it) => &it.ident,
        Item::Struct(it) => &it.ident,
        Item::Trait(it) => &it.ident,
        Item::Type(it) => &it.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// Adds what a `use` binds, braces expanded.
fn bind(tree: &UseTree, before: &[String], public: bool, uses: &mut Vec<Import>) {
    let with = |last: String| [before, &[last]].concat();
    match tree {
        UseTree::Path(it) => bind(&it.tree, &with(it.ident.to_string()), public, uses),
        UseTree::Group(it) => it.items.iter().for_each(|tree| bind(tree, before, public, uses)),
        UseTree::Glob(_) => uses.push(Import { name: None, path: before.to_owned(), public }),
        UseTree::Name(it) if it.ident == "self" => {
            uses.push(Import { name: before.last().cloned(), path: before.to_owned(), public });
        }
        UseTree::Name(it) => {
            uses.push(Import { name: Some(it.ident.to_string()), path: with(it.ident.to_string()), public });
        }
        UseTree::Rename(it) => {
            uses.push(Import { name: Some(it.rename.to_string()), path: with(it.ident.to_string()), public });
        }
    }
}

/// Collects the paths of code.
struct Paths<'a>(&'a mut Module);

impl Paths<'_> {
    /// Takes `a::b::c` out of tokens, which is all that can be known of a macro.
    fn read(&mut self, tokens: TokenStream) {
        let (mut path, mut colons, mut field) = (Vec::new(), 0, false);
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if !field => {
                    if colons != 2 {
                        self.0.named.insert(std::mem::take(&mut path));
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                other => {
                    self.0.named.insert(std::mem::take(&mut path));
                    (colons, field) = (0, matches!(&other, TokenTree::Punct(mark) if mark.as_char() == '.'));
                    if let TokenTree::Group(group) = other {
                        self.read(group.stream());
                    }
                }
            }
        }
        self.0.named.insert(path);
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !of_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !of_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let public = !matches!(item.vis, Visibility::Inherited);
        bind(&item.tree, &[], public, &mut self.0.uses);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0.named.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        self.visit_path(&invocation.path);
        self.read(invocation.tokens.clone());
    }

    // An attribute names no file of ours.
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

/// The modules of a crate; the first one is the root.
#[derive(Default)]
struct Krate(Vec<Module>);

impl Krate {
    /// Reads a crate from the texts of its files: `text` returns that of a module, by its names, if it has a file.
    fn read(text: &dyn Fn(&[String]) -> Option<String>) -> Self {
        let mut krate = Self(vec![Module::default()]);
        let root = text(&[]).unwrap();
        krate.add(0, syn::parse_file(&root).unwrap().items, text);
        krate
    }

    fn add(&mut self, at: usize, items: Vec<Item>, text: &dyn Fn(&[String]) -> Option<String>) {
        for item in items.into_iter().filter(|item| !of_tests(attributes(item))) {
            self.0[at].items.extend(name(&item));
            let Item::Mod(module) = item else {
                Paths(&mut self.0[at]).visit_item(&item);
                continue;
            };
            let path = [&self.0[at].path[..], &[module.ident.to_string()]].concat();
            let new = self.0.len();
            let (home, items) = match module.content {
                Some((_, items)) => (self.0[at].home, items),
                None => match text(&path) {
                    Some(text) => (new, syn::parse_file(&text).unwrap().items),
                    None => panic!("no file of {}", path.join("::")),
                },
            };
            self.0.push(Module { path, parent: at, home, ..Module::default() });
            self.0[at].children.insert(module.ident.to_string(), new);
            self.add(new, items, text);
        }
    }

    /// Returns what a path means in a module; nothing of a path into another crate.
    fn resolve(&self, at: usize, path: &[String], depth: usize) -> Option<Target<'_>> {
        let (mut here, mut rest) = (at, path);
        while let Some(first) = rest.first() {
            here = match first.as_str() {
                "crate" => 0,
                "self" => here,
                "super" => self.0[here].parent,
                _ => break,
            };
            rest = &rest[1..];
        }
        while let Some((first, after)) = rest.split_first() {
            match self.look(here, first, depth)? {
                Target::Module(module) => (here, rest) = (module, after),
                item => return Some(item),
            }
        }
        Some(Target::Module(here))
    }

    fn look(&self, at: usize, name: &String, depth: usize) -> Option<Target<'_>> {
        let module = &self.0[at];
        if let Some(child) = module.children.get(name) {
            return Some(Target::Module(*child));
        }
        if let Some(name) = module.items.get(name) {
            return Some(Target::Item(at, name));
        }
        // Globs may lead back to where they come from.
        let depth = depth.checked_sub(1)?;
        let bound = module.uses.iter().filter(|it| it.name.as_ref() == Some(name));
        let found = bound.filter(|it| it.path.first() != Some(name)).find_map(|it| self.resolve(at, &it.path, depth));
        let globs = || module.uses.iter().filter(|it| it.name.is_none());
        found.or_else(|| {
            globs().find_map(|it| match self.resolve(at, &it.path, depth)? {
                Target::Module(module) if module != at => self.look(module, name, depth),
                _ => None,
            })
        })
    }

    /// Returns the names by which files lean on each other.
    fn arrows(&self) -> BTreeMap<(usize, usize), BTreeSet<&str>> {
        let mut arrows: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (at, module) in self.0.iter().enumerate() {
            let below = |to: usize| self.0[to].path.starts_with(&self.0[module.home].path);
            let imports = module.uses.iter().map(|it| (&it.path, it.public));
            for (path, public) in imports.chain(module.named.iter().map(|path| (path, false))) {
                let Some(Target::Item(to, name)) = self.resolve(at, path, 8) else { continue };
                let to = self.0[to].home;
                if to != module.home && !(public && below(to)) {
                    arrows.entry((module.home, to)).or_default().insert(name);
                }
            }
        }
        arrows
    }

    /// Returns the circles, each by the arrows in it.
    fn circles(&self) -> Vec<String> {
        let arrows = self.arrows();
        let mut circles = Vec::new();
        for (at, module) in
            self.0.iter().enumerate().filter(|(at, module)| module.home == *at && !module.children.is_empty())
        {
            // The part of this module in which a file lies: a child with all below it, or the module's own file.
            let part = |file: usize| {
                let path = &self.0[file].path;
                path.starts_with(&module.path).then(|| path.get(module.path.len()))
            };
            let within =
                arrows.iter().filter_map(|((from, to), names)| Some((part(*from)?, part(*to)?, *from, *to, names)));
            let within: Vec<_> = within.filter(|(from, to, ..)| from != to).collect();
            let reached = |start| {
                let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
                while let Some(part) = open.pop() {
                    open.extend(
                        within
                            .iter()
                            .filter(|(from, ..)| *from == part)
                            .map(|(_, to, ..)| *to)
                            .filter(|to| seen.insert(*to)),
                    );
                }
                seen
            };
            let parts: BTreeSet<_> = within.iter().flat_map(|(from, to, ..)| [*from, *to]).collect();
            let reached: BTreeMap<_, _> = parts.iter().map(|part| (*part, reached(*part))).collect();
            let mut listed = BTreeSet::new();
            for start in parts.iter().filter(|part| reached[*part].contains(*part)) {
                let circle: BTreeSet<_> =
                    reached[start].iter().filter(|it| reached[*it].contains(start)).copied().collect();
                if !listed.insert(circle.clone()) {
                    continue;
                }
                let inside = within.iter().filter(|(from, to, ..)| circle.contains(from) && circle.contains(to));
                let lines: Vec<_> = inside
                    .map(|(_, _, from, to, names)| {
                        let names: Vec<_> = names.iter().copied().collect();
                        format!("    {} -> {}: {}", self.file(*from), self.file(*to), names.join(", "))
                    })
                    .collect();
                circles.push(format!("  {}: {} parts\n{}", self.file(at), circle.len(), lines.join("\n")));
            }
        }
        circles
    }

    fn file(&self, at: usize) -> String {
        match self.0[at].path.join("::") {
            root if root.is_empty() => "the root".to_owned(),
            path => path,
        }
    }
}

/// Returns the text of a module's file below a `src`.
fn text(src: &Path, root: &str, module: &[String]) -> Option<String> {
    if module.is_empty() {
        return fs::read_to_string(src.join(root)).ok();
    }
    let path = module.iter().fold(src.to_owned(), |path, name| path.join(name));
    let files: [PathBuf; 2] = [path.with_extension("rs"), path.join("mod.rs")];
    files.iter().find_map(|file| fs::read_to_string(file).ok())
}

/// Returns the circles of a crate whose files are these.
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let text = |module: &[String]| {
        let found = files.iter().find(|(path, _)| *path == module.join("::"));
        found.map(|(_, text)| (*text).to_owned())
    };
    Krate::read(&text).circles()
}

#[test]
fn every_way_of_naming_something_counts() {
    let ways = [
        "use crate::b::B; fn f(_: B) {}",
        "use super::b::{self, B}; fn f(_: B) {}",
        "fn f(_: crate::b::B) {}",
        "use crate::b; fn f(_: b::B) {}",
        "use crate::b::*; fn f(_: B) {}",
        "use crate::B as Other; fn f(_: Other) {}",
        "fn f() { println!(\"{:?}\", crate::b::B) }",
        "mod inner { fn f(_: super::super::b::B) {} }",
        "fn f() { use crate::b::B; }",
    ];
    for way in ways {
        let a = format!("pub struct A; {way}");
        let circle = circles_of(&[("", "mod a; mod b; pub use b::B;"), ("a", &a), ("b", "pub struct B(crate::a::A);")]);
        assert_eq!(circle, ["  the root: 2 parts\n    a -> b: B\n    b -> a: A"], "{way}");
        let tests = format!("pub struct A; #[cfg(test)] mod tests {{ {way} }}");
        let none =
            circles_of(&[("", "mod a; mod b; pub use b::B;"), ("a", &tests), ("b", "pub struct B(crate::a::A);")]);
        assert!(none.is_empty(), "{way}: {none:?}");
    }
}

#[test]
fn folders_make_a_circle_though_their_files_do_not() {
    let files = [
        ("", "mod a; mod b;"),
        ("a", "pub mod one; pub mod two;"),
        ("a::one", "pub struct One(crate::b::B);"),
        ("a::two", "pub struct Two;"),
        ("b", "pub struct B; fn f() -> crate::a::two::Two { todo!() }"),
    ];
    assert_eq!(circles_of(&files), ["  the root: 2 parts\n    a::one -> b: B\n    b -> a::two: Two"]);
}

#[test]
fn a_parent_may_show_its_children_but_not_use_what_leans_on_it() {
    let child = ("a", "pub struct A(super::Shared);");
    assert!(circles_of(&[("", "mod a; pub struct Shared; pub use a::A;"), child]).is_empty());
    let circle = circles_of(&[("", "mod a; pub struct Shared; pub use a::A; fn f(_: A) {}"), child]);
    assert_eq!(circle, ["  the root: 2 parts\n    the root -> a: A\n    a -> the root: Shared"]);
}

#[test]
fn no_files_and_no_folders_lean_on_each_other_in_a_circle() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest: toml::Table = fs::read_to_string(top.join("Cargo.toml")).unwrap().parse().unwrap();
    let packages = manifest["workspace"]["members"].as_array().unwrap().iter().map(|it| it.as_str().unwrap());
    let (mut circles, mut found) = (Vec::new(), 0);
    for (package, root) in packages.flat_map(|package| ["lib.rs", "main.rs"].map(|root| (package, root))) {
        let src = top.join(package).join("src");
        if src.join(root).exists() {
            let krate = Krate::read(&|module| text(&src, root, module));
            found += krate.arrows().len();
            circles.extend(krate.circles().iter().map(|circle| format!("{package}/src/{root}\n{circle}")));
        }
    }
    assert!(found > 300, "only {found} arrows are found");
    assert!(circles.is_empty(), "{} circles\n{}", circles.len(), circles.join("\n"));
}
