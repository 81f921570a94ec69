//! Films that never were: two screens with strips, made by calculation, are read as what they were made of.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fmt::Write as _;
use std::process::Command;

use film::delay::{Delay, NoDelay, Place, delay};
use film::find::Luma;
use film::strips;
use sending::source::strip::{FRAME, is_black};

/// Light of black and white of a screen, and of the wall behind it.
const BLACK: f64 = 0.01;
const WHITE: f64 = 0.85;
const WALL: f64 = 0.08;
/// Moments of which an exposure is made.
const MOMENTS: usize = 6;

/// A strip as it stands in the film.
#[derive(Clone, Copy)]
struct Screen {
    /// Its middle, pixels.
    centre: (f64, f64),
    /// Pixels of a unit.
    unit: f64,
    /// Angle by which it is turned, degrees.
    degrees: f64,
    /// Share by which its right end is nearer than its left.
    nearer: f64,
}

/// A film of two screens, the right one of which is late.
#[derive(Clone, Copy)]
struct Scene {
    pictures: usize,
    fps: f64,
    /// Milliseconds for which each row is exposed, and from the first row's to the last one's.
    exposure: f64,
    readout: f64,
    size: (usize, usize),
    screens: [Screen; 2],
    /// Passes of a blur of 3 x 3 pixels.
    blur: usize,
    /// Most that noise changes a sample.
    noise: i32,
    /// Times for which the pictures of both stand, and from capture to display, milliseconds.
    stand: [f64; 2],
    late: f64,
}

const USUAL: Scene = Scene {
    pictures: 100,
    fps: 30.0,
    exposure: 1_000.0 / 60.0,
    readout: 15.0,
    size: (640, 360),
    screens: [
        Screen { centre: (160.0, 180.0), unit: 9.0, degrees: 0.0, nearer: 0.0 },
        Screen { centre: (480.0, 180.0), unit: 9.0, degrees: 0.0, nearer: 0.0 },
    ],
    blur: 1,
    noise: 6,
    stand: [1_000.0 / 59.94, 1_000.0 / 30.3],
    late: 57.0,
};

impl Scene {
    /// The mean difference of what both screens show at one time: how late a picture comes, and how old it gets.
    fn truth(&self) -> f64 {
        self.late + (self.stand[1] - self.stand[0]) / 2.0
    }

    /// Returns the time that a screen shows at `now`: that at which its picture was taken.
    fn shown(&self, screen: usize, now: f64) -> f64 {
        let late = [0.0, self.late][screen];
        ((now - late) / self.stand[screen]).floor() * self.stand[screen]
    }

    /// Returns what is at a point of the scene: a place on a screen, or a light that does not change.
    fn at(&self, (x, y): (f64, f64)) -> Result<(usize, f64, f64), f64> {
        for (number, screen) in self.screens.iter().enumerate() {
            let (dx, dy) = (x - screen.centre.0, y - screen.centre.1);
            let (sine, cosine) = screen.degrees.to_radians().sin_cos();
            let (dx, dy) = ((dx * cosine + dy * sine) / screen.unit, (dy * cosine - dx * sine) / screen.unit);
            let nearness = 1.0 + screen.nearer * dx / FRAME.0;
            let (x, y) = (dx / nearness + FRAME.0 / 2.0, dy / nearness + FRAME.1 / 2.0);
            if (-1.0..FRAME.0 + 1.0).contains(&x) && (-1.0..FRAME.1 + 1.0).contains(&y) {
                return Ok((number, x, y));
            }
            if (-3.0..FRAME.0 + 3.0).contains(&x) && (-4.0..FRAME.1 + 4.0).contains(&y) {
                return Err(0.2);
            }
        }
        Err(WALL)
    }

    /// Returns the mean light of a place on a screen, of a row whose exposure begins then.
    fn light(&self, (screen, x, y): (usize, f64, f64), row: f64) -> f64 {
        let moment = |step: usize| row + self.exposure * (step as f64 + 0.5) / MOMENTS as f64;
        let light = |step| if is_black(self.shown(screen, moment(step)), x, y) { BLACK } else { WHITE };
        (0..MOMENTS).map(light).sum::<f64>() / MOMENTS as f64
    }

    fn picture(&self, number: usize, random: &mut u64) -> Luma {
        let (width, height) = self.size;
        // As a telephone brightens it.
        let seen = |light: f64| (255.0 * light.powf(1.0 / 2.2)) as u8;
        let begin = 4_321.0 + number as f64 * 1_000.0 / self.fps;
        let mut samples = Vec::with_capacity(width * height);
        for y in 0..height {
            let row = begin + self.readout * y as f64 / height as f64;
            for x in 0..width {
                samples.push(match self.at((x as f64, y as f64)) {
                    Ok(place) => seen(self.light(place, row)),
                    Err(light) => seen(light),
                });
            }
        }
        for _ in 0..self.blur {
            samples = blurred(&samples, width);
        }
        for sample in &mut samples {
            *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let noise = (*random >> 40) as i32 % (2 * self.noise + 1) - self.noise;
            *sample = (i32::from(*sample) + noise).clamp(0, 255) as u8;
        }
        Luma { width, height, samples }
    }

