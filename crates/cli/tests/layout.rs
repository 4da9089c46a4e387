//! Runs `tepui layout`, `tile`, `detile`, `formats`, `instancing` and `bench tiling` as commands.
#![allow(non_snake_case)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

fn run(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tepui"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Written while reading, since either pipe may fill. A command may exit without reading it all.
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input.as_bytes()));
        child.wait_with_output().unwrap()
    })
}

/// The output of a successful command.
fn tepui(line: &str) -> String {
    let output = run(&line.split_whitespace().collect::<Vec<_>>(), "");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The error message of a failing command.
fn refusal(line: &str) -> String {
    let output = run(&line.split_whitespace().collect::<Vec<_>>(), "");
    assert!(!output.status.success(), "{line}");
    assert!(output.stdout.is_empty(), "{line}");
    String::from_utf8(output.stderr).unwrap()
}

fn batch(command: &str, lines: &[String]) -> Vec<Value> {
    let output = run(&[command, "--batch"], &(lines.join("\n") + "\n"));
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_table_for_people() {
    let text = tepui("layout --gpu m1 --format R8G8B8A8_UNORM --size 1000x500 --levels all");
    let mut lines = text.lines();
    let title = "R8G8B8A8_UNORM 1000x500, twiddled on m1, modifier 0x0c00000000000001";
    assert_eq!(lines.next(), Some(title));
    let header: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, ["level", "size", "offset", "bytes", "stride", "tile", "tiles"]);
    let rows: Vec<Vec<_>> = lines.map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(rows[4], ["4", "62x31", "0x2a8000", "8192", "248", "32x32", "2x1"]);
    assert_eq!(rows[10], ["layer", "stride", "2796416", "bytes"]);
    assert_eq!(rows.len(), 12);
}

/// All keys of an answer, and the defaults of keys missing in a request.
#[test]
fn json_has_these_keys() {
    let text = tepui("layout --gpu m1 --format D32_SFLOAT --size 64x64 --tiling compressed --json");
    let answer: Value = serde_json::from_str(&text).unwrap();
    let expected = json!({
        "gpu": "m1", "format": "D32_SFLOAT", "tiling": "compressed",
        "width_px": 64, "height_px": 64, "depth_px": 1, "layers": 1, "samples": 1,
        "levels": [
            {"level": 0, "offset_B": 0, "size_B": 16384, "stride_B": 256, "tile_el": [64, 64], "tiles": [1, 1]}
        ],
        "layer_stride_B": 16384, "size_B": 16512, "page_aligned_layers": false,
        "metadata": {
            "offset_B": 16384, "size_B": 128,
            "levels": [{"level": 0, "offset_B": 0, "size_B": 128, "tiles": [4, 4]}]
        }
    });
    assert_eq!(answer, expected);
    let twiddled = tepui("layout --gpu m1 --format D32_SFLOAT --size 64x64 --json");
    let twiddled: Value = serde_json::from_str(&twiddled).unwrap();
    assert_eq!((&twiddled["tiling"], &twiddled["metadata"]), (&json!("twiddled"), &Value::Null));
}

/// The request of the documentation with every key, and the shortest request.
#[test]
fn batch_answers_in_order_and_goes_on_after_errors() {
    let long = r#"{"gpu":"m1","format":"R8G8B8A8_UNORM","tiling":"twiddled","width_px":64,"height_px":64,"depth_px":1,"layers":1,"samples":1,"levels":1}"#;
    let short = r#"{"gpu":"mali-g52","format":"R8_UNORM","width_px":33,"height_px":7}"#;
    let bad = [
        ("nonsense", "expected ident"),
        ("{}", "missing field"),
        (&long.replace("m1", "m9"), "no GPU 'm9'; there are m1,"),
        (&long.replace("R8G8B8A8_UNORM", "RGBA8"), "RGBA8"),
        (&long.replace("twiddled", "afbc"), "m1 has no tiling 'afbc'; it has twiddled"),
        (
            &long.replace("\"levels\":1", "\"levels\":9"),
            "9 levels; the full chain of this image has 7",
        ),
        (&long.replace("\"width_px\":64", "\"width_px\":0"), "the width is 0"),
        (&long.replace("\"width_px\":64", "\"width_px\":16385"), "the hardware's limit is 16384"),
        (&long.replace("\"width_px\":64", "\"width_px\":-1"), "invalid value"),
        (&long.replace("\"samples\":1", "\"samples\":8"), "the hardware has powers of two up to 4"),
        (&long.replace("\"depth_px\":1", "\"deep\":1"), "unknown field `deep`"),
    ];
    let mut lines = vec![long.to_string()];
    for (line, _) in &bad {
        lines.extend([line.to_string(), short.to_string()]);
    }
    let answers = batch("layout", &lines);
    assert_eq!(answers.len(), lines.len());
    assert_eq!((&answers[0]["gpu"], &answers[0]["size_B"]), (&json!("m1"), &json!(16384)));
    for (i, (line, message)) in bad.iter().enumerate() {
        let refused = &answers[1 + 2 * i];
        assert_eq!(refused.as_object().unwrap().len(), 1);
        let error = refused["error"].as_str().unwrap();
        assert!(error.contains(message), "{line}: {error}");
        assert!(error.starts_with(&format!("line {}:", 2 + 2 * i)), "{error}");
        assert_eq!(answers[2 + 2 * i]["gpu"], "mali-g52");
    }
}

/// Images are neither renderable nor writable by default.
#[test]
fn usage_aligns_layers() {
    let ask = |usage: &str| {
        format!(
            r#"{{"gpu":"m1","format":"R8_UNORM","width_px":8,"height_px":8,"layers":3{usage}}}"#
        )
    };
    let answers = batch(
        "layout",
        &["", r#","usage":"renderable""#, r#","usage":["writable"]"#, r#","usage":"drawn""#]
            .map(ask),
    );
    let aligned: Vec<_> = answers.iter().map(|a| &a["page_aligned_layers"]).collect();
    assert_eq!(aligned, [&json!(false), &json!(true), &json!(true), &Value::Null]);
    assert_eq!(answers[1]["layer_stride_B"], 16384);
    let one = "layout --gpu m1 --format R8_UNORM --size 8x8 --layers 3 --json --usage renderable,writable";
    assert_eq!(serde_json::from_str::<Value>(&tepui(one)).unwrap(), answers[1]);
}

/// Errors name the violated rule of linear images on AGX, or the invalid argument.
#[test]
fn errors_name_the_rule() {
    for (options, message) in [
        (
            "--linear-stride 264",
            "a stride of 264 bytes; strides of linear images are multiples of 16",
        ),
        ("--linear-stride 128", "a stride of 128 bytes; a row has 256"),
        ("--levels 2", "linear images have one level, not 2"),
        ("--samples 4", "linear images have one sample a pixel, not 4"),
        ("--cube --layers 6", "linear images must be 1D or 2D, not cubes"),
    ] {
        let line =
            format!("layout --gpu m1 --tiling linear --format R32_UINT --size 64x64 {options}");
        assert_eq!(refusal(&line), format!("tepui layout: {message}\n"));
    }
    for (line, message) in [
        (
            "layout --gpu m1 --tiling linear --format R32_UINT --size 8x8x8",
            "linear images must be 1D or 2D, not 3D",
        ),
        (
            "layout --gpu m1 --tiling linear --format BC1_RGB_UNORM_BLOCK --size 8x8",
            "BC1_RGB_UNORM_BLOCK stores blocks of pixels",
        ),
        ("layout --gpu m1 --format R8G8B8_UNORM --size 8x8", "blocks of 3 bytes"),
        (
            "layout --gpu mali-t720 --tiling afbc --format R8_UNORM --size 8x8",
            "has no AFBC; it starts with Midgard (v5)",
        ),
        ("layout --gpu m1 --format R8_UNORM", "--size"),
        (
            "layout --gpu m1 --format R8_UNORM --size 8by8",
            "write WIDTH, WIDTHxHEIGHT or WIDTHxHEIGHTxDEPTH",
        ),
        ("layout --gpu m1 --format R8_UNORM --size 4294967296x1", "write WIDTH"),
        ("layout --gpu m1 --format R8_UNROM --size 8x8", "R8_UNORM"),
        ("instancing --vertices 0", "0 vertices; a draw has at least 1"),
        ("instancing --vertices 4294967295", "33 bits"),
        ("formats --gpu m1 --all", "are for Mali GPUs"),
    ] {
        let said = refusal(line);
        assert!(said.contains(message), "{line}: {said}");
    }
}

fn raster(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// Files that a test writes.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_string()
    }
}

#[test]
fn tile_and_detile_are_inverses() {
    let folder = Folder::new();
    let (input, tiled, back) = (folder.at("in.raw"), folder.at("tiled.bin"), folder.at("back.raw"));
    let raw = raster(233 * 173 * 4);
    fs::write(&input, &raw).unwrap();
    // (image, bytes of it, place of pixel (5, 3) along the curve: the bits of y and x in turn, for
    // Mali those of y and x ^ y)
    for (image, size_B, place) in [
        ("--gpu m1 --tiling twiddled", 4 * 3 * 16384, 0b01_10_11),
        ("--gpu mali-g52 --tiling u-interleaved", 42 * 4096, 0b01_11_10),
    ] {
        let image = format!("{image} --format R32_UINT --size 233x173");
        tepui(&format!("tile {image} {input} -o {tiled}"));
        let bytes = fs::read(&tiled).unwrap();
        assert_eq!(bytes.len(), size_B, "{image}");
        assert_eq!(bytes[place * 4..][..4], raw[(3 * 233 + 5) * 4..][..4], "{image}");
        tepui(&format!("detile {image} {tiled} -o {back}"));
        assert!(fs::read(&back).unwrap() == raw, "{image}");
        // A rectangle is the same part of the raster image.
        tepui(&format!("detile {image} {tiled} --rect 31x17+100+50 -o {back}"));
        let part: Vec<u8> =
            (50..67).flat_map(|y| raw[(y * 233 + 100) * 4..][..31 * 4].iter().copied()).collect();
        assert!(fs::read(&back).unwrap() == part, "{image}");
    }
}

/// Levels, layers and slices are written one after another to one image.
#[test]
fn levels_and_layers() {
    let folder = Folder::new();
    let (input, tiled, back) = (folder.at("in.raw"), folder.at("tiled.bin"), folder.at("back.raw"));
    for image in [
        "--gpu m1 --format R16_UINT --size 50x30 --levels all --layers 3",
        "--gpu mali-g57 --format R16_UINT --size 50x30 --levels all --layers 3",
        "--gpu mali-t620 --format R16_UINT --size 50x30x3 --levels 1",
    ] {
        let size = |level: u32| (50usize >> level) * (30 >> level) * 2;
        let parts: &[(u32, u32)] =
            if image.contains("x3") { &[(0, 0), (0, 2)] } else { &[(0, 0), (1, 2), (3, 1)] };
        for (i, (level, layer)) in parts.iter().enumerate() {
            let raw: Vec<u8> = raster(size(*level)).iter().map(|b| b ^ i as u8).collect();
            fs::write(&input, raw).unwrap();
            let into = if i == 0 { String::new() } else { format!("--into {tiled}") };
            let part = format!("--level {level} --layer {layer}");
            tepui(&format!("tile {image} {part} {input} {into} -o {tiled}"));
        }
        for (i, (level, layer)) in parts.iter().enumerate() {
            tepui(&format!("detile {image} --level {level} --layer {layer} {tiled} -o {back}"));
            let raw: Vec<u8> = raster(size(*level)).iter().map(|b| b ^ i as u8).collect();
            assert!(fs::read(&back).unwrap() == raw, "{image} {level} {layer}");
        }
    }
}

/// A PNG survives the way through either GPU's order, alpha and sRGB included.
#[test]
fn pictures_in_and_out() {
    let folder = Folder::new();
    let (input, tiled, back) = (folder.at("in.png"), folder.at("tiled.bin"), folder.at("back.png"));
    let pixels = raster(61 * 37 * 4);
    let mut encoder = png::Encoder::new(fs::File::create(&input).unwrap(), 61, 37);
    encoder.set_color(png::ColorType::Rgba);
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    for image in [
        "--gpu m1 --format R8G8B8A8_UNORM --size 61x37",
        "--gpu m1 --format B8G8R8A8_SRGB --size 61x37 --tiling compressed",
        "--gpu mali-g52 --format R8G8B8A8_SRGB --size 61x37",
        "--gpu mali-g52 --format R16G16B16A16_UNORM --size 61x37 --tiling linear",
    ] {
        tepui(&format!("tile {image} {input} -o {tiled}"));
        tepui(&format!("detile {image} {tiled} -o {back}"));
        let mut reader = png::Decoder::new(std::io::BufReader::new(fs::File::open(&back).unwrap()))
            .read_info()
            .unwrap();
        let mut got = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut got).unwrap();
        assert!(got == pixels, "{image}");
    }
    for (line, message) in [
        ("--format R8G8B8A8_UNORM --size 60x37", "the PNG is 61x37 pixels; the rectangle is 60x37"),
        ("--format BC1_RGB_UNORM_BLOCK --size 61x37", "use raw files"),
        ("--format R8_UNORM --size 61x37 --samples 4", "use raw files"),
        ("--format R8_UNORM --size 61x37 --level 1", "there is no level 1"),
        ("--format R8_UNORM --size 61x37 --layer 1", "there is no layer 1"),
        ("--format R8_UNORM --size 61x37 --rect 61x37+1+0", "leaves the image of 61x37"),
        ("--format R8_UNORM --size 61x37 --rect 61", "write WIDTHxHEIGHT+X+Y"),
    ] {
        let said = refusal(&format!("tile --gpu m1 {line} {input} -o {tiled}"));
        assert!(said.contains(message), "{line}: {said}");
    }
    let short = "detile --gpu m1 --format R32_UINT --size 61x37";
    let said = refusal(&format!("{short} {input} -o {back}"));
    assert!(said.contains("in.png: the image buffer has"), "{said}");
    assert!(said.contains("the layout needs 16384"), "{said}");
    assert!(refusal(&format!("{short} {tiled}.none -o {back}")).contains("No such file"));
}

