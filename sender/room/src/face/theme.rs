//! Colours, sizes and letters of the room.

use std::sync::Arc;

use egui::style::{ScrollAnimation, WidgetVisuals};
use egui::{
    Color32, Context, CornerRadius, FontData, FontDefinitions, FontFamily, FontId, Margin, Stroke, TextStyle, Visuals,
    vec2,
};

/// Behind everything.
pub(crate) const GROUND: Color32 = Color32::from_rgb(0x14, 0x16, 0x1a);
/// Of cards on the ground.
pub(crate) const CARD: Color32 = Color32::from_rgb(0x1f, 0x22, 0x29);
/// Of fields and buttons on cards.
pub(crate) const RAISED: Color32 = Color32::from_rgb(0x2d, 0x32, 0x3c);
const HOVERED: Color32 = Color32::from_rgb(0x3a, 0x41, 0x4e);
/// Around what can be pressed.
const EDGE: Color32 = Color32::from_rgb(0x80, 0x8a, 0x9c);
const LINE: Color32 = Color32::from_rgb(0x45, 0x4d, 0x5c);
pub(crate) const TEXT: Color32 = Color32::from_rgb(0xee, 0xf0, 0xf4);
/// Of what is second.
pub(crate) const QUIET: Color32 = Color32::from_rgb(0xb2, 0xba, 0xc8);
/// Of what is meant to be done next.
pub(crate) const ACCENT: Color32 = Color32::from_rgb(0xf3, 0xb0, 0x5f);
/// Of letters on it.
pub(crate) const ON_ACCENT: Color32 = Color32::from_rgb(0x22, 0x17, 0x08);
pub(crate) const GOOD: Color32 = Color32::from_rgb(0x63, 0xd2, 0x9a);
pub(crate) const BAD: Color32 = Color32::from_rgb(0xff, 0x8f, 0x86);
/// Behind white letters of what ends or removes something.
pub(crate) const END: Color32 = Color32::from_rgb(0xb9, 0x35, 0x36);
/// Of a bar behind letters.
pub(crate) const LEVEL: Color32 = Color32::from_rgb(0x23, 0x6b, 0x4a);
/// Behind what lies over the picture.
pub(crate) const VEIL: Color32 = Color32::from_rgba_premultiplied(0x0e, 0x0f, 0x12, 0xe4);

/// Letters that are stronger.
pub(crate) fn strong() -> FontFamily {
    FontFamily::Name("strong".into())
}

/// Sets the toolkit's look.
pub(crate) fn set(context: &Context) {
    let mut fonts = FontDefinitions { font_data: Default::default(), families: Default::default() };
    let regular = FontData::from_static(include_bytes!("../../assets/Inter-Regular.otf"));
    let bold = FontData::from_static(include_bytes!("../../assets/Inter-SemiBold.otf"));
    fonts.font_data.insert("regular".to_owned(), Arc::new(regular));
    fonts.font_data.insert("strong".to_owned(), Arc::new(bold));
    for family in [FontFamily::Proportional, FontFamily::Monospace] {
        fonts.families.insert(family, vec!["regular".to_owned()]);
    }
    fonts.families.insert(strong(), vec!["strong".to_owned(), "regular".to_owned()]);
    context.set_fonts(fonts);
    context.set_theme(egui::Theme::Dark);
    context.all_styles_mut(|style| {
        style.visuals = visuals();
        let size = |size: f32, family: FontFamily| FontId::new(size, family);
        style.text_styles = [
            (TextStyle::Small, size(13.0, FontFamily::Proportional)),
            (TextStyle::Body, size(15.0, FontFamily::Proportional)),
            (TextStyle::Monospace, size(13.0, FontFamily::Monospace)),
            (TextStyle::Button, size(15.0, FontFamily::Proportional)),
            (TextStyle::Heading, size(24.0, strong())),
        ]
        .into();
        style.spacing.item_spacing = vec2(10.0, 10.0);
        style.spacing.button_padding = vec2(14.0, 8.0);
        style.spacing.interact_size = vec2(40.0, 34.0);
        style.spacing.slider_width = 180.0;
        (style.spacing.icon_width, style.spacing.icon_width_inner) = (20.0, 11.0);
        style.spacing.icon_spacing = 8.0;
        style.spacing.window_margin = Margin::same(16);
        style.interaction.selectable_labels = false;
        style.animation_time = 0.0;
        style.scroll_animation = ScrollAnimation::none();
    });
}

