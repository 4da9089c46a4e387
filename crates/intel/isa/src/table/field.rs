//! The table of bit fields: the position of each field of an instruction, by generation.
//!
//! source: Mesa, `src/intel/compiler/brw_eu_inst.h`.

use tepui_intel_chips::Generation;

/// A run of bits, highest and lowest included.
pub type Run = (u8, u8);

/// A field: its runs of bits from the most significant to the least, by generation. Empty if a generation
/// does not have it.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its bits on Gen9.
    pub gen9: &'static [Run],
    /// Its bits on Gen12.
    pub gen12: &'static [Run],
}

impl Field {
    /// The runs of a generation.
    pub const fn runs(&self, generation: Generation) -> &'static [Run] {
        match generation {
            Generation::Gen9 => self.gen9,
            Generation::Gen12 => self.gen12,
        }
    }

    /// Whether a generation has the field.
    pub const fn exists(&self, generation: Generation) -> bool {
        !self.runs(generation).is_empty()
    }

    /// Width in bits.
    pub fn width(&self, generation: Generation) -> u32 {
        self.runs(generation).iter().map(|&(high, low)| u32::from(high - low) + 1).sum()
    }

    /// The value in an instruction.
    pub fn get(&self, generation: Generation, bits: u128) -> u64 {
        let mut value = 0;
        for &(high, low) in self.runs(generation) {
            let width = high - low + 1;
            value = value << (width % 64) | run(bits, (high, low));
        }
        value
    }

    /// Sets the value in an instruction. The value must fit.
    pub fn set(&self, generation: Generation, bits: &mut u128, value: u64) {
        let mut value = u128::from(value);
        for &(high, low) in self.runs(generation).iter().rev() {
            let width = u32::from(high - low) + 1;
            let mask = (1u128 << width) - 1;
            *bits = *bits & !(mask << low) | (value & mask) << low;
            value >>= width;
        }
    }
}

/// The value of a run of bits.
pub fn run(bits: u128, (high, low): Run) -> u64 {
    let width = high - low + 1;
    (bits >> low) as u64 & (u64::MAX >> (64 - width))
}

macro_rules! fields {
    ($($name:ident [$($h9:literal : $l9:literal),*] [$($h12:literal : $l12:literal),*];)*) => {
        $(
            #[doc = concat!("The field `", stringify!($name), "`.")]
            pub static $name: Field = Field {
                name: stringify!($name),
                gen9: &[$(($h9, $l9)),*],
                gen12: &[$(($h12, $l12)),*],
            };
        )*

        /// All fields, for the manual and the tests.
        pub static FIELDS: &[&Field] = &[$(&$name),*];
    };
}

