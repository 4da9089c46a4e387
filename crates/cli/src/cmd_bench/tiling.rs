//! `tepui bench tiling`: measures the speed of tiling and detiling images relative to memcpy.

use std::io::{ErrorKind, Write as _};
use std::ops::{Deref, DerefMut};
use std::process::ExitCode;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use serde::Serialize;
use tepui_agx_layout as agx;
use tepui_format::Format;
use tepui_format::units::Extent;
use tepui_gpus::mali::Arch;
use tepui_intel_layout as intel;
use tepui_layout::{ImageLayout, Region, Threads};
use tepui_mali_layout as mali;

/// Measures the speed of tiling and detiling images relative to memcpy.
///
/// Each row alternates the conversion with a memcpy of the same bytes by as many threads, between
/// buffers that are already written and use large pages if available, and reports the medians. The
/// ratio is the speed of the conversion divided by memcpy's. GB/s count the image's bytes once
/// (10^9 bytes). 4096x4096 is larger than the caches; 1024x1024 and 256x256 fit (at 4 bytes per
/// pixel: 4 MiB and 256 KiB).
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tepui bench tiling\n  \
    tepui bench tiling --json | jq '.[] | select(.threads == 1 and .ratio < 0.8)'")]
pub struct Args {
    /// Print a JSON array.
    #[arg(long)]
    json: bool,
    /// Measuring time per row, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5)]
    seconds: f64,
}

#[derive(Serialize)]
struct Row {
    gpu: &'static str,
    tiling: &'static str,
    op: &'static str,
    bytes_per_block: u32,
    size: [u32; 2],
    threads: usize,
    #[serde(rename = "GBps")]
    gbps: f64,
    #[serde(rename = "memcpy_GBps")]
    memcpy_gbps: f64,
    ratio: f64,
}

/// (side, bytes per pixel): 4096² with every pixel size, and 4 bytes at the sizes that fit the
/// caches.
const SINGLE: [(u32, u32); 9] = [
    (4096, 4),
    (1024, 4),
    (256, 4),
    (4096, 1),
    (4096, 2),
    (4096, 8),
    (4096, 16),
    (1024, 1),
    (256, 16),
];
const ALL_THREADS: [(u32, u32); 5] = [(4096, 4), (4096, 1), (4096, 2), (4096, 8), (4096, 16)];

/// Runs the benchmark.
pub fn run(args: &Args) -> ExitCode {
    match bench(args) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader closed the pipe.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tepui bench tiling: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(args: &Args) -> std::io::Result<()> {
    let threads = rayon::current_num_threads();
    let budget =
        Duration::try_from_secs_f64(args.seconds.clamp(0.0, 60.0)).unwrap_or(Duration::ZERO);
    let mut out = std::io::stdout();
    if !args.json {
        writeln!(
            out,
            "{:<9} {:<14} {:<7} {:>5} {:>10} {:>7} {:>8} {:>8} {:>6}",
            "gpu", "tiling", "op", "bytes", "size", "threads", "GB/s", "memcpy", "ratio"
        )?;
    }
    let all = if threads > 1 { &ALL_THREADS[..] } else { &[] };
    let cases = SINGLE.iter().map(|&c| (c, 1)).chain(all.iter().map(|&c| (c, threads)));
    let mut rows = Vec::new();
    for ((side, bytes), threads) in cases {
        let mut buffers = Buffers::new(side, bytes)?;
        let [x, y] = [intel::Tiling::X, intel::Tiling::Y].map(|t| Tiled::intel(side, bytes, t));
        for tiled in [Tiled::agx(side, bytes), Tiled::mali(side, bytes), x, y] {
            for op in ["tile", "detile"] {
                let row = measure(&tiled, op, side, bytes, threads, &mut buffers, budget);
                if !args.json {
                    writeln!(out, "{}", text(&row))?;
                }
                rows.push(row);
            }
        }
    }
    if args.json {
        let lines: Vec<String> =
            rows.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
        writeln!(out, "[\n{}\n]", lines.join(",\n"))?;
    }
    out.flush()
}

fn text(row: &Row) -> String {
    format!(
        "{:<9} {:<14} {:<7} {:>5} {:>10} {:>7} {:>8.1} {:>8.1} {:>6.2}",
        row.gpu,
        row.tiling,
        row.op,
        row.bytes_per_block,
        format!("{}x{}", row.size[0], row.size[1]),
        row.threads,
        row.gbps,
        row.memcpy_gbps,
        row.ratio
    )
}

/// A linear image, a tiled image, and the destinations of memcpy.
struct Buffers {
    raster: Pages,
    tiled: Pages,
    copy: Pages,
}

impl Buffers {
    fn new(side: u32, bytes: u32) -> std::io::Result<Buffers> {
        let size = side as usize * side as usize * bytes as usize;
        // Extra space, since layouts are rounded to pages.
        let tiled = Pages::new(size + (1 << 16), 3)?;
        Ok(Buffers { raster: Pages::new(size, 5)?, tiled, copy: Pages::new(size, 7)? })
    }
}

/// Memory as drivers allocate it for images: in large pages if available, and faulted in before the
/// measurement.
struct Pages {
    start: NonNull<u8>,
    size: usize,
}

impl Pages {
    /// Allocates `size` bytes and writes each once.
    fn new(size: usize, seed: u8) -> std::io::Result<Pages> {
        // SAFETY: new memory, that nothing else refers to.
        let start = unsafe {
            let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
            let start = mmap_anonymous(std::ptr::null_mut(), size, access, flags)?;
            // A hint: without large pages, small ones work too.
            let _ = madvise(start, size, Advice::LinuxHugepage);
            start
        };
        let start = NonNull::new(start.cast()).ok_or(std::io::ErrorKind::OutOfMemory)?;
        let mut pages = Pages { start, size };
        for (i, byte) in pages.iter_mut().enumerate() {
            *byte = (i as u8).wrapping_mul(seed);
        }
        Ok(pages)
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping is this long, initialised (new pages are zero) and borrowed with
        // self.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.size) }
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.size) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is this long, and is no longer borrowed.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.size) };
    }
}