fn visuals() -> Visuals {
    let mut visuals = Visuals::dark();
    visuals.override_text_color = None;
    visuals.panel_fill = GROUND;
    visuals.window_fill = CARD;
    visuals.extreme_bg_color = RAISED;
    visuals.text_edit_bg_color = Some(RAISED);
    visuals.weak_text_color = Some(QUIET);
    visuals.selection.bg_fill = Color32::from_rgb(0x6b, 0x4a, 0x1c);
    visuals.selection.stroke = Stroke::new(2.0, ACCENT);
    visuals.hyperlink_color = ACCENT;
    let radius = CornerRadius::same(8);
    let widget = |fill, line| WidgetVisuals {
        bg_fill: fill,
        weak_bg_fill: fill,
        bg_stroke: line,
        corner_radius: radius,
        fg_stroke: Stroke::new(1.5, TEXT),
        expansion: 0.0,
    };
    visuals.widgets.noninteractive = widget(CARD, Stroke::new(1.0, LINE));
    visuals.widgets.inactive = widget(RAISED, Stroke::new(1.0, EDGE));
    visuals.widgets.hovered = widget(HOVERED, Stroke::new(2.0, ACCENT));
    visuals.widgets.active = widget(HOVERED, Stroke::new(2.0, ACCENT));
    visuals.widgets.open = widget(HOVERED, Stroke::NONE);
    visuals
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the contrast of two colours (Web Content Accessibility Guidelines 2.1).
    fn contrast(one: Color32, other: Color32) -> f32 {
        let light = |colour: Color32| {
            let part = |value: u8| match f32::from(value) / 255.0 {
                value if value <= 0.04045 => value / 12.92,
                value => ((value + 0.055) / 1.055).powf(2.4),
            };
            0.2126 * part(colour.r()) + 0.7152 * part(colour.g()) + 0.0722 * part(colour.b())
        };
        let (one, other) = (light(one) + 0.05, light(other) + 0.05);
        one.max(other) / one.min(other)
    }

    /// Returns a colour of what lies over the picture, at worst: over a white one.
    fn over_white(colour: Color32) -> Color32 {
        let rest = 255 - u32::from(colour.a());
        let part = |value: u8| (u32::from(value) + rest).min(255) as u8;
        Color32::from_rgb(part(colour.r()), part(colour.g()), part(colour.b()))
    }

    #[test]
    fn letters_differ_from_what_is_behind_them() {
        assert!((contrast(Color32::BLACK, Color32::WHITE) - 21.0).abs() < 0.01);
        let grounds = [GROUND, CARD, RAISED, HOVERED, over_white(VEIL)];
        for ground in grounds {
            for letters in [TEXT, QUIET, ACCENT, GOOD, BAD] {
                let found = contrast(letters, ground);
                assert!(found >= 4.5, "{letters:?} on {ground:?}: {found}");
            }
        }
        for (letters, ground) in
            [(ON_ACCENT, ACCENT), (TEXT, LEVEL), (Color32::WHITE, END), (TEXT, visuals().selection.bg_fill)]
        {
            let found = contrast(letters, ground);
            assert!(found >= 4.5, "{letters:?} on {ground:?}: {found}");
        }
        // The edge of what can be pressed.
        assert!(contrast(EDGE, CARD) >= 3.0 && contrast(EDGE, RAISED) >= 3.0);
        // The frame of what has the keyboard.
        assert!(contrast(visuals().selection.stroke.color, CARD) >= 3.0);
    }
}