fields! {
    // Name             [Gen9]             [Gen12]
    OPCODE              [6:0]              [6:0];
    ACCESS_MODE         [8:8]              [];
    NO_DD_CLEAR         [9:9]              [];
    NO_DD_CHECK         [10:10]            [];
    SWSB                []                 [15:8];
    NIBBLE              [11:11]            [19:19];
    QUARTER             [13:12]            [21:20];
    THREAD_CONTROL      [15:14]            [];
    ATOMIC_CONTROL      []                 [32:32];
    PREDICATE           [19:16]            [27:24];
    PREDICATE_INVERSE   [20:20]            [28:28];
    EXEC_SIZE           [23:21]            [18:16];
    CONDITION           [27:24]            [95:92];
    ACC_WRITE           [28:28]            [33:33];
    COMPACTED           [29:29]            [29:29];
    DEBUG               [30:30]            [30:30];
    SATURATE            [31:31]            [34:34];
    FLAG_SUB            [32:32]            [22:22];
    FLAG                [33:33]            [23:23];
    NO_MASK             [34:34]            [31:31];

    DST_FILE            [36:35]            [50:50];
    DST_TYPE            [40:37]            [39:36];
    DST_INDIRECT        [63:63]            [35:35];
    DST_STRIDE          [62:61]            [49:48];
    DST_REG             [60:53]            [63:56];
    DST_SUB             [52:48]            [55:51];
    DST_ADDRESS         [60:57]            [63:60];
    DST_OFFSET          [47:47, 56:48]     [59:50];
    DST_A16_SUB         [52:52]            [];
    DST_WRITEMASK       [51:48]            [];

    SRC0_IMMEDIATE      []                 [46:46];
    SRC0_FILE           [42:41]            [66:66];
    SRC0_TYPE           [46:43]            [43:40];
    SRC0_VERTICAL       [88:85]            [87:84];
    SRC0_WIDTH          [84:82]            [83:81];
    SRC0_HORIZONTAL     [81:80]            [65:64];
    SRC0_INDIRECT       [79:79]            [80:80];
    SRC0_NEGATE         [78:78]            [45:45];
    SRC0_ABS            [77:77]            [44:44];
    SRC0_REG            [76:69]            [79:72];
    SRC0_SUB            [68:64]            [71:67];
    SRC0_ADDRESS        [76:73]            [79:76];
    SRC0_OFFSET         [95:95, 72:64]     [75:66];
    SRC0_A16_SUB        [68:68]            [];
    SRC0_SWIZZLE        [83:80, 67:64]     [];

    SRC1_IMMEDIATE      []                 [47:47];
    SRC1_FILE           [90:89]            [98:98];
    SRC1_TYPE           [94:91]            [91:88];
    SRC1_VERTICAL       [120:117]          [119:116];
    SRC1_WIDTH          [116:114]          [115:113];
    SRC1_HORIZONTAL     [113:112]          [97:96];
    SRC1_INDIRECT       [111:111]          [112:112];
    SRC1_NEGATE         [110:110]          [121:121];
    SRC1_ABS            [109:109]          [120:120];
    SRC1_REG            [108:101]          [111:104];
    SRC1_SUB            [100:96]           [103:99];
    SRC1_ADDRESS        [108:105]          [111:108];
    SRC1_OFFSET         [121:121, 104:96]  [107:98];
    SRC1_A16_SUB        [100:100]          [];
    SRC1_SWIZZLE        [115:112, 99:96]   [];

    IMM32               [127:96]           [127:96];
    IMM64               [127:64]           [95:64, 127:96];
    JIP                 [127:96]           [127:96];
    UIP                 [95:64]            [95:64];

    T_DST_FILE          []                 [50:50];
    T_DST_REG           [63:56]            [63:56];
    T_DST_SUB           [55:53]            [55:54];
    T_DST_WRITEMASK     [52:49]            [];
    T_DST_STRIDE        []                 [48:48];
    T_DST_TYPE          [48:46]            [38:36];
    T_EXEC_FLOAT        []                 [39:39];
    T_SRC_TYPE          [45:43]            [];
    T_SRC0_IMMEDIATE    []                 [46:46];
    T_SRC0_FILE         []                 [66:66];
    T_SRC0_TYPE         []                 [42:40];
    T_SRC0_REG          [83:76]            [79:72];
    T_SRC0_SUB          [75:73, 84:84]     [71:67];
    T_SRC0_NEGATE       [38:38]            [45:45];
    T_SRC0_ABS          [37:37]            [44:44];
    T_SRC0_SWIZZLE      [72:65]            [];
    T_SRC0_REPLICATE    [64:64]            [];
    T_SRC0_VERTICAL     []                 [43:43, 35:35];
    T_SRC0_HORIZONTAL   []                 [65:64];
    T_SRC0_IMM16        []                 [79:64];
    T_SRC1_IMMEDIATE    []                 [];
    T_SRC1_FILE         []                 [98:98];
    T_SRC1_HALF         [36:36]            [];
    T_SRC1_TYPE         []                 [90:88];
    T_SRC1_REG          [104:97]           [111:104];
    T_SRC1_SUB          [96:94, 105:105]   [103:99];
    T_SRC1_NEGATE       [40:40]            [87:87];
    T_SRC1_ABS          [39:39]            [86:86];
    T_SRC1_SWIZZLE      [93:86]            [];
    T_SRC1_REPLICATE    [85:85]            [];
    T_SRC1_VERTICAL     []                 [91:91, 83:83];
    T_SRC1_HORIZONTAL   []                 [97:96];
    T_SRC2_IMMEDIATE    []                 [47:47];
    T_SRC2_FILE         []                 [114:114];
    T_SRC2_HALF         [35:35]            [];
    T_SRC2_TYPE         []                 [82:80];
    T_SRC2_REG          [125:118]          [127:120];
    T_SRC2_SUB          [117:115, 126:126] [119:115];
    T_SRC2_NEGATE       [42:42]            [85:85];
    T_SRC2_ABS          [41:41]            [84:84];
    T_SRC2_SWIZZLE      [114:107]          [];
    T_SRC2_REPLICATE    [106:106]          [];
    T_SRC2_HORIZONTAL   []                 [113:112];
    T_SRC2_IMM16        []                 [127:112];

    SEND_SFID           [27:24]            [95:92];
    SEND_EOT            [127:127]          [34:34];
    SEND_DESC           [126:96]           [123:122, 71:67, 55:51, 121:113, 91:81];
    SEND_DESC_REG       [77:77]            [48:48];
    SEND_EX_DESC_REG    [61:61]            [49:49];
    SEND_EX_DESC_SUB    [82:80]            [42:40];
    SEND_EX_DESC_HIGH   [95:80]            [127:124, 97:96, 65:64, 47:35];
    SEND_EX_DESC_LOW    [67:64]            [103:99];
    SEND_DST_FILE       [35:35]            [50:50];
    SEND_DST_REG        [60:53]            [63:56];
    SEND_DST_HALF       [52:52]            [];
    SEND_SRC0_FILE      []                 [66:66];
    SEND_SRC0_REG       [76:69]            [79:72];
    SEND_SRC0_HALF      [68:68]            [];
    SEND_SRC1_FILE      [36:36]            [98:98];
    SEND_SRC1_REG       [51:44]            [111:104];
}