/// A layout to measure.
enum Tiled {
    Agx(Box<agx::Layout>),
    Mali(mali::Layout),
    Intel(Box<intel::Layout>),
}

impl Tiled {
    fn agx(side: u32, bytes: u32) -> Tiled {
        let desc = agx::ImageDesc::new_2d(format(bytes), agx::Tiling::Twiddled, side, side);
        Tiled::Agx(Box::new(agx::Layout::new(&desc).expect("a plain image has a layout")))
    }

    fn mali(side: u32, bytes: u32) -> Tiled {
        let modifier = mali::Modifier::UInterleaved;
        let desc = mali::ImageDesc::new_2d(Arch(7), format(bytes), modifier, side, side);
        Tiled::Mali(mali::Layout::new(&desc).expect("a plain image has a layout"))
    }

    fn intel(side: u32, bytes: u32, tiling: intel::Tiling) -> Tiled {
        let desc = intel::ImageDesc::new_2d(format(bytes), tiling, side, side);
        Tiled::Intel(Box::new(intel::Layout::new(&desc).expect("a plain image has a layout")))
    }

    fn layout(&self) -> &dyn ImageLayout {
        match self {
            Tiled::Agx(layout) => layout.as_ref(),
            Tiled::Mali(layout) => layout,
            Tiled::Intel(layout) => layout.as_ref(),
        }
    }

    fn names(&self) -> (&'static str, &'static str) {
        match self {
            Tiled::Agx(_) => ("m1", "twiddled"),
            Tiled::Mali(_) => ("mali-g52", "u-interleaved"),
            Tiled::Intel(layout) => ("skl", layout.desc().tiling.name()),
        }
    }

    fn run(&self, op: &str, side: u32, stride_B: usize, threads: Threads, b: &mut Buffers) {
        let extent_px = Extent::new(side, side);
        let region = Region { level: 0, layer: 0, sample: 0, origin_px: (0, 0), extent_px };
        let (layout, raster) = (self.layout(), &mut b.raster);
        let place = layout.place(b.tiled.len(), region);
        let moved = place.and_then(|place| match op {
            "tile" => place.tile(&mut b.tiled, raster, stride_B, threads),
            _ => place.detile(&b.tiled, raster, stride_B, threads),
        });
        moved.expect("the benchmark's own image");
    }
}

fn format(bytes: u32) -> Format {
    match bytes {
        1 => Format::R8_UINT,
        2 => Format::R16_UINT,
        4 => Format::R32_UINT,
        8 => Format::R32G32_UINT,
        _ => Format::R32G32B32A32_UINT,
    }
}

/// Copies as many bytes as the conversion, with as many threads.
fn memcpy(op: &str, threads: usize, b: &mut Buffers) {
    let size = b.copy.len();
    let from = if op == "tile" { &b.raster[..size] } else { &b.tiled[..size] };
    if threads == 1 {
        b.copy.copy_from_slice(from);
    } else {
        let part = size.div_ceil(threads * 4).max(1);
        let pairs = b.copy.par_chunks_mut(part).zip(from.par_chunks(part));
        pairs.for_each(|(to, from)| to.copy_from_slice(from));
    }
    std::hint::black_box(&mut b.copy);
}

fn measure(
    tiled: &Tiled,
    op: &'static str,
    side: u32,
    bytes: u32,
    threads: usize,
    buffers: &mut Buffers,
    budget: Duration,
) -> Row {
    let stride_B = side as usize * bytes as usize;
    let how = if threads == 1 { Threads::One } else { Threads::All };
    let mut times = (Vec::new(), Vec::new());
    let start = Instant::now();
    // The first round warms up.
    for round in 0.. {
        let t = Instant::now();
        tiled.run(op, side, stride_B, how, buffers);
        let moved = t.elapsed();
        let t = Instant::now();
        memcpy(op, threads, buffers);
        let copied = t.elapsed();
        if round > 0 {
            times.0.push(moved);
            times.1.push(copied);
        }
        if round >= 1 && start.elapsed() >= budget {
            break;
        }
    }
    let gbps = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        stride_B as f64 * f64::from(side) / times[times.len() / 2].as_secs_f64() / 1e9
    };
    let (gbps, memcpy_gbps) = (gbps(&mut times.0), gbps(&mut times.1));
    let (gpu, tiling) = tiled.names();
    let round = |v: f64| (v * 1000.0).round() / 1000.0;
    Row {
        gpu,
        tiling,
        op,
        bytes_per_block: bytes,
        size: [side, side],
        threads,
        gbps: round(gbps),
        memcpy_gbps: round(memcpy_gbps),
        ratio: round(gbps / memcpy_gbps),
    }
}
