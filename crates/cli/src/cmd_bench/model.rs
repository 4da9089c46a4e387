//! `tepui bench model`: measures the speed of the virtual GPUs.
//!
//! There are three kinds of figures: lane-instructions per second of loops in AGX assembly, in this
//! process; the time of Vulkan kernels on Mesa's driver on the model, and the time of the same
//! kernels on lavapipe (the same processor without a GPU) in the same run; and, measured likewise,
//! frames per second of programs that draw.

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

use serde::Serialize;
use tepui_agx_bare::{Dispatch, Machine, address_halves};
use tepui_agx_isa::asm::assemble;
use tepui_agx_model::Options;

use super::frames::{self, Driver, Frames, Gpu};

/// Measures the speed of the model: instruction loops in this process; Vulkan kernels, among them
/// samples of textures of many formats, vkcube and three scenes of vkmark on Mesa's driver on the model, compared with lavapipe.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tepui bench model
  tepui bench model --json --only-loops
  tepui bench model --only-frames
  tepui bench model --only-kernels texture
  tepui bench model --gpu skl
  tepui bench model --gpu mali-g610
  tepui bench model --mesa tools/mesa --witness target/release/witness

The kernels and programs need Debian's Mesa (`tools/mesa fetch`), the kernels also the program
`witness` of this project.")]
pub struct Args {
    /// The virtual GPU: `m1` with Honeykrisp, `skl` or `tgl` with ANV, or `mali-g610` with PanVK, which is an arm64 program. The loops
    /// are those of `m1` alone.
    #[arg(long, default_value = "m1")]
    gpu: Gpu,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Run only the instruction loops, without Mesa's drivers.
    #[arg(long)]
    only_loops: bool,
    /// Run only the programs that draw.
    #[arg(long, conflicts_with = "only_loops")]
    only_frames: bool,
    /// Run only the kernels whose names contain this.
    #[arg(long, value_name = "PART", conflicts_with_all = ["only_loops", "only_frames"])]
    only_kernels: Option<String>,
    /// Worker threads, of lavapipe, too; 0 means one per core.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// The script that runs programs on Debian's Mesa.
    #[arg(long, default_value = "tools/mesa")]
    mesa: PathBuf,
    /// The Vulkan client; by default next to this program.
    #[arg(long)]
    witness: Option<PathBuf>,
}

#[derive(Serialize)]
struct Loop {
    name: &'static str,
    lane_instructions_per_s: f64,
    threads: usize,
}

#[derive(Serialize)]
struct Kernel {
    name: String,
    model_ms: f64,
    /// None if lavapipe does not offer what the kernel needs.
    lavapipe_ms: Option<f64>,
    /// Speed of the model divided by lavapipe's; above 1, the model is faster.
    ratio: Option<f64>,
}

#[derive(Serialize)]
struct Report {
    loops: Vec<Loop>,
    kernels: Vec<Kernel>,
    frames: Vec<Frames>,
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    match measure(args) {
        Ok(report) if args.json => {
            println!("{}", serde_json::to_string_pretty(&report).unwrap_or_default());
            ExitCode::SUCCESS
        }
        Ok(report) => {
            for l in &report.loops {
                println!(
                    "{:24} {:8.2} G lane-instructions/s on {} threads",
                    l.name,
                    l.lane_instructions_per_s / 1e9,
                    l.threads
                );
            }
            for k in &report.kernels {
                let peer = match k.lavapipe_ms.zip(k.ratio) {
                    Some((ms, ratio)) => format!("{ms:8.1} ms on lavapipe: ratio {ratio:.2}"),
                    None => "not offered by lavapipe".into(),
                };
                println!("{:24} {:8.1} ms on the model, {peer}", k.name, k.model_ms);
            }
            for f in &report.frames {
                let alone = f.alone_fps.zip(f.alone_ratio);
                let alone = alone.map(|(fps, ratio)| {
                    format!("; {fps:7.1} if only the model took time: {ratio:.2}")
                });
                println!(
                    "{:31} {:7.1} frames/s on the model, {:7.1} on lavapipe: ratio {:.2}{}",
                    f.name,
                    f.model_fps,
                    f.lavapipe_fps,
                    f.ratio,
                    alone.unwrap_or_default()
                );
            }
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("tepui bench model: {why}");
            ExitCode::FAILURE
        }
    }
}

