//! Renderings and draws of the driver's own on a virtual G610 through the panthor interface, and on a virtual G57 through the panfrost
//! interface: rectangles that clear parts of an attachment.

mod rig;

use std::fmt::Write as _;
use std::sync::Arc;

use rig::{CHIPS, Test, words};
use tepui_format::Format;
use tepui_mali_driver::Mali;
use tepui_mali_driver::encoder::Encoder;
use tepui_mali_driver::image::Image;
use tepui_mali_driver::kernel::{Bo, Queue};
use tepui_vulkan::backend::{
    Attachment, Condition, Encoder as _, ImageInfo, ImageRef, Rendering, ViewFormats,
};
use tepui_vulkan::command::CommandState;
use tepui_vulkan::vk;
use tepui_vulkan_kit::arena::Mapped;

/// Side of the attachment in pixels.
const SIDE: u32 = 64;
/// The colour that the rendering clears to.
const GROUND: u32 = 0xff00_0000;

fn rect(x: u32, y: u32, width: u32, height: u32) -> vk::Rect2D {
    vk::Rect2D {
        offset: vk::Offset2D { x: x as i32, y: y as i32 },
        extent: vk::Extent2D { width, height },
    }
}

/// A rendering to a buffer that holds rows of pixels of some layers.
fn rendering(t: &Test, to: &Bo, layers: u32) -> Rendering<Mali> {
    let format = Format::R8G8B8A8_UNORM;
    let info = ImageInfo {
        image_type: vk::ImageType::_2D,
        format,
        extent: [SIDE, SIDE, 1],
        levels: 1,
        layers,
        samples: 1,
        usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
        flags: vk::ImageCreateFlags::empty(),
        views: ViewFormats::Own,
        linear: true,
        modifier: None,
        explicit: None,
    };
    let image = Image::new(t.device.kernel.chip.arch, &info).unwrap();
    let rows = image.subresource(0, 0, 0);
    assert_eq!(rows.row_pitch, u64::from(4 * SIDE));
    assert!(layers == 1 || rows.array_pitch == 4 * u64::from(SIDE * SIDE));
    let image = ImageRef {
        image: Arc::new(image),
        info,
        addresses: [to.address; _],
        plane: 0,
        format,
        level: 0,
        layer: 0,
        layers,
    };
    let colour = Attachment {
        image: Arc::new(image),
        layout: vk::ImageLayout::GENERAL,
        load: vk::AttachmentLoadOp::CLEAR,
        store: vk::AttachmentStoreOp::STORE,
        clear: [0, 0, 0, 1f32.to_bits()],
        resolve: None,
    };
    Rendering {
        area: rect(0, 0, SIDE, SIDE),
        layers,
        view_mask: 0,
        colours: vec![Some(colour)],
        depth: None,
        stencil: None,
        samples: 1,
    }
}

/// A draw that fills a rectangle of the first layer with a shade of red.
fn fill(e: &mut Encoder, state: &mut CommandState<Mali>, r: vk::Rect2D, red: u8) {
    fill_layers(e, state, r, (0, 1), red);
}

/// A draw that fills a rectangle of layers: the first one, and their number.
fn fill_layers(
    e: &mut Encoder,
    state: &mut CommandState<Mali>,
    r: vk::Rect2D,
    (base_array_layer, layer_count): (u32, u32),
    red: u8,
) {
    let clear = vk::ClearAttachment {
        aspect_mask: vk::ImageAspectFlags::COLOR,
        color_attachment: 0,
        clear_value: vk::ClearValue {
            color: vk::ClearColorValue { float32: [f32::from(red) / 255.0, 0.0, 0.0, 1.0] },
        },
    };
    let rect = vk::ClearRect { rect: r, base_array_layer, layer_count };
    e.clear_attachments(state, &[clear], &[rect]).unwrap();
}

/// Records draws of a rendering.
fn record(t: &Test, to: &Bo, draws: impl FnOnce(&mut Encoder, &mut CommandState<Mali>)) -> Encoder {
    record_layers(t, to, 1, draws)
}

/// Records draws of a rendering of several layers.
fn record_layers(
    t: &Test,
    to: &Bo,
    layers: u32,
    draws: impl FnOnce(&mut Encoder, &mut CommandState<Mali>),
) -> Encoder {
    let mut e = Encoder::new(&t.device);
    let rendering = rendering(t, to, layers);
    let mut state = CommandState::default();
    state.rendering = Some(rendering.clone());
    e.begin_rendering(&rendering).unwrap();
    draws(&mut e, &mut state);
    e.end_rendering(&rendering).unwrap();
    e.finish().unwrap();
    e
}

fn picture(to: &Bo) -> Vec<u32> {
    words(to, (SIDE * SIDE) as usize)
}

fn draw_twice(t: &Test) {
    let to = t.buffer(&[7; (SIDE * SIDE) as usize]);
    let e = record(t, &to, |e, state| {
        // The later one is on top, on each pixel that both have.
        for red in 1..=20u8 {
            fill(e, state, rect(u32::from(red), u32::from(red), 40, 40), red);
        }
    });
    let expected: Vec<u32> = (0..SIDE * SIDE)
        .map(|k| {
            let covers = |n: &u32| [k % SIDE, k / SIDE].iter().all(|at| (*n..n + 40).contains(at));
            GROUND | (1..=20).rev().find(covers).unwrap_or(0)
        })
        .collect();
    for _ in 0..2 {
        to.write(0, &[7; 4 * (SIDE * SIDE) as usize]);
        t.submit(&[&e, &e]);
        assert_eq!(picture(&to), expected);
    }
}

