//! Commands: transfers between buffers, dispatches of all kinds, and their ordering.

use ash::vk;

use crate::case::{Case, Output, Rule, Shader};
use crate::gpu::{Commands, During, Gpu, Kernel, Result};
use crate::number::Random;

fn bits(name: &str, data: &[u32], expected: &[u32]) -> Output {
    Output::cpu(name, data, expected, Rule::Bits)
}

/// `vkCmdFillBuffer`, `vkCmdCopyBuffer` and `vkCmdUpdateBuffer`.
fn transfers() -> Vec<Case> {
    let fill = Case::new("commands/fill", "vkCmdFillBuffer: ranges, and to the end", vec![], |b| {
        let gpu = b.gpu;
        let buffer = gpu.buffer(&[7u32; 5000])?;
        let ranges: [(u64, u64, u32); 5] = [
            (0, 4, 0xdead_beef),
            (16, 1024, 0),
            (2052, 36, 0x0102_0304),
            (4096, 8192, 0xffff_0000),
            (19996, vk::WHOLE_SIZE, 5),
        ];
        gpu.submit(|c| {
            for (offset, size, value) in ranges {
                // SAFETY: offsets and sizes are multiples of 4 inside the buffer.
                unsafe {
                    gpu.device.cmd_fill_buffer(c.handle, buffer.handle, offset, size, value);
                }
            }
        })?;
        let mut expected = [7u32; 5000];
        for (offset, size, value) in ranges {
            let end = size.saturating_add(offset).min(20000);
            expected[offset as usize / 4..end as usize / 4].fill(value);
        }
        Ok(vec![bits("filled", &buffer.read(), &expected)])
    });
    let copy = Case::new(
        "commands/copy",
        "vkCmdCopyBuffer: regions of every length and alignment",
        vec![],
        |b| {
            let gpu = b.gpu;
            let source: Vec<u8> =
                Random::integers(31, 5000).iter().flat_map(|w| w.to_le_bytes()).collect();
            let (from, to) = (gpu.buffer(&source)?, gpu.poisoned(20000)?);
            let regions: Vec<_> = [
                (0, 0, 1),
                (3, 2, 7),
                (16, 32, 64),
                (17, 129, 1000),
                (1001, 2000, 999),
                (4096, 4096, 4096),
                (2, 9001, 3),
                (12345, 10002, 5),
                (8, 12000, 8000),
            ]
            .map(|(src_offset, dst_offset, size)| vk::BufferCopy { src_offset, dst_offset, size })
            .to_vec();
            gpu.submit(|c| {
                // SAFETY: the regions are inside both buffers and do not overlap in `to`.
                unsafe { gpu.device.cmd_copy_buffer(c.handle, from.handle, to.handle, &regions) }
            })?;
            let mut expected = vec![0xa5u8; 20000];
            for r in &regions {
                let (s, d, n) = (r.src_offset as usize, r.dst_offset as usize, r.size as usize);
                expected[d..d + n].copy_from_slice(&source[s..s + n]);
            }
            Ok(vec![Output::cpu("copied", &to.read::<u8>(), &expected, Rule::Bits)])
        },
    );
    let update = Case::new("commands/update", "vkCmdUpdateBuffer: 4 bytes to 65536", vec![], |b| {
        let gpu = b.gpu;
        let data = Random::integers(32, 16384);
        let buffer = gpu.buffer(&vec![1u32; 20000])?;
        let bytes: Vec<u8> = data.iter().flat_map(|w| w.to_le_bytes()).collect();
        gpu.submit(|c| {
            // SAFETY: offsets and sizes are multiples of 4 inside the buffer.
            unsafe {
                let update = |offset, data: &[u8]| {
                    gpu.device.cmd_update_buffer(c.handle, buffer.handle, offset, data);
                };
                update(0, &bytes[..4]);
                update(20, &bytes[..60]);
                update(8000, &bytes);
            }
        })?;
        let mut expected = vec![1u32; 20000];
        expected[0] = data[0];
        expected[5..20].copy_from_slice(&data[..15]);
        expected[2000..2000 + 16384].copy_from_slice(&data);
        Ok(vec![bits("updated", &buffer.read(), &expected)])
    });
    vec![fill, copy, update]
}

