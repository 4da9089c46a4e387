//! Positions of samples.

use tepui_intel_packets::pixel::State3dSamplePattern;

/// Vulkan's standard positions of one, two and four samples.
pub fn pattern() -> State3dSamplePattern {
    let at = |sixteenths: u32| sixteenths as f32 / 16.0;
    State3dSamplePattern {
        n1x_sample0_x_offset: at(8),
        n1x_sample0_y_offset: at(8),
        n2x_sample0_x_offset: at(12),
        n2x_sample0_y_offset: at(12),
        n2x_sample1_x_offset: at(4),
        n2x_sample1_y_offset: at(4),
        n4x_sample0_x_offset: at(6),
        n4x_sample0_y_offset: at(2),
        n4x_sample1_x_offset: at(14),
        n4x_sample1_y_offset: at(6),
        n4x_sample2_x_offset: at(2),
        n4x_sample2_y_offset: at(10),
        n4x_sample3_x_offset: at(10),
        n4x_sample3_y_offset: at(14),
        ..State3dSamplePattern::default()
    }
}