fn measure(args: &Args) -> Result<Report, Box<dyn std::error::Error>> {
    if args.only_frames {
        let frames = frames::measure(Driver::Mesa(args.gpu), &args.mesa, args.threads)?;
        return Ok(Report { loops: Vec::new(), kernels: Vec::new(), frames });
    }
    if args.only_kernels.is_some() {
        return Ok(Report { loops: Vec::new(), kernels: kernels(args)?, frames: Vec::new() });
    }
    let loops = match args.gpu {
        Gpu::M1 => vec![
            time_loop("alu (ffma)", args.threads, ALU, 64)?,
            time_loop("memory (load, store)", args.threads, MEMORY, 6)?,
            time_loop("texture (bilinear)", args.threads, TEXTURE, 6)?,
        ],
        Gpu::Skl | Gpu::Tgl | Gpu::MaliG610 => Vec::new(),
    };
    if args.only_loops {
        return Ok(Report { loops, kernels: Vec::new(), frames: Vec::new() });
    }
    let kernels = kernels(args)?;
    let frames = frames::measure(Driver::Mesa(args.gpu), &args.mesa, args.threads)?;
    Ok(Report { loops, kernels, frames })
}

/// The body of the arithmetic loop.
const ALU: &str = "fmadd32 r4, r5, r6, r4\nfmadd32 r7, r5, r6, r7\nfmadd32 r8, r5, r6, r8\nfmadd32 r9, r5, r6, r9\n";

/// The body of the memory loop: each thread reads and writes its own word, and a neighbour's.
const MEMORY: &str = "device_load 0, i32, x, r4, u0_u1, r1, unsigned
device_load 0, i32, x, r5, u0_u1, r2, unsigned
wait 0
iadd r4, r4, r5
device_store 0, i32, x, r4, u0_u1, r1, unsigned, 0
bitop 0110, r2, r2, r3
";

/// The body of the texture loop: each thread moves along a row of the texture in `ts0`, sampled
/// with `ss0`. The threads of a SIMD-group are three quarters of a texel apart, and each group
/// samples its own row.
const TEXTURE: &str = "iadd r11, r1, r10
convert u32_to_f, r4, r11, rte
fmul32 r4, r4, r16
fmul32 r5, r4, 0.03125
texture_sample 0, 0b1100, 0b0, none, xyzw, 0b00, r12_r13_r14_r15, None, ts0, ss0, tex_2d, r4_r5, lod_min, r6l
wait 0
";

/// Width and height of the texture, in texels of 4 bytes.
const TEXTURE_PX: u32 = 256;

/// Descriptors of the texture (linear RGBA8) and the sampler (bilinear, repeat).
fn texture(address: u64) -> Result<([u8; 24], [u8; 8]), tepui_agx_packets::Problem> {
    use tepui_agx_packets::sampler::{Filter, Sampler, Wrap};
    use tepui_agx_packets::texture::{self, Channel, Channels, Layout, Texture, TextureDimension};
    let texture = Texture {
        dimension: TextureDimension::D2,
        layout: Layout::Linear,
        channels: Channels::R8G8B8A8,
        type_: texture::TextureType::Unorm,
        swizzle_r: Channel::R,
        swizzle_g: Channel::G,
        swizzle_b: Channel::B,
        swizzle_a: Channel::A,
        width: TEXTURE_PX,
        height: TEXTURE_PX,
        address,
        stride: 4 * TEXTURE_PX,
        ..Texture::default()
    };
    let sampler = Sampler {
        maximum_lod: 14.0,
        magnify: Filter::Linear,
        minify: Filter::Linear,
        wrap_s: Wrap::Repeat,
        wrap_t: Wrap::Repeat,
        ..Sampler::default()
    };
    Ok((texture.pack()?, sampler.pack()?))
}

