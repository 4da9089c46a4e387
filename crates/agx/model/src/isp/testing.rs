//! Fixtures of the tests of this folder.

use tepui_agx_packets::render::DepthBias;
use tepui_agx_packets::{Packet, ppp};
use tepui_softgpu::AddressSpace;

use crate::render::scene::{Primitive, PrimitiveKind, State};

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
        control,
        control2: control,
        face: [face, face],
        face2: [face2, face2],
        stencil: [stencil, stencil],
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
        kind: PrimitiveKind::Triangle,
        front: true,
        state: 0,
        vertices: [0; 3],
        positions: [[0.0, 0.0, 0.0, 1.0], [32.0, 0.0, 0.0, 1.0], [0.0, 32.0, 0.0, 1.0]],
        provoking: 0,
        viewport: 0,
        layer: 0,
        primitive_id: 0,
        size_px: 1.0,
    }
}

/// A packet's bytes.
pub fn pack<P: Packet>(packet: P) -> Vec<u8> {
    let mut bytes = vec![0; P::INFO.size_bytes];
    packet.pack_into(&mut bytes).unwrap_or_else(|problem| panic!("{problem}"));
    bytes
}

/// Changes of bytes in memory, the same ones for the same seed.
pub struct Changes(u32);

impl Changes {
    /// The seed must not be zero.
    pub fn new(seed: u32) -> Changes {
        Changes(seed)
    }

    /// A number from 0 to `below - 1` (Marsaglia's xorshift).
    fn next(&mut self, below: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 % below
    }

    /// Changes one to `most` bytes: each at one of `places`, an address and a length in bytes, and
    /// by another byte or by one bit.
    pub fn make(&mut self, vm: &AddressSpace, places: &[(u64, u32)], most: u32) {
        for _ in 0..1 + self.next(most) {
            let (base, length) = places[self.next(places.len() as u32) as usize];
            let at = base + u64::from(self.next(length));
            let byte = match self.next(3) {
                0 => self.next(256) as u8,
                _ => vm.read_array::<1>(at).unwrap()[0] ^ 1 << self.next(8),
            };
            vm.write(at, &[byte]).unwrap();
        }
    }
}