/// The output of `ids.comp` for the workgroup of a thread; `counted` is the number of workgroups of its
/// dispatch.
fn ids_of(
    local: [u32; 3],
    groups: [u32; 3],
    counted: impl Fn([u32; 3]) -> [u32; 3],
) -> Vec<[u32; 4]> {
    let size: [u32; 3] = std::array::from_fn(|i| local[i] * groups[i]);
    let mut expected: Vec<[u32; 4]> = Vec::new();
    for thread in 0..size.iter().product::<u32>() {
        let me = [thread % size[0], thread / size[0] % size[1], thread / size[0] / size[1]];
        let group: [u32; 3] = std::array::from_fn(|i| me[i] / local[i]);
        let inside: [u32; 3] = std::array::from_fn(|i| me[i] % local[i]);
        let index = (inside[2] * local[1] + inside[1]) * local[0] + inside[0];
        let [x, y, z] = counted(group);
        expected.push([me[0], me[1], me[2], index]);
        expected.push([group[0], group[1], group[2], 77]);
        expected.push([inside[0], inside[1], inside[2], x * 10000 + y * 100 + z]);
    }
    expected
}

/// Every built-in variable of threads, for a local size and a number of workgroups.
fn ids(local: [u32; 3], groups: [u32; 3]) -> Case {
    let [x, y, z] = local;
    let shader = Shader::new("ids.comp").define("X", x).define("Y", y).define("Z", z);
    Case::new(
        format!("commands/ids_{x}x{y}x{z}"),
        format!("thread ids of {groups:?} workgroups of {local:?}"),
        vec![shader],
        move |bench| {
            let gpu = bench.gpu;
            let threads = local.iter().chain(&groups).product::<u32>();
            let result = gpu.output::<[u32; 4]>(3 * threads as usize)?;
            let kernel = gpu.kernel(&bench.spirv[0]).storage(&[&result]).build()?;
            gpu.run(&kernel, groups)?;
            let expected = ids_of(local, groups, |_| groups);
            Ok(vec![Output::cpu("ids", &result.read(), &expected, Rule::Bits)])
        },
    )
}

/// One grid of workgroups, executed by three dispatches with bases.
fn base() -> Case {
    let (local, groups) = ([4, 2, 3], [3, 4, 2]);
    let pieces = [([0, 0, 0], [2, 4, 1]), ([2, 0, 0], [1, 4, 1]), ([0, 0, 1], [3, 4, 1])];
    let [x, y, z] = local;
    let shader = Shader::new("ids.comp").define("X", x).define("Y", y).define("Z", z);
    Case::new(
        "commands/base",
        "vkCmdDispatchBase: thread ids of three dispatches that together fill a grid",
        vec![shader.define("GROUPS", "3, 4, 2")],
        move |bench| {
            let gpu = bench.gpu;
            let threads = local.iter().chain(&groups).product::<u32>();
            let result = gpu.output::<[u32; 4]>(3 * threads as usize)?;
            let kernel = gpu
                .kernel(&bench.spirv[0])
                .storage(&[&result])
                .flags(vk::PipelineCreateFlags::DISPATCH_BASE)
                .build()?;
            gpu.submit(|c| pieces.iter().for_each(|&(base, n)| c.dispatch_base(&kernel, base, n)))?;
            let expected = ids_of(local, groups, |group| {
                let inside = |p: &&([u32; 3], [u32; 3])| {
                    (0..3).all(|k| group[k] >= p.0[k] && group[k] < p.0[k] + p.1[k])
                };
                pieces.iter().find(inside).map_or([0; 3], |p| p.1)
            });
            Ok(vec![Output::cpu("ids", &result.read(), &expected, Rule::Bits)])
        },
    )
}