/// Draws are in order, and recordings run again: contexts of the tiler and headers of jobs are as they were.
#[test]
fn draws_are_in_order_however_often_they_are_submitted() {
    CHIPS.into_iter().for_each(|id| draw_twice(&Test::new(id)));
    for seed in 0..8 {
        CHIPS.into_iter().for_each(|id| draw_twice(&Test::relaxed(id, Some(seed))));
    }
}

/// More draws than a chain has jobs: the rendering goes on in the next chain.
#[test]
fn long_renderings_are_several_chains() {
    const COUNT: u32 = 66_000;
    let t = Test::new("mali-g57");
    let to = t.buffer(&[7; (SIDE * SIDE) as usize]);
    let e = record(&t, &to, |e, state| {
        for k in 0..COUNT {
            let at = k % (SIDE * SIDE);
            fill(e, state, rect(at % SIDE, at / SIDE, 1, 1), (k / (SIDE * SIDE)) as u8 + 1);
        }
    });
    t.submit(&[&e]);
    let last = |k: u32| COUNT.div_ceil(SIDE * SIDE) - u32::from(k >= COUNT % (SIDE * SIDE));
    let expected: Vec<u32> = (0..SIDE * SIDE).map(|k| GROUND | last(k)).collect();
    assert_eq!(picture(&to), expected);
}

/// More layers than a tiler context has.
#[test]
fn layers_are_those_of_several_contexts() {
    const LAYERS: u32 = 19;
    for id in CHIPS {
        let t = Test::new(id);
        let to = t.buffer(&[7; (SIDE * SIDE * LAYERS) as usize]);
        let e = record_layers(&t, &to, LAYERS, |e, state| {
            fill_layers(e, state, rect(0, 0, SIDE, SIDE), (3, 14), 1);
            for layer in 0..LAYERS {
                fill_layers(e, state, rect(layer, 0, 1, SIDE), (layer, 1), 2);
            }
        });
        t.submit(&[&e]);
        let expected = (0..SIDE * SIDE * LAYERS).map(|k| {
            let (layer, column) = (k / (SIDE * SIDE), k % SIDE);
            let ground = if (3..17).contains(&layer) { 1 } else { 0 };
            GROUND | if column == layer { 2 } else { ground }
        });
        let all = words(&to, (SIDE * SIDE * LAYERS) as usize);
        assert!(all == expected.collect::<Vec<_>>(), "{id}");
    }
}

/// A condition in memory decides when the draw runs.
#[test]
fn conditions_skip_draws() {
    for id in CHIPS {
        let t = Test::new(id);
        let (to, word) = (t.buffer(&[7; (SIDE * SIDE) as usize]), t.buffer(&[0]));
        let e = record(&t, &to, |e, state| {
            state.condition = Some(Condition { address: word.address, inverted: false });
            fill(e, state, rect(0, 0, SIDE, SIDE), 9);
            state.condition = None;
            fill(e, state, rect(0, 0, SIDE, 1), 3);
        });
        for (value, below) in [(0, GROUND), (1, GROUND | 9), (0, GROUND)] {
            word.write(0, &u32::to_le_bytes(value));
            t.submit(&[&e]);
            let expected = |k: u32| if k < SIDE { GROUND | 3 } else { below };
            assert_eq!(picture(&to), (0..SIDE * SIDE).map(expected).collect::<Vec<_>>(), "{id}");
        }
    }
}

/// The chains of a recording as text: the jobs with those that they wait for.
fn chains_text(e: &Encoder) -> String {
    let mut text = String::new();
    // SAFETY: it is not submitted.
    for (queue, jobs) in unsafe { e.chains() } {
        let slot = if queue == Queue::Fragment { "fragments" } else { "vertices, compute" };
        writeln!(text, "chain: {slot}").unwrap();
        for job in jobs {
            let waits: Vec<String> = [job.dependency_1, job.dependency_2]
                .iter()
                .filter(|n| **n != 0)
                .map(|n| format!(" after {n}"))
                .collect();
            let barrier = if job.barrier { " after all" } else { "" };
            let (index, kind) = (job.index, job.job_type);
            writeln!(text, "  {index} {kind}{}{barrier}", waits.concat()).unwrap();
        }
    }
    text
}

#[test]
fn the_documentation_has_the_chains_of_a_rendering() {
    let t = Test::new("mali-g57");
    let (to, word) = (t.buffer(&[7; (SIDE * SIDE) as usize]), t.buffer(&[1]));
    let e = record(&t, &to, |e, state| {
        fill(e, state, rect(0, 0, SIDE, SIDE), 1);
        fill(e, state, rect(0, 0, SIDE, 1), 2);
        state.condition = Some(Condition { address: word.address, inverted: false });
        fill(e, state, rect(0, 0, 1, SIDE), 3);
    });
    let text = chains_text(&e);
    let page = include_str!("../../../../docs/mali-driver.md");
    assert!(page.contains(&format!("```text\n{text}```")), "docs/mali-driver.md lacks\n{text}");
}
