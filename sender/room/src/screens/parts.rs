//! Parts that pages are put together of.

use egui::accesskit::Live;
use egui::{
    Align, AsIdSalt, Button, Color32, CornerRadius, Frame, Id, Layout, Margin, Response, RichText, Sense, Stroke,
    TextStyle, TextWrapMode, Ui, UiBuilder, Vec2, WidgetText, pos2, vec2,
};

use crate::face::theme;

/// Width of the camera's picture at most, points.
const PREVIEW: f32 = 320.0;

/// Shows a title, before it the way back if there is one; returns true if that was gone.
pub(super) fn title(ui: &mut Ui, text: &str, back: Option<&str>) -> bool {
    let mut gone = false;
    ui.horizontal_wrapped(|ui| {
        if let Some(back) = back {
            gone = quiet(ui, "back", &format!("‹ {back}")).clicked();
        }
        ui.label(RichText::new(text).heading().color(theme::TEXT));
    });
    ui.add_space(6.0);
    gone
}

/// Shows a card with contents.
pub(super) fn card<R>(ui: &mut Ui, contents: impl FnOnce(&mut Ui) -> R) -> R {
    let frame =
        Frame::NONE.fill(theme::CARD).corner_radius(CornerRadius::same(12)).inner_margin(Margin::symmetric(16, 14));
    let shown = frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        contents(ui)
    });
    shown.inner
}

/// Shows something that can be pressed or typed in. Its name is what it does, and to whom, and no other on the page has it: so it
/// keeps the keyboard whatever comes and goes beside it. Whatever gets the keyboard is scrolled to.
pub(super) fn named(ui: &mut Ui, name: impl AsIdSalt, contents: impl FnOnce(&mut Ui) -> Response) -> Response {
    seen(ui.scope_builder(by_name(name), contents).inner)
}

/// Returns how something of that name is shown: else the toolkit would know it by the order of all that is shown.
fn by_name(name: impl AsIdSalt) -> UiBuilder {
    UiBuilder::new().scope_id(Id::unique(("named", name)))
}

fn seen(shown: Response) -> Response {
    if shown.gained_focus() {
        shown.scroll_to_me(None);
    }
    shown
}

/// Shows the button of what is meant to be done next.
pub(super) fn primary(ui: &mut Ui, name: impl AsIdSalt, text: &str) -> Response {
    coloured(ui, name, text, theme::ACCENT, theme::ON_ACCENT)
}

/// Shows the button of what ends or removes something.
pub(super) fn ending(ui: &mut Ui, name: impl AsIdSalt, text: &str) -> Response {
    coloured(ui, name, text, theme::END, Color32::WHITE)
}

fn coloured(ui: &mut Ui, name: impl AsIdSalt, text: &str, ground: Color32, letters: Color32) -> Response {
    let text = RichText::new(text).family(theme::strong()).color(letters);
    button(ui, name, text, |ui| {
        // Whatever the pointer and the keyboard do, the colours stay legible; the frame tells who has them.
        let widgets = &mut ui.visuals_mut().widgets;
        for state in [&mut widgets.inactive, &mut widgets.hovered, &mut widgets.active] {
            (state.weak_bg_fill, state.bg_fill, state.bg_stroke) = (ground, ground, Stroke::NONE);
        }
        for state in [&mut widgets.hovered, &mut widgets.active] {
            state.bg_stroke = Stroke::new(2.0, theme::TEXT);
        }
    })
}

/// Shows a button among others.
pub(super) fn quiet(ui: &mut Ui, name: impl AsIdSalt, text: &str) -> Response {
    button(ui, name, RichText::new(text).color(theme::TEXT), |_| ())
}

