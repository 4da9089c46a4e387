//! Rectangles and clears.

use std::sync::Arc;

use tepui_format::Format;
use tepui_ir::interp::{self, Group};
use tepui_ir::{Builtin, IoLoc};
use tepui_vulkan::backend::{Attachment, ImageRef, Rendering};
use tepui_vulkan::vk;
use tepui_vulkan_kit::builder::Words;
use tepui_vulkan_meta::clear::{self, Clear};
use tepui_vulkan_meta::words::{ClearWords, DrawWords, RectangleWords};
use tepui_vulkan_meta::{Conventions, Program};

use crate::gpu::{Family, Gpu, Way, image};

fn rect(x: i32, y: i32, width: u32, height: u32) -> vk::Rect2D {
    vk::Rect2D { offset: vk::Offset2D { x, y }, extent: vk::Extent2D { width, height } }
}

#[test]
fn vertices_are_the_corners_of_pixels() {
    let program =
        Program::RectangleVertices.build(Conventions { threads: 32, words: Words::Uniform });
    for (r, size) in [(rect(0, 0, 640, 480), [640, 480]), (rect(17, 5, 3, 400), [1000, 777])] {
        let words = RectangleWords::new(r, size, 0.25, 3);
        let mut uniforms = vec![0u8; DrawWords::RECTANGLE.offset() as usize];
        let [x0, y0, x1, y1] = words.corners;
        for w in [x0, y0, x1, y1, words.depth].map(f32::to_bits).into_iter().chain([words.layer]) {
            uniforms.extend(w.to_le_bytes());
        }
        let mut memory = interp::Memory { uniforms, ..interp::Memory::default() };
        // Two instances of four vertices.
        let mut group = Group::plain(8);
        let numbers = |f: fn(u64) -> u64| (0..8).map(|n| vec![f(n)]).collect();
        group.builtins.insert(Builtin::VertexIndex, numbers(|n| n % 4));
        group.builtins.insert(Builtin::InstanceIndex, numbers(|n| n / 4));
        let outcome = interp::run(&program, &group, &mut memory, 10_000).unwrap();
        let read = |loc: Builtin, c: u8, lane: usize| {
            outcome.outputs[&(IoLoc::Builtin(loc), c, 0)][lane].unwrap()
        };
        for lane in 0..8 {
            let position = |c: u8| f32::from_bits(read(Builtin::Position, c, lane));
            let pixel = |c: u8| (position(c) + 1.0) / 2.0 * size[usize::from(c)] as f32;
            let x = r.offset.x as f32 + if lane & 1 != 0 { r.extent.width as f32 } else { 0.0 };
            let y = r.offset.y as f32 + if lane & 2 != 0 { r.extent.height as f32 } else { 0.0 };
            // A 256th of a pixel is the finest that hardware resolves.
            assert!((pixel(0) - x).abs() < 1.0 / 256.0, "{} is not {x}", pixel(0));
            assert!((pixel(1) - y).abs() < 1.0 / 256.0, "{} is not {y}", pixel(1));
            assert_eq!([position(2), position(3)], [0.25, 1.0]);
            assert_eq!(read(Builtin::Layer, 0, lane), 3 + lane as u32 / 4);
        }
    }
}

#[test]
fn fragments_have_the_colours_that_are_cleared() {
    let mut words = ClearWords::default();
    for (k, c) in words.colours.iter_mut().enumerate() {
        *c = [0, 1, 2, 3].map(|n| 100 * k as u32 + n);
    }
    let uniforms = words.colours.as_flattened().iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut memory = interp::Memory { uniforms, ..interp::Memory::default() };
    let program = Program::ClearFragments { colours: 0b1001_0010, integers: 0b10 };
    let program = program.build(Conventions { threads: 32, words: Words::Uniform });
    tepui_ir::validate(&program).unwrap();
    let outcome = interp::run(&program, &Group::plain(4), &mut memory, 10_000).unwrap();
    assert_eq!(outcome.outputs.len(), 4 * 3);
    for k in [1u16, 4, 7] {
        for c in 0..4u8 {
            let right = Some(100 * u32::from(k) + u32::from(c));
            assert_eq!(outcome.outputs[&(IoLoc::Location(k), c, 0)], [right; 4], "{k}, {c}");
        }
    }
}

fn attachment(
    gpu: &mut Gpu,
    f: Format,
    load: vk::AttachmentLoadOp,
    clear: [u32; 4],
) -> Attachment<Family> {
    let n = gpu.surface(image(f, [8, 8, 1], 1, 1), f, 0, Way::Words);
    let s = &gpu.surfaces[n];
    let part = ImageRef {
        image: s.image.clone(),
        info: s.info,
        addresses: [s.address; 3],
        plane: 0,
        format: f,
        level: 0,
        layer: 0,
        layers: 1,
    };
    let store = vk::AttachmentStoreOp::STORE;
    let layout = vk::ImageLayout::GENERAL;
    Attachment { image: Arc::new(part), layout, load, store, clear, resolve: None }
}

#[test]
fn clears_are_of_attachments_that_there_are() {
    use vk::ImageAspectFlags as A;
    let mut gpu = Gpu::new();
    let (load, clear) = (vk::AttachmentLoadOp::LOAD, vk::AttachmentLoadOp::CLEAR);
    let rendering = Rendering {
        area: rect(0, 0, 8, 8),
        layers: 1,
        view_mask: 0,
        colours: vec![
            Some(attachment(&mut gpu, Format::R8_UNORM, load, [1; 4])),
            None,
            Some(attachment(&mut gpu, Format::R32_SINT, clear, [7, 8, 9, 10])),
        ],
        depth: Some(attachment(&mut gpu, Format::D32_SFLOAT, clear, [1.5f32.to_bits(), 0, 0, 0])),
        stencil: None,
        samples: 1,
    };
    let loads = Clear::of_loads(&rendering);
    assert_eq!((loads.colours, loads.integers), (0b100, 0b100));
    assert_eq!(loads.words.colours[2], [7, 8, 9, 10]);
    assert_eq!((loads.depth, loads.stencil), (Some(1.0), None));
    let value = |words| vk::ClearValue { color: vk::ClearColorValue { uint32: words } };
    let one = |aspect_mask, color_attachment, words| vk::ClearAttachment {
        aspect_mask,
        color_attachment,
        clear_value: value(words),
    };
    let depth = 0.5f32.to_bits();
    let list = [
        one(A::COLOR, 0, [3; 4]),
        one(A::COLOR, 1, [4; 4]),
        one(A::COLOR, 5, [4; 4]),
        one(A::DEPTH | A::STENCIL, 0, [depth, 77, 0, 0]),
    ];
    let c = Clear::of_attachments(&rendering, &list);
    assert_eq!((c.colours, c.integers, c.words.colours[0]), (1, 0, [3; 4]));
    assert_eq!((c.depth, c.stencil), (Some(0.5), None), "there is no stencil");
    assert!(!c.is_empty() && Clear::default().is_empty());
    let area = vk::ClearRect { rect: rect(1, 2, 3, 4), base_array_layer: 5, layer_count: 2 };
    clear::rectangle(&mut gpu, &c, &area, 4, 0, None).unwrap();
    let program = Program::ClearFragments { colours: 1, integers: 0 };
    assert_eq!(gpu.drawn, [(program, rect(1, 2, 3, 4), 0.5, [5, 2])]);
}
