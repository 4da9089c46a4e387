//! Compiles a compute shader for the M1 and runs it on the virtual M1 in this process.

use std::error::Error;

use tepui_agx_bare::Machine;
use tepui_agx_bare::shader::{self, Bindings};
use tepui_agx_compiler as compiler;

const SHADER: &str = "
    @group(0) @binding(0) var<storage, read> a: array<f32>;
    @group(0) @binding(1) var<storage, read_write> b: array<f32>;

    @compute @workgroup_size(32)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        b[id.x] = sqrt(a[id.x]) + 1.0;
    }
";

fn main() -> Result<(), Box<dyn Error>> {
    // WGSL to SPIR-V, by naga.
    let module = naga::front::wgsl::parse_str(SHADER)?;
    let flags = naga::valid::ValidationFlags::all();
    let info =
        naga::valid::Validator::new(flags, naga::valid::Capabilities::empty()).validate(&module)?;
    let spirv = naga::back::spv::write_vec(&module, &info, &Default::default(), None)?;

    // SPIR-V to the IR, and the IR to AGX machine code.
    let mut ir = tepui_spirv::translate(&spirv, &tepui_spirv::Options::default())?;
    let program = compiler::compile(&mut ir, &compiler::Options::default())?;
    println!(
        "{} bytes of machine code, {} instructions",
        program.code.len(),
        program.stats.instructions
    );

    // A virtual M1 with two buffers in its memory.
    let mut gpu = Machine::new(tepui_agx_model::Options { check: true, ..Default::default() })?;
    let input: Vec<f32> = (0..64u8).map(f32::from).collect();
    let a = gpu.buffer(4 * input.len())?;
    a.write_words(&input.iter().map(|x| x.to_bits()).collect::<Vec<_>>())?;
    let b = gpu.buffer(4 * input.len())?;
    let mut bindings = Bindings::default();
    bindings.buffers.insert((0, 0, 0), a);
    bindings.buffers.insert((0, 1, 0), b.clone());

    // Two workgroups of 32 threads.
    let stats = shader::run(&mut gpu, &program, &bindings, [2, 1, 1])?;
    println!("{} threads ran {} instructions", stats.threads, stats.instructions);
    for (x, word) in input.iter().zip(b.read_words()?) {
        let y = f32::from_bits(word);
        assert!((y - (x.sqrt() + 1.0)).abs() < 1e-5, "{x}: {y}");
    }
    println!("sqrt(a) + 1 is right for all {} elements", input.len());
    Ok(())
}