/// Shows a button that says the second of these texts once it `is_on`. It is as wide as the longer one, so that nobody's hand meets
/// another beside it.
pub(super) fn switch(ui: &mut Ui, name: impl AsIdSalt, texts: [String; 2], is_on: bool) -> Response {
    let texts = texts.map(|text| RichText::new(text).color(theme::TEXT));
    let size = texts.each_ref().map(|text| size(ui, text)).into_iter().fold(Vec2::ZERO, Vec2::max);
    let [off, on] = texts;
    sized(ui, name, if is_on { on } else { off }, size, |_| ())
}

fn button(ui: &mut Ui, name: impl AsIdSalt, text: RichText, look: impl FnOnce(&mut Ui)) -> Response {
    let size = size(ui, &text);
    sized(ui, name, text, size, look)
}

/// Returns the size of a button of that text.
fn size(ui: &Ui, text: &RichText) -> Vec2 {
    let extends = Some(TextWrapMode::Extend);
    let letters = WidgetText::from(text.clone()).into_galley(ui, extends, f32::INFINITY, TextStyle::Button).size();
    letters + 2.0 * ui.spacing().button_padding
}

fn sized(ui: &mut Ui, name: impl AsIdSalt, text: RichText, size: Vec2, look: impl FnOnce(&mut Ui)) -> Response {
    // It goes to the next row where it does not fit, which what has a name does not by itself.
    let (_, place) = ui.allocate_space(size.max(vec2(0.0, ui.spacing().interact_size.y)));
    let mut alone = ui.new_child(by_name(name).max_rect(place).layout(Layout::left_to_right(Align::Center)));
    look(&mut alone);
    seen(alone.add(Button::new(text).wrap_mode(TextWrapMode::Extend).min_size(place.size())))
}

/// Shows a sentence that a screen reader says as soon as it comes or changes. Its name is what it tells of.
pub(super) fn spoken(ui: &mut Ui, name: impl AsIdSalt, sentence: RichText, live: Live) {
    let shown = ui.scope_builder(by_name(name), |ui| ui.label(sentence)).inner;
    ui.ctx().accesskit_node_builder(shown.id, |node| node.set_live(live));
}

/// Shows a sentence that is second.
pub(super) fn aside(ui: &mut Ui, text: &str) {
    ui.label(RichText::new(text).color(theme::QUIET));
}

/// Shows the heading of a card.
pub(super) fn heading(ui: &mut Ui, text: &str) {
    ui.label(RichText::new(text).family(theme::strong()).size(17.0).color(theme::TEXT));
}

/// Shows a field to type in under `title`; returns true if Enter was pressed in it.
pub(super) fn field(ui: &mut Ui, name: impl AsIdSalt, title: &str, text: &mut String, most: usize) -> bool {
    let label = ui.label(RichText::new(title).color(theme::QUIET));
    let edit =
        egui::TextEdit::singleline(text).char_limit(most).desired_width(f32::INFINITY).margin(Margin::symmetric(10, 8));
    let shown = named(ui, name, |ui| ui.add(edit)).labelled_by(label.id);
    shown.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter))
}

/// Shows a person's first letter on a disc, and beside it a point of how things are.
pub(super) fn portrait(ui: &mut Ui, name: &str, size: f32, point: Option<Color32>) {
    const GROUNDS: [Color32; 6] = [
        Color32::from_rgb(0x5b, 0x3f, 0x7a),
        Color32::from_rgb(0x2f, 0x5d, 0x7c),
        Color32::from_rgb(0x2c, 0x66, 0x52),
        Color32::from_rgb(0x7a, 0x4a, 0x2b),
        Color32::from_rgb(0x7c, 0x36, 0x4b),
        Color32::from_rgb(0x4c, 0x57, 0x2b),
    ];
    let (place, _) = ui.allocate_exact_size(vec2(size, size), Sense::hover());
    let sum: usize = name.bytes().map(usize::from).sum();
    let painter = ui.painter();
    painter.circle_filled(place.center(), size / 2.0, GROUNDS[sum % GROUNDS.len()]);
    let letter: String = name.chars().take(1).flat_map(char::to_uppercase).collect();
    let font = egui::FontId::new(size * 0.45, theme::strong());
    painter.text(place.center(), egui::Align2::CENTER_CENTER, letter, font, theme::TEXT);
    if let Some(point) = point {
        let at = pos2(place.max.x - size * 0.13, place.max.y - size * 0.13);
        painter.circle_filled(at, size * 0.17, theme::CARD);
        painter.circle_filled(at, size * 0.12, point);
    }
}

