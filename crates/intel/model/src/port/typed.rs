//! Typed surface messages: texels of images and elements of typed buffers, converted by format.

use std::sync::{Mutex, PoisonError};

use tepui_intel_chips::Generation;
use tepui_intel_eu::{Message, Refusal, ThreadView};

use super::Ports;
use super::atomic::Operation;
use super::payload::{Payload, lanes, put_u32};
use super::refusal::refuse;
use super::surface::{Dimension, Image, Surface};
use crate::format::{Format, MAX_BYTES};
use crate::render::target::Target;

/// Channels of a typed message: SIMD16 does not exist.
const WIDTH: usize = 8;

impl Surface {
    /// The address of the texel at coordinates and its format; `None` outside of the surface.
    fn typed(&self, coordinates: [u32; 3]) -> Result<Option<(u64, &'static Format)>, Refusal> {
        let [u, v, r] = coordinates;
        match self {
            Surface::Null => Ok(None),
            Surface::Buffer(buffer) => {
                let format = buffer.format.ok_or_else(|| refuse("typed access to a raw buffer"))?;
                Ok(buffer.element(u).map(|at| (at, format)))
            }
            Surface::Image(image) => {
                let (y, layer) = match (image.dimension, image.array) {
                    // source: SKL PRM volume 7, "typed surface messages": the layer of a 1D array is V.
                    (Dimension::One, true) => (0, v),
                    (Dimension::One, false) => (0, 0),
                    (Dimension::Two, false) if !image.cube => (v, 0),
                    _ => (v, r),
                };
                Ok(image.texel(image.level, u, y, layer).map(|at| (at, image.format)))
            }
        }
    }
}

impl Surface {
    /// The result of a typed read outside of the surface: a texel of zeros.
    ///
    /// source: Vulkan specification, "robustImageAccess2": an alpha that the format does not have is 1.
    fn outside(&self, generation: Generation) -> [u32; 4] {
        let format = match self {
            Surface::Null => None,
            Surface::Buffer(buffer) => buffer.format,
            Surface::Image(image) => Some(image.format),
        };
        format.map_or([0; 4], |format| format.read(&[0; MAX_BYTES][..format.bytes], generation))
    }
}

/// Components that a message excludes: bits 3:0 of its control.
fn components(message: &Message) -> impl Iterator<Item = usize> + use<> {
    let control = message.desc >> 8;
    (0..4).filter(move |c| control >> c & 1 == 0)
}

/// Number of registers of a message's payload after its header. A split send may split it anywhere, also between two
/// coordinates.
fn registers(message: &Message) -> usize {
    let all = usize::from(message.src0_registers) + usize::from(message.src1_registers);
    all - usize::from(message.header)
}

/// The coordinates of a channel. A message may have fewer than three registers of them.
fn coordinates(payload: &Payload, lane: usize, registers: usize) -> [u32; 3] {
    [0, 1, 2].map(|k| if k < registers { payload.u32(k, lane) } else { 0 })
}

/// Held while clear blocks of an image are filled: workers share the image, and one must not fill what another has
/// written since.
static FILLING: Mutex<()> = Mutex::new(());

impl Ports<'_> {
    /// The surface of a message. Clear blocks of an image get their colour before the first access.
    fn typed_surface(&mut self, message: &Message) -> Result<Surface, Refusal> {
        let place = self.bound(message)?;
        let Ports { surfaces, memory, .. } = self;
        let bound = &mut surfaces[place];
        if let Surface::Image(image) = &bound.surface
            && image.may_be_clear
            && !bound.filled
        {
            let _alone = FILLING.lock().unwrap_or_else(PoisonError::into_inner);
            let level = Target::new(Image { target_level: image.level, ..*image });
            level.resolve_all(memory).map_err(refuse)?;
            bound.filled = true;
        }
        Ok(bound.surface)
    }

    pub(super) fn typed_read(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let payload = Payload::new(view, message);
        let registers = registers(message);
        let surface = self.typed_surface(message)?;
        for lane in lanes(message, WIDTH) {
            let value = match surface.typed(coordinates(&payload, lane, registers))? {
                Some((at, format)) => {
                    let mut bytes = [0; MAX_BYTES];
                    let texel = &mut bytes[..format.bytes];
                    self.memory.read(at, texel).map_err(refuse)?;
                    format.read(texel, self.shared.generation)
                }
                None => surface.outside(self.shared.generation),
            };
            for (place, component) in components(message).enumerate() {
                put_u32(view, place, lane, value[component]);
            }
        }
        Ok(())
    }

    pub(super) fn typed_write(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let payload = Payload::new(view, message);
        let surface = self.typed_surface(message)?;
        let count = components(message).count();
        // Coordinates precede the data.
        let registers = registers(message).saturating_sub(count);
        for lane in lanes(message, WIDTH) {
            let found = surface.typed(coordinates(&payload, lane, registers))?;
            let Some((at, format)) = found else { continue };
            let mut value = [0; 4];
            for (place, component) in components(message).enumerate() {
                value[component] = payload.u32(registers + place, lane);
            }
            let mut bytes = [0; MAX_BYTES];
            let texel = &mut bytes[..format.bytes];
            format.pack(value, texel);
            self.memory.write(at, texel).map_err(refuse)?;
        }
        Ok(())
    }

    pub(super) fn typed_atomic(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let control = message.desc >> 8 & 0x3f;
        let operation = Operation::of(control & 0xf, false)?;
        let payload = Payload::new(view, message);
        let surface = self.typed_surface(message)?;
        let registers = registers(message).saturating_sub(operation.operands());
        for lane in lanes(message, WIDTH) {
            let operand = |index: usize| match index < operation.operands() {
                true => u64::from(payload.u32(registers + index, lane)),
                false => 0,
            };
            let (first, second) = (operand(0), operand(1));
            let old = match surface.typed(coordinates(&payload, lane, registers))? {
                Some((at, format)) if format.bytes == 4 => {
                    self.update_at(at, 32, |old| operation.apply(old, first, second, 32))?
                }
                Some(_) => {
                    return Err(refuse("an atomic operation on texels that are not 32 bits"));
                }
                None => 0,
            };
            if control >> 5 & 1 != 0 {
                put_u32(view, 0, lane, operation.result(old) as u32);
            }
        }
        Ok(())
    }
}