/// Runs `body` in a loop on 64 SIMD-groups and counts the executed instructions.
fn time_loop(
    name: &'static str,
    threads: usize,
    body: &str,
    length: usize,
) -> Result<Loop, Box<dyn std::error::Error>> {
    const ROUNDS: u32 = 2000;
    let lines = body.lines().count();
    let body = body.repeat(length.div_ceil(lines));
    // Three quarters of a texel.
    let step = (0.75 / TEXTURE_PX as f32).to_bits();
    let source = format!(
        "get_sr r1, sr80\nmov_imm r3, 32, 0b0\niadd r2, r1, r3\nmov_imm r5, 1065353216, 0b0\n\
         mov_imm r6, 0, 0b0\nmov_imm r4, 0, 0b0\nmov_imm r7, 0, 0b0\nmov_imm r8, 0, 0b0\n\
         mov_imm r9, 0, 0b0\nmov_imm r10, 0, 0b0\nmov_imm r16, {step}, 0b0\nmov_imm r0l, 0\n\
         again:\n{body}\niadd r10, r10, 1\n\
         while_icmp r0l, ult, r10, u2, 1\njmp_exec_any again\npop_exec r0l, 1\n\
         device_store 0, i32, x, r4, u0_u1, r1, unsigned, 0\nstop\n"
    );
    let code = assemble(&source)
        .map_err(|errors| errors.iter().map(|e| format!("{e}\n")).collect::<String>())?;
    let mut machine = Machine::new(Options { threads, ..Options::default() })?;
    const THREADS: u32 = 64 * 32;
    let buffer = machine.buffer(4 * 2 * THREADS as usize)?;
    let mut uniforms = address_halves(buffer.address()).to_vec();
    uniforms.extend([ROUNDS as u16, (ROUNDS >> 16) as u16]);
    let texels = machine.buffer(4 * (TEXTURE_PX * TEXTURE_PX) as usize)?;
    let (texture, sampler) = texture(texels.address())?;
    let job = machine.prepare(&Dispatch {
        code: &code,
        textures: &[texture],
        samplers: &[sampler],
        uniforms: &uniforms,
        global: [THREADS, 1, 1],
        local: [64, 1, 1],
        ..Dispatch::default()
    })?;
    let mut best: f64 = 0.0;
    for _ in 0..5 {
        let start = Instant::now();
        let stats = machine.submit(&job)?;
        best = best.max(stats.instructions as f64 * 32.0 / start.elapsed().as_secs_f64());
    }
    let threads = match threads {
        0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
        n => n,
    };
    Ok(Loop { name, lane_instructions_per_s: best, threads })
}

#[derive(serde::Deserialize)]
struct Time {
    kernel: String,
    ms: f64,
}

/// Runs the client on both drivers.
fn kernels(args: &Args) -> Result<Vec<Kernel>, Box<dyn std::error::Error>> {
    let exe = std::env::current_exe()?;
    let witness = super::witness(args.witness.as_deref(), "--only-loops")?;
    let client = |driver: Driver| -> Result<Command, Box<dyn std::error::Error>> {
        let mut command = driver.command(&exe, &args.mesa, args.threads, None);
        let program = match driver {
            Driver::Mesa(Gpu::MaliG610) => super::for_arm64(&witness)?,
            _ => witness.clone(),
        };
        command.arg(program).args(["speed", "--device", driver.device()]);
        command.args(["--only", args.only_kernels.as_deref().unwrap_or_default()]);
        Ok(command)
    };
    let (model, peer) = (client(Driver::Mesa(args.gpu))?, client(Driver::Lavapipe)?);
    let (model, peer) = (super::json::<Vec<Time>>(model)?, super::json::<Vec<Time>>(peer)?);
    Ok(model
        .into_iter()
        .map(|m| {
            let lavapipe_ms = peer.iter().find(|p| p.kernel == m.kernel).map(|p| p.ms);
            let ratio = lavapipe_ms.map(|ms| ms / m.ms);
            Kernel { name: m.kernel, model_ms: m.ms, lavapipe_ms, ratio }
        })
        .collect())
}
