//! Mali's instancing arithmetic: padded vertex counts and division by constants.
//!
//! A draw of `v` vertices and `i` instances is dispatched as one row of threads with a **linear
//! id** each. To find the vertex and the instance of an id without a general division, the hardware
//! pads the vertex count to 1, 3, 5, 7 or 9 times a power of two ([`padded_vertex_count`]); the id
//! modulo the padded count is the vertex, the quotient the instance. The attribute unit computes
//! this for each attribute, with parameters from the driver:
//!
//! | attribute | the unit computes | parameters |
//! | --- | --- | --- |
//! | per vertex | id mod padded count | [`Modulus`]: shift and odd factor |
//! | per instance, divisor `d` | id / (padded count · `d`) | [`Division`]: a shift, or a multiplier, a rounding and a shift |
//!
//! A driver must compute the padded count exactly as the hardware does, because the hardware pads
//! by itself. [`Instancing`] computes the parameters of a draw. The `apply` functions compute what
//! the hardware does with them, so that they can be checked against plain division.
//!
//! ```
//! use tepui_mali_instancing::Instancing;
//!
//! let draw = Instancing::new(11, 1)?;
//! let padded = tepui_mali_instancing::padded_vertex_count(11)?;
//! assert_eq!(draw.apply(padded + 3), (3, 1), "vertex 3 of instance 1");
//! # Ok::<(), tepui_mali_instancing::InstancingError>(())
//! ```
//!
//! source: Mesa, `docs/drivers/panfrost/instancing.rst`, `src/panfrost/lib/pan_attributes.c`.

mod division;
mod padding;

pub use division::Division;
pub use padding::{Modulus, padded_vertex_count};

/// The error of a draw whose instancing parameters cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstancingError {
    /// The draw has no vertices.
    #[error("0 vertices; a draw has at least 1")]
    NoVertices,
    /// The padded count exceeds the hardware's 32-bit counter.
    #[error("{0} vertices are padded to 4294967296, which has 33 bits")]
    TooManyVertices(u32),
    /// The divisor is 0, which means that the attribute is the same for all instances and the hardware does
    /// not divide.
    #[error("a divisor of 0; the attribute does not advance, and the hardware does not divide")]
    DivisorZero,
    /// The product exceeds the hardware's 32-bit divisor.
    #[error(
        "a padded count of {padded} times a divisor of {divisor} has more than the 32 bits of the \
         hardware's divisor"
    )]
    DivisorTooLarge {
        /// The padded vertex count.
        padded: u32,
        /// The API's divisor.
        divisor: u32,
    },
}

/// The parameters of an instanced draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instancing {
    /// Threads per instance.
    pub padded_vertices: u32,
    /// Parameters of attributes that advance per vertex.
    pub modulus: Modulus,
    /// The divisor of linear ids: the padded count times the API's divisor.
    pub hw_divisor: u32,
    /// Parameters of attributes that advance per instance.
    pub division: Division,
}

impl Instancing {
    /// The parameters for a draw of `vertices` vertices and an attribute that advances every
    /// `divisor` instances.
    pub fn new(vertices: u32, divisor: u32) -> Result<Instancing, InstancingError> {
        let padded_vertices = padded_vertex_count(vertices)?;
        if divisor == 0 {
            return Err(InstancingError::DivisorZero);
        }
        let hw_divisor = padded_vertices
            .checked_mul(divisor)
            .ok_or(InstancingError::DivisorTooLarge { padded: padded_vertices, divisor })?;
        Ok(Instancing {
            padded_vertices,
            modulus: Modulus::new(padded_vertices),
            hw_divisor,
            division: Division::new(hw_divisor),
        })
    }

    /// Results of the hardware for a linear id: the vertex, and the index into a per-instance attribute.
    pub fn apply(&self, linear_id: u32) -> (u32, u32) {
        (self.modulus.apply(linear_id), self.division.apply(linear_id))
    }
}

#[cfg(test)]
mod tests;