/// Shows the camera's picture, which a screen reader calls `name`.
pub(super) fn picture(ui: &mut Ui, preview: &egui::TextureHandle, name: &str) {
    let [width, height] = preview.size();
    let wide = PREVIEW.min(ui.available_width());
    let size = vec2(wide, wide * height as f32 / width.max(1) as f32);
    ui.add(egui::Image::new((preview.id(), size)).corner_radius(8).alt_text(name));
}

/// Shows two heads that look at each other: Duet's mark.
pub(super) fn mark(ui: &mut Ui, size: f32) {
    let (place, _) = ui.allocate_exact_size(vec2(size * 1.5, size), Sense::hover());
    let painter = ui.painter();
    let radius = size * 0.42;
    painter.circle_filled(pos2(place.min.x + radius + 1.0, place.center().y), radius, theme::ACCENT);
    let second = pos2(place.max.x - radius - 1.0, place.center().y);
    painter.circle_filled(second, radius, theme::GROUND);
    painter.circle_stroke(second, radius - 1.0, Stroke::new(size * 0.1, theme::TEXT));
}

/// Shows the QR code of `text`, if it is short enough for one, black on white, at most `most` points wide.
pub(super) fn code(ui: &mut Ui, text: &str, most: f32) {
    let Ok(code) = qrcode::QrCode::new(text) else { return };
    let (width, dark) = (code.width(), code.to_colors());
    // Whole pixels, so that all squares are alike.
    let pixel = 1.0 / ui.pixels_per_point();
    let cell = (most / (width + 8) as f32 / pixel).floor().max(1.0) * pixel;
    let side = cell * (width + 8) as f32;
    let (place, _) = ui.allocate_exact_size(vec2(side, side), Sense::hover());
    let painter = ui.painter();
    painter.rect_filled(place, CornerRadius::ZERO, Color32::WHITE);
    let corner = pos2((place.min.x / pixel).round() * pixel, (place.min.y / pixel).round() * pixel);
    let mut mesh = egui::Mesh::default();
    for (at, _) in dark.iter().enumerate().filter(|(_, colour)| **colour == qrcode::Color::Dark) {
        let min = corner + vec2((at % width + 4) as f32, (at / width + 4) as f32) * cell;
        mesh.add_colored_rect(egui::Rect::from_min_size(min, vec2(cell, cell)), Color32::BLACK);
    }
    painter.add(mesh);
}

/// Lays buttons with strong letters, which have these texts, out in the middle.
pub(super) fn centred<const N: usize>(ui: &mut Ui, texts: [&str; N], contents: impl FnOnce(&mut Ui)) {
    let font = egui::FontId::new(TextStyle::Button.resolve(ui.style()).size, theme::strong());
    let padding = 2.0 * ui.spacing().button_padding.x;
    let wide = |text: &str| ui.painter().layout_no_wrap(text.to_owned(), font.clone(), theme::TEXT).size().x + padding;
    let all: f32 = texts.into_iter().map(wide).sum::<f32>() + ui.spacing().item_spacing.x * (N as f32 - 1.0);
    let free = (ui.available_width() - all).max(0.0) / 2.0;
    ui.horizontal_wrapped(|ui| {
        ui.add_space(free);
        contents(ui);
    });
}

/// Lays buttons out from the right, or below each other where that is too narrow.
pub(super) fn at_right<R>(ui: &mut Ui, contents: impl FnOnce(&mut Ui) -> R) -> R {
    ui.with_layout(Layout::right_to_left(Align::Center), contents).inner
}