/// Layouts are drawn: a PNG with more than one colour.
#[test]
fn layouts_are_drawn() {
    let folder = Folder::new();
    let file = folder.at("layout.png");
    for image in [
        "--gpu m1 --size 200x100 --levels all --tiling compressed",
        "--gpu mali-g52 --size 200x100 --levels all --tiling afbc",
        "--gpu mali-g52 --size 1x1 --tiling linear",
        "--gpu m1 --size 16384x16384 --levels all --layers 2048",
    ] {
        tepui(&format!("layout --format R8G8B8A8_UNORM {image} --png {file}"));
        let decoder = png::Decoder::new(std::io::BufReader::new(fs::File::open(&file).unwrap()));
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        assert!(pixels.chunks(3).collect::<std::collections::HashSet<_>>().len() > 4, "{image}");
    }
}

#[test]
fn instancing_numbers() {
    let requests = [
        r#"{"vertices":70,"divisor":3}"#,
        r#"{"vertices":0,"divisor":1}"#,
        r#"{"vertices":64}"#,
        r#"{"vertices":70,"divisor":4294967295}"#,
    ];
    let answers = batch("instancing", &requests.map(String::from));
    let seventy = json!({
        "padded_vertices": 72, "modulus": {"shift": 3, "odd": 9}, "hw_divisor": 216,
        "division": {"shift": 7, "magic_multiplier": 397_682_157, "round_down": true}
    });
    assert_eq!(answers[0], seventy);
    assert!(answers[1]["error"].as_str().unwrap().contains("a draw has at least 1"));
    assert_eq!(
        (&answers[2]["padded_vertices"], &answers[2]["hw_divisor"]),
        (&json!(72), &json!(72))
    );
    assert!(answers[3]["error"].as_str().unwrap().contains("32 bits"));
    let one = tepui("instancing --vertices 70 --divisor 3 --json");
    assert_eq!(serde_json::from_str::<Value>(&one).unwrap(), seventy);
    let text = tepui("instancing --vertices 70 --divisor 3");
    for part in ["0b1000110", "72 = 9 << 3", "odd factor 9 (field 4)", "round down 1"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// The table of a Mali chip, of a particular device and as JSON.
#[test]
fn compressed_formats_of_a_chip() {
    let text = tepui("formats --gpu mali-g52");
    assert!(text.starts_with("System-on-chip compressed texture support:\n\nETC2:          YES\n"));
    assert_eq!(text.matches("YES").count(), 21);
    let device = tepui("formats --gpu mali-g57 --texture-features 0xf7fe03fe");
    assert!(device.contains("BC3:           YES\n") && device.contains("BC4 unorm:      NO\n"));
    let answer: Value = serde_json::from_str(&tepui("formats --gpu mali-g52 --json")).unwrap();
    assert_eq!(answer["gpu"], "mali-g52");
    let etc2 = json!({"name": "ETC2", "bit": 1, "supported": true});
    assert_eq!(answer["compressed"][0], etc2);
    let all: Value = serde_json::from_str(&tepui("formats --json")).unwrap();
    let bc1 = all.as_array().unwrap().iter().find(|f| f["format"] == "BC1_RGB_UNORM_BLOCK");
    let bc1 = bc1.unwrap();
    assert_eq!((&bc1["block_px"], &bc1["block_B"]), (&json!([4, 4]), &json!(8)));
}

/// The rows that are always there, and each row's keys.
#[test]
fn bench_rows() {
    let rows: Value = serde_json::from_str(&tepui("bench tiling --json --seconds 0")).unwrap();
    let rows = rows.as_array().unwrap();
    let keys = [
        "GBps",
        "bytes_per_block",
        "gpu",
        "memcpy_GBps",
        "op",
        "ratio",
        "size",
        "threads",
        "tiling",
    ];
    for row in rows {
        let mut found: Vec<_> = row.as_object().unwrap().keys().collect();
        found.sort();
        assert_eq!(found, keys);
        let number = |key: &str| row[key].as_f64().unwrap();
        // Each figure is rounded to three decimals, so it is off by HALF at most: so far may the product of two be from the third.
        const HALF: f64 = 0.0005;
        let [rate, memcpy, ratio] = ["GBps", "memcpy_GBps", "ratio"].map(number);
        let allowed = HALF * (1.0 + memcpy + ratio + 3.0 * HALF) + 1e-9;
        assert!((ratio * memcpy - rate).abs() <= allowed, "{row}");
    }
    let has = |tiling: &str, op: &str, bytes: u32, side: u32| {
        rows.iter().any(|r| {
            r["tiling"] == tiling
                && r["op"] == op
                && r["bytes_per_block"] == bytes
                && r["size"] == json!([side, side])
                && r["threads"] == 1
        })
    };
    for tiling in ["twiddled", "u-interleaved"] {
        for op in ["tile", "detile"] {
            assert!([1, 2, 4, 8, 16].iter().all(|&bytes| has(tiling, op, bytes, 4096)));
            assert!(has(tiling, op, 4, 256) && has(tiling, op, 4, 1024));
        }
    }
}

/// Arbitrary lines: an answer each, in JSON, whatever they hold.
#[test]
fn batches_survive_anything() {
    let mut state = 1u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let numbers = [
        "1",
        "0",
        "2",
        "3",
        "15",
        "64",
        "1000",
        "16384",
        "65536",
        "4294967295",
        "-1",
        "1e9",
        "null",
    ];
    let tilings = ["linear", "twiddled", "compressed", "u-interleaved", "afbc", "x"];
    let formats =
        ["R8_UNORM", "D32_SFLOAT_S8_UINT", "ASTC_12x12_SRGB_BLOCK", "R64G64B64A64_UINT", ""];
    let lines: Vec<String> = (0..4000)
        .map(|_| {
            let mut line = format!(
                r#"{{"gpu":"{}","format":"{}","tiling":"{}""#,
                ["m1", "mali-g52", "mali-t620", "mali-g610"][random(4)],
                formats[random(formats.len())],
                tilings[random(tilings.len())]
            );
            for (key, of_ten) in [
                ("width_px", 10),
                ("height_px", 10),
                ("depth_px", 2),
                ("layers", 3),
                ("samples", 2),
                ("levels", 3),
                ("linear_stride_B", 1),
            ] {
                if random(10) < of_ten {
                    let n = numbers.len();
                    let number = numbers[random(n).min(random(n)).min(random(n))];
                    line += &format!(r#","{key}":{number}"#);
                }
            }
            line += "}";
            // Some lose their end, some a byte.
            match random(10) {
                0 => line.truncate(random(line.len())),
                1 => drop(line.remove(random(line.len()))),
                _ => {}
            }
            line
        })
        .collect();
    let answers = batch("layout", &lines);
    assert_eq!(answers.len(), lines.len());
    let answered = answers.iter().filter(|a| a["error"].is_null()).count();
    assert!(answered > 100 && answered < lines.len(), "{answered}");
    assert!(answers.iter().all(|a| a["error"].is_string() != a["size_B"].is_u64()));
}

#[test]
fn help_teaches() {
    for command in ["layout", "tile", "detile", "instancing", "formats"] {
        let text = tepui(&format!("{command} --help"));
        assert!(text.contains("Examples:"), "{command}");
        // Every example is a command that this binary has.
        assert!(text.matches("tepui ").count() >= 2, "{command}");
    }
    assert!(!Path::new("layout.png").exists());
}

/// Intel's tiles by name, and what is refused of them.
#[test]
fn images_of_intel() {
    let text = tepui("layout --gpu skl --format R8G8B8A8_UNORM --size 100x60 --levels all --json");
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["tiling"], "y");
    // Four tiles of 128 bytes make a pitch; level 1 is below level 0, 60 rows down: the second row of
    // tiles, and 28 rows of 16 bytes into it.
    assert_eq!(answer["levels"][0]["stride_B"], 512);
    assert_eq!(answer["levels"][1]["offset_B"], 4 * 4096 + 28 * 16);
    assert_eq!(answer["surface"]["aux"]["kind"], "CCS");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let pixels: Vec<u8> = (0..100 * 60 * 4u32).map(|i| (i * 7 + i / 256) as u8).collect();
    fs::write(path("raw"), &pixels).unwrap();
    for tiling in ["x", "y", "yf"] {
        let desc = format!("--gpu skl --format R8G8B8A8_UNORM --size 100x60 --tiling {tiling}");
        tepui(&format!("tile {desc} {} -o {}", path("raw"), path("tiled")));
        tepui(&format!("detile {desc} {} -o {}", path("tiled"), path("back")));
        assert_ne!(fs::read(path("tiled")).unwrap(), pixels, "{tiling}");
        assert_eq!(fs::read(path("back")).unwrap(), pixels, "{tiling}");
    }
    let said = refusal("layout --gpu skl --format R8_UNORM --size 8x8 --tiling twiddled");
    assert!(said.contains("skl has no tiling 'twiddled'; it has"), "{said}");
}