fn indirect() -> Case {
    Case::new(
        "commands/indirect",
        "vkCmdDispatchIndirect with arguments that a kernel wrote, one of them empty",
        vec![Shader::new("arguments.comp"), Shader::new("count.comp")],
        |bench| {
            let gpu = bench.gpu;
            let arguments = gpu.buffer(&[0u32; 32])?;
            let counts = gpu.buffer(&[0u32; 66])?;
            let write = gpu.kernel(&bench.spirv[0]).storage(&[&arguments]).build()?;
            let count = gpu.kernel(&bench.spirv[1]).storage(&[&counts]).build()?;
            gpu.submit(|c| {
                c.dispatch(&write, [1, 1, 1]);
                c.barrier();
                c.dispatch_indirect(&count, &arguments, 4);
                c.barrier();
                c.dispatch_indirect(&count, &arguments, 32);
                c.barrier();
                c.dispatch_indirect(&count, &arguments, 64);
            })?;
            let mut expected = [0u32; 66];
            expected[0] = (6 + 7) * 32;
            expected[1] = 7;
            (0..7).for_each(|x| expected[2 + x] += 1);
            (0..3).for_each(|x| expected[2 + x] += 1);
            (0..3).for_each(|x| expected[2 + 16 + x] += 1);
            Ok(vec![bits("counts", &counts.read(), &expected)])
        },
    )
}

fn conditional() -> Case {
    let about = "dispatches that words in memory let happen or not";
    let case = Case::new("commands/conditional", about, vec![Shader::new("count.comp")], |bench| {
        let gpu = bench.gpu;
        gpu.require(ash::ext::conditional_rendering::NAME)?;
        let words = gpu.buffer(&[7u32, 0, 0, 0x8000_0000])?;
        let arguments = gpu.buffer(&[2u32, 3, 1])?;
        let counts = gpu.buffer(&[0u32; 130])?;
        let count = gpu.kernel(&bench.spirv[0]).storage(&[&counts]).build()?;
        let mut expected = [0u32; 130];
        let mut add = |[x, y]: [usize; 2]| {
            expected[0] += 32 * (x * y) as u32;
            expected[1] = x as u32;
            for at in (0..y).flat_map(|y| (0..x).map(move |x| 2 + 16 * y + x)) {
                expected[at] += 1;
            }
        };
        // Fills clear the first word, which was not zero, and set the second, which was.
        let now = [0u32, 1, 0, 0x8000_0000];
        for (word, value) in now.iter().enumerate() {
            for inverted in [false, true] {
                if (*value != 0) != inverted {
                    add([4 + word, 1]);
                    add([2, 3]);
                }
            }
        }
        gpu.submit(|c| {
            // SAFETY: the buffer is live and has four words.
            unsafe {
                gpu.device.cmd_fill_buffer(c.handle, words.handle, 0, 4, 0);
                gpu.device.cmd_fill_buffer(c.handle, words.handle, 4, 4, 1);
            }
            c.barrier();
            for word in 0..4u32 {
                for inverted in [false, true] {
                    c.conditional(&words, u64::from(word), inverted, || {
                        c.dispatch(&count, [4 + word, 1, 1]);
                    });
                    c.barrier();
                    c.conditional(&words, u64::from(word), inverted, || {
                        c.dispatch_indirect(&count, &arguments, 0);
                    });
                    c.barrier();
                }
            }
        })?;
        Ok(vec![bits("counts", &counts.read(), &expected)])
    });
    case.without_honeykrisp()
}

/// Cases whose steps must run in order: x = x * a + b, with different ways of ordering.
fn chain(
    name: &str,
    about: &str,
    run: impl Fn(&Gpu, &Kernel, &[[u32; 2]]) -> Result<()> + Send + Sync + 'static,
) -> Case {
    let about = format!("dependent dispatches: {about}");
    Case::new(format!("commands/chain_{name}"), about, vec![Shader::new("step.comp")], move |b| {
        let start = Random::integers(33, 256);
        let steps: Vec<[u32; 2]> =
            Random::integers(34, 40).chunks(2).map(|s| [s[0] | 1, s[1]]).collect();
        let data = b.gpu.buffer(&start)?;
        let kernel = b.gpu.kernel(&b.spirv[0]).storage(&[&data]).push_bytes(8).build()?;
        run(b.gpu, &kernel, &steps)?;
        let end = |&x: &u32| steps.iter().fold(x, |x, &[a, b]| x.wrapping_mul(a).wrapping_add(b));
        Ok(vec![bits("x", &data.read(), &start.iter().map(end).collect::<Vec<_>>())])
    })
}