    fn film(&self) -> Vec<Luma> {
        let mut random = 5;
        (0..self.pictures).map(|number| self.picture(number, &mut random)).collect()
    }

    fn read(&self) -> Result<Delay, NoDelay> {
        let seen: Vec<_> = self.film().iter().map(strips).collect();
        delay(&seen, self.size.1)
    }
}

fn blurred(samples: &[u8], width: usize) -> Vec<u8> {
    let height = samples.len() / width;
    let at = |x: usize, y: usize| u32::from(samples[y.min(height - 1) * width + x.min(width - 1)]);
    let mean = |x: usize, y: usize| {
        let rows = [y.saturating_sub(1), y, y + 1];
        let sum: u32 = rows.iter().map(|&y| at(x.saturating_sub(1), y) + at(x, y) + at(x + 1, y)).sum();
        (sum / 9) as u8
    };
    (0..samples.len()).map(|place| mean(place % width, place / width)).collect()
}

/// Reads the film of a scene, whose delay must be within 4 ms and within the error that is told.
#[track_caller]
fn check(what: &str, scene: Scene) {
    let found = scene.read().unwrap_or_else(|why| panic!("{what}: {why}"));
    let off = (found.ms - scene.truth()).abs();
    eprintln!("{what}: {:.1} ms instead of {:.1}, told error {:.1}", found.ms, scene.truth(), found.error_ms);
    assert!(off < 4.0 && off < found.error_ms, "{what}: {found:?} instead of {}", scene.truth());
    assert_eq!(found.late, Place::Right, "{what}");
    assert!(4 * found.pictures >= 3 * scene.pictures, "{what}: {found:?}");
}

#[test]
fn films_at_both_rates_are_read() {
    check("30 fps", USUAL);
    check("60 fps", Scene { fps: 60.0, pictures: 120, ..USUAL });
    check("60 fps, a short exposure", Scene { fps: 60.0, pictures: 120, exposure: 2.0, ..USUAL });
    check("24 fps, a long exposure", Scene { fps: 24.0, exposure: 1_000.0 / 30.0, ..USUAL });
}

#[test]
fn delays_of_all_lengths_are_read() {
    for late in [3.0, 21.0, 180.0, 900.0] {
        check("late", Scene { late, ..USUAL });
    }
    check("a stream of 60 a second", Scene { stand: [1_000.0 / 59.94, 1_000.0 / 60.2], ..USUAL });
}

#[test]
fn turned_distant_and_slanted_screens_are_read() {
    let [left, right] = USUAL.screens;
    let turned = |a: f64, b: f64| [Screen { degrees: a, ..left }, Screen { degrees: b, ..right }];
    check("turned", Scene { screens: turned(4.0, -6.0), ..USUAL });
    check("slanted", Scene { screens: [Screen { nearer: 0.15, ..left }, Screen { nearer: -0.2, ..right }], ..USUAL });
    check("of two sizes", Scene { screens: [Screen { unit: 4.0, ..left }, Screen { unit: 11.0, ..right }], ..USUAL });
}

#[test]
fn blurred_and_noisy_films_are_read() {
    check("blurred", Scene { blur: 5, ..USUAL });
    check("noisy", Scene { noise: 30, ..USUAL });
}

#[test]
fn a_film_without_two_strips_gets_a_sentence() {
    let elsewhere = Screen { centre: (3_000.0, 0.0), ..USUAL.screens[0] };
    let none = Scene { pictures: 25, screens: [elsewhere; 2], ..USUAL };
    assert_eq!(none.read(), Err(NoDelay::NoStrip));
    let one = Scene { screens: [USUAL.screens[0], elsewhere], ..none };
    assert_eq!(one.read(), Err(NoDelay::OneStrip(25)));
}

#[test]
fn the_program_reads_a_file_and_says_what_is_wrong_with_one() {
    let folder = std::env::temp_dir().join(format!("duet-film-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let run = |name: &str, pictures: &[Luma]| {
        let mut bytes = b"YUV4MPEG2 W640 H360 F30:1 Ip A1:1 Cmono XCOLORRANGE=FULL\n".to_vec();
        for picture in pictures {
            bytes.extend(b"FRAME\n");
            bytes.extend(&picture.samples);
        }
        std::fs::write(folder.join(name), bytes).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_latency-film")).arg(folder.join(name)).output().unwrap();
        let mut said = String::from_utf8(output.stdout).unwrap();
        write!(said, "{}", String::from_utf8(output.stderr).unwrap()).unwrap();
        (output.status.code(), said)
    };
    let (code, said) = run("call.y4m", &Scene { pictures: 40, ..USUAL }.film());
    assert!(code == Some(0) && said.starts_with("The right screen is 6"), "{said}");
    let (code, said) = run("wall.y4m", &vec![Luma { width: 640, height: 360, samples: vec![90; 640 * 360] }; 3]);
    assert!(code == Some(2) && said.contains("wall.y4m: no strip is seen in it"), "{said}");
    let (code, said) = run("film.mp4", &[]);
    assert!(code == Some(2) && said.contains("ffmpeg -i"), "{said}");
    std::fs::remove_dir_all(&folder).unwrap();
}
