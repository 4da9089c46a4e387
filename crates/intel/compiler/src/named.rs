//! Enumerations of the IR in programs that a cache keeps, by their names: modules for `#[serde(with = "...")]`.

/// A kind of primitive.
pub mod primitive_kind {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;
    use tepui_ir::PrimitiveKind;

    pub fn serialize<S: Serializer>(value: &PrimitiveKind, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(value.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<PrimitiveKind, D::Error> {
        let name = <&str>::deserialize(d)?;
        PrimitiveKind::from_name(name).ok_or_else(|| D::Error::custom("no kind of primitive"))
    }
}

/// A depth mode, if there is one.
pub mod depth_mode {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::{Serialize, Serializer};
    use tepui_ir::DepthMode;

    pub fn serialize<S: Serializer>(value: &Option<DepthMode>, s: S) -> Result<S::Ok, S::Error> {
        value.map(DepthMode::name).serialize(s)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<DepthMode>, D::Error> {
        let Some(name) = Option::<&str>::deserialize(d)? else { return Ok(None) };
        DepthMode::from_name(name).map(Some).ok_or_else(|| D::Error::custom("no depth mode"))
    }
}