fn step(c: &Commands, kernel: &Kernel, constants: &[u32; 2]) {
    c.push(kernel, constants);
    c.dispatch(kernel, [4, 1, 1]);
}

fn chains() -> Vec<Case> {
    let barriers = chain("barriers", "barriers in one command buffer", |gpu, kernel, steps| {
        gpu.submit(|c| {
            for s in steps {
                step(c, kernel, s);
                c.barrier();
            }
        })
    });
    let submits = chain("submits", "a submission each", |gpu, kernel, steps| {
        steps.iter().try_for_each(|s| gpu.submit(|c| step(c, kernel, s)))
    });
    let events = chain("events", "vkCmdSetEvent and vkCmdWaitEvents", |gpu, kernel, steps| {
        let mut events = Vec::new();
        for _ in steps {
            events.push(gpu.event()?);
        }
        gpu.submit(|c| {
            let barriers = [vk::MemoryBarrier2::default()
                .src_stage_mask(vk::PipelineStageFlags2::COMPUTE_SHADER)
                .src_access_mask(vk::AccessFlags2::SHADER_WRITE)
                .dst_stage_mask(vk::PipelineStageFlags2::COMPUTE_SHADER)
                .dst_access_mask(vk::AccessFlags2::SHADER_READ | vk::AccessFlags2::SHADER_WRITE)];
            let dependency = vk::DependencyInfo::default().memory_barriers(&barriers);
            for (s, &event) in steps.iter().zip(&events) {
                step(c, kernel, s);
                // SAFETY: the events are live, and set before they are waited for.
                unsafe {
                    gpu.device.cmd_set_event2(c.handle, event, &dependency);
                    gpu.device.cmd_wait_events2(c.handle, &[event], &[dependency]);
                }
            }
        })?;
        for event in events {
            // SAFETY: the event is live.
            let set = unsafe { gpu.device.get_event_status(event) }.during("vkGetEventStatus")?;
            gpu.check(set, "an event that the GPU set does not look set to the host")?;
        }
        Ok(())
    });
    let timeline = chain(
        "timeline",
        "submissions that wait for each other's timeline values, all queued at once",
        |gpu, kernel, steps| {
            let semaphore = gpu.timeline(0)?;
            let mut buffers = Vec::new();
            for (i, s) in steps.iter().enumerate() {
                let buffer = gpu.record(|c| step(c, kernel, s))?;
                buffers.push(buffer);
                let (before, after) = ([i as u64], [i as u64 + 1]);
                let mut values = vk::TimelineSemaphoreSubmitInfo::default()
                    .wait_semaphore_values(&before)
                    .signal_semaphore_values(&after);
                let (commands, semaphores) = ([buffer], [semaphore]);
                let submit = vk::SubmitInfo::default()
                    .command_buffers(&commands)
                    .wait_semaphores(&semaphores)
                    .wait_dst_stage_mask(&[vk::PipelineStageFlags::ALL_COMMANDS])
                    .signal_semaphores(&semaphores)
                    .push_next(&mut values);
                // SAFETY: all that the submission names is live until the wait below.
                unsafe { gpu.device.queue_submit(gpu.queue(), &[submit], vk::Fence::null()) }
                    .during("vkQueueSubmit")?;
            }
            let (semaphores, last) = ([semaphore], [steps.len() as u64]);
            let wait = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&last);
            // SAFETY: the semaphore is live.
            unsafe {
                gpu.device.wait_semaphores(&wait, 300_000_000_000).during("vkWaitSemaphores")?;
                gpu.device.free_command_buffers(gpu.command_pool, &buffers);
            }
            Ok(())
        },
    );
    let secondary = chain(
        "secondary",
        "secondary command buffers, each with one step",
        |gpu, kernel, steps| {
            let allocate = vk::CommandBufferAllocateInfo::default()
                .command_pool(gpu.command_pool)
                .level(vk::CommandBufferLevel::SECONDARY)
                .command_buffer_count(steps.len() as u32);
            // SAFETY: the pool is live.
            let buffers = unsafe { gpu.device.allocate_command_buffers(&allocate) }
                .during("vkAllocateCommandBuffers")?;
            let inherit = vk::CommandBufferInheritanceInfo::default();
            let begin = vk::CommandBufferBeginInfo::default().inheritance_info(&inherit);
            for (&handle, s) in buffers.iter().zip(steps) {
                let c = Commands { gpu, handle };
                // SAFETY: the command buffer is new.
                unsafe { gpu.device.begin_command_buffer(handle, &begin) }
                    .during("vkBeginCommandBuffer")?;
                step(&c, kernel, s);
                c.barrier();
                // SAFETY: the command buffer is being recorded.
                unsafe { gpu.device.end_command_buffer(handle) }.during("vkEndCommandBuffer")?;
            }
            // SAFETY: the secondary command buffers are complete, and freed after the wait.
            gpu.submit(|c| unsafe { gpu.device.cmd_execute_commands(c.handle, &buffers) })?;
            // SAFETY: nothing executes them any more.
            unsafe { gpu.device.free_command_buffers(gpu.command_pool, &buffers) };
            Ok(())
        },
    );
    vec![barriers, submits, events, timeline, secondary]
}

