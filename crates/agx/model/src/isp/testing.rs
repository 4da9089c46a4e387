//! What the tests of this folder begin with.

use tepui_agx_packets::render::DepthBias;
use tepui_agx_packets::{Packet, ppp};

use crate::render::scene::{Kind, Primitive, State};

/// A state that draws: every packet as zero bytes unpack it, or close to that.
pub fn state() -> State {
    fn zero<P: Packet>() -> P {
        P::unpack(&vec![0; P::INFO.size_bytes]).unwrap_or_else(|p| panic!("{p}"))
    }
    let control = ppp::FragmentControl::default();
    let face = ppp::FragmentFace { depth_function: ppp::ZsFunc::Always, ..zero() };
    let face2 = ppp::FragmentFace2 { depth_function: ppp::ZsFunc::Always, ..zero() };
    let stencil: ppp::FragmentStencil = zero();
    State {
        draw: 0,
        control: control.clone(),
        control2: control,
        face: [face.clone(), face],
        face2: [face2.clone(), face2],
        stencil: [stencil.clone(), stencil],
        occlusion: zero(),
        scissors: Vec::new(),
        depth_bias: zero::<DepthBias>(),
        region: zero(),
        cull: zero(),
        cull2: zero(),
        output_select: zero(),
        varyings_32: zero(),
        varyings_16: zero(),
        shader: zero(),
        pipeline: 0,
        bindings: 0,
    }
}

/// A triangle.
pub fn primitive() -> Primitive {
    Primitive {
        kind: Kind::Triangle,
        front: true,
        state: 0,
        vertices: [0; 3],
        positions: [[0.0, 0.0, 0.0, 1.0], [32.0, 0.0, 0.0, 1.0], [0.0, 32.0, 0.0, 1.0]],
        provoking: 0,
        viewport: 0,
        layer: 0,
        primitive_id: 0,
        size_px: 1.0,
        first_piece: 0,
        pieces: 1,
    }
}