/// Command buffers in submissions of several: the last one of a submission is not the last one of another, so what follows each
/// differs. Each ends with a barrier, for the next one.
fn buffers() -> Case {
    const STEPS: [[u32; 2]; 3] = [[5, 9], [3, 1], [7, 2]];
    const SUBMISSIONS: [&[usize]; 6] = [&[0, 1, 2], &[1], &[2, 0], &[0], &[1, 2], &[2, 1, 0]];
    let about = "dependent dispatches: command buffers of a submission, in several orders";
    Case::new("commands/buffers", about, vec![Shader::new("step.comp")], |b| {
        let (gpu, start) = (b.gpu, Random::integers(33, 256));
        let data = gpu.buffer(&start)?;
        let kernel = gpu.kernel(&b.spirv[0]).storage(&[&data]).push_bytes(8).build()?;
        let mut all = Vec::new();
        for s in &STEPS {
            all.push(gpu.record(|c| {
                step(c, &kernel, s);
                c.barrier();
            })?);
        }
        let mut expected = start;
        for order in SUBMISSIONS {
            let commands: Vec<_> = order.iter().map(|&k| all[k]).collect();
            let submit = [vk::SubmitInfo::default().command_buffers(&commands)];
            let fence = gpu.fence()?;
            // SAFETY: the command buffers are complete, and none of them is pending.
            unsafe { gpu.device.queue_submit(gpu.queue(), &submit, fence) }
                .during("vkQueueSubmit")?;
            gpu.wait(fence)?;
            for [a, b] in order.iter().map(|&k| STEPS[k]) {
                expected.iter_mut().for_each(|x| *x = x.wrapping_mul(a).wrapping_add(b));
            }
        }
        // SAFETY: nothing executes them any more.
        unsafe { gpu.device.free_command_buffers(gpu.command_pool, &all) };
        Ok(vec![bits("x", &data.read(), &expected)])
    })
}

fn timestamps() -> Case {
    Case::new(
        "commands/timestamps",
        "timestamps around work: available, in order, the same to host and GPU",
        vec![Shader::new("step.comp")],
        |b| {
            let gpu = b.gpu;
            let data = gpu.buffer(&[1u32; 256])?;
            let kernel = gpu.kernel(&b.spirv[0]).storage(&[&data]).push_bytes(8).build()?;
            let pool = gpu.query_pool(vk::QueryType::TIMESTAMP, 4)?;
            let copied = gpu.output::<u64>(8)?;
            gpu.submit(|c| {
                let stamp = |query| {
                    let stage = vk::PipelineStageFlags::BOTTOM_OF_PIPE;
                    // SAFETY: the pool has this query, and it was reset.
                    unsafe { gpu.device.cmd_write_timestamp(c.handle, stage, pool, query) }
                };
                c.reset_queries(pool, 4);
                for query in 0..4 {
                    stamp(query);
                    step(c, &kernel, &[3, 1]);
                    c.barrier();
                }
                let flags = vk::QueryResultFlags::TYPE_64
                    | vk::QueryResultFlags::WAIT
                    | vk::QueryResultFlags::WITH_AVAILABILITY;
                // SAFETY: the buffer has room for four values with their availability.
                unsafe {
                    let device = &gpu.device;
                    let to = copied.handle;
                    device.cmd_copy_query_pool_results(c.handle, pool, 0, 4, to, 0, 16, flags);
                }
            })?;
            let mut host = [[0u64; 2]; 4];
            let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WITH_AVAILABILITY;
            // SAFETY: the pool has four queries.
            unsafe { gpu.device.get_query_pool_results(pool, 0, &mut host, flags) }
                .during("vkGetQueryPoolResults")?;
            let copied: Vec<u64> = copied.read();
            let expected: Vec<u64> = host.iter().flatten().copied().collect();
            let ordered = host.windows(2).all(|w| w[0][0] <= w[1][0]) && host[0][0] > 0;
            let available = host.iter().all(|h| h[1] != 0);
            Ok(vec![
                Output::cpu("copied", &copied, &expected, Rule::Bits),
                bits("ordered, available", &[ordered.into(), available.into()], &[1, 1]),
            ])
        },
    )
}

fn push() -> Case {
    Case::new(
        "commands/push_constants",
        "128 bytes of 8, 16, 32 and 64 bits, partly by index",
        vec![Shader::new("push.comp")],
        |b| {
            let words = Random::integers(35, 32);
            let result = b.gpu.output::<u32>(64)?;
            let kernel = b.gpu.kernel(&b.spirv[0]).storage(&[&result]).push_bytes(128).build()?;
            b.gpu.submit(|c| {
                c.push(&kernel, &words);
                c.dispatch(&kernel, [2, 1, 1]);
            })?;
            // v is aligned to 16 bytes; w follows it; the table is at byte 40.
            let table = &words[10..32];
            let expected: Vec<u32> = (0..64)
                .map(|i| match i {
                    0 | 1 => words[i],
                    2 => words[2] & 0xffff,
                    3 => words[2] >> 16,
                    4 => words[3],
                    5 => words[4] ^ words[7],
                    6 => words[8],
                    7 => words[9],
                    _ => table[(i - 8) % 22].wrapping_add(table[i * 7 % 22]),
                })
                .collect();
            Ok(vec![bits("r", &result.read(), &expected)])
        },
    )
}

fn specialization() -> Case {
    Case::new(
        "commands/specialization",
        "constants for local size, arrays, loops and arithmetic",
        vec![Shader::new("specialize.comp")],
        |b| {
            let mut outputs = Vec::new();
            for (size, length, offset, factor, flip) in
                [(32u32, 3u32, -1i32, 1f32, false), (96, 10, 7, 0.5, true), (5, 1, 100, -2.0, true)]
            {
                let result = b.gpu.output::<u32>(2 * size as usize)?;
                let constants = [size, length, offset as u32, factor.to_bits(), u32::from(flip)];
                let kernel =
                    b.gpu.kernel(&b.spirv[0]).constants(&constants).storage(&[&result]).build()?;
                b.gpu.run(&kernel, [2, 1, 1])?;
                let derived = 2 * length + 1;
                let value = |i: u32| {
                    let sum: u32 = (0..length).map(|k| (i + k) % derived * 3).sum();
                    let x = sum as i32 + offset;
                    (if flip { -x } else { x }) as f32 * factor
                };
                let expected: Vec<u32> =
                    (0..2 * size).map(|i| value(i % size).to_bits() ^ size).collect();
                outputs.push(bits(&format!("local size {size}"), &result.read(), &expected));
            }
            Ok(outputs)
        },
    )
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = transfers();
    cases.extend([
        ids([1, 1, 1], [5, 1, 1]),
        ids([32, 1, 1], [4, 1, 1]),
        ids([64, 1, 1], [3, 2, 2]),
        ids([8, 8, 1], [3, 3, 1]),
        ids([5, 3, 2], [3, 2, 2]),
        ids([1024, 1, 1], [2, 1, 1]),
        ids([4, 4, 64], [1, 2, 1]),
        ids([33, 1, 1], [1, 3, 1]),
        base(),
        indirect(),
        conditional(),
        buffers(),
        timestamps(),
        push(),
        specialization(),
    ]);
    cases.extend(chains());
    cases
}
