//! Tests of programs with the library preloaded. Each test starts this test program again with the
//! library in `LD_PRELOAD`; the functions of the module `client` run there.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The path of the library that cargo built for this package.
fn library() -> PathBuf {
    let own = std::env::current_exe().expect("this program has a path");
    let library = own.with_file_name("libtepui_drm_shim.so");
    assert!(
        library.is_file(),
        "{} is missing: cargo builds it with this test; `cargo build -p tepui-shim` does too",
        library.display()
    );
    library
}

/// A command with the library preloaded and the environment that `tepui shim` sets.
fn preloaded(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("LD_PRELOAD", library()).env("TEPUI_GPU", "m1");
    command
}

fn checked(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    stdout
}

/// A command that runs one of the ignored tests of `client` with the library preloaded.
fn client_command(name: &str) -> Command {
    let own = std::env::current_exe().expect("this program has a path");
    let mut command = preloaded(own.to_str().expect("a path in UTF-8"));
    command.args(["--exact", "--ignored", "--nocapture", &format!("client::{name}")]);
    command
}

fn run_client(name: &str) {
    let stdout = checked(&client_command(name).output().expect("this program starts"));
    assert!(stdout.contains("1 passed"), "{stdout}");
}

macro_rules! clients {
    ($($name:ident)*) => { $(
        #[test]
        fn $name() {
            run_client(stringify!($name));
        }
    )* };
}

clients! {
    the_node_is_found_by_its_paths
    directories_are_opened_and_hold_the_node
    a_buffer_is_bound_mapped_and_used_by_a_submission
    mappings_outlive_handles_and_follow_mmaps_rules
    descriptors_are_the_nodes_until_the_last_is_closed
    buffers_and_fences_travel_as_descriptors
    children_open_the_node_themselves
    threads_may_use_one_node
    everything_else_passes_through
}

#[test]
fn programs_see_the_node_and_their_output_is_their_own() {
    let script = "test -c /dev/dri/renderD* && cat /sys/class/drm/renderD*/device/uevent";
    let output = preloaded("sh").args(["-c", script]).output().expect("there is a shell");
    // A shell's globs read directories, `cat` opens the file, and `test -c` calls `stat`.
    assert_eq!(
        checked(&output),
        "DRIVER=asahi\nOF_NAME=gpu\nOF_FULLNAME=/soc/gpu@206400000\n\
         OF_COMPATIBLE_0=apple,agx-g13g\nOF_COMPATIBLE_N=1\n"
    );
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_fault_is_reported_and_can_end_the_program() {
    let output = client_command("a_control_stream_faults").output().expect("this program starts");
    checked(&output);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let [head, place, unit, what, ..] = &stderr.lines().collect::<Vec<_>>()[..] else {
        panic!("{stderr}")
    };
    assert_eq!(*head, "tepui: GPU fault on Apple M1 (G13G B0); the queue is lost");
    assert_eq!(*place, "  where   compute command 0 of submission 1, queue 1 of open file 1");
    assert!(unit.starts_with("  unit    ") && what.starts_with("  what    "), "{stderr}");

    let mut command = client_command("a_control_stream_faults");
    let output = command.env("TEPUI_ABORT_ON_FAULT", "1").output().expect("this program starts");
    assert_eq!(output.status.signal(), Some(libc::SIGABRT));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with(head));
}

#[test]
fn requests_can_be_logged_and_refusals_explained() {
    let mut command = client_command("a_request_is_refused");
    command.envs([("TEPUI_LOG_CALLS", "1"), ("TEPUI_VERBOSE", "1")]);
    let output = command.output().expect("this program starts");
    checked(&output);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        stderr,
        "tepui: DRM_IOCTL_ASAHI_GEM_CREATE of open file 1: Invalid argument (os error 22): size is 0\n\
         tepui: file 1: DRM_IOCTL_ASAHI_GEM_CREATE{size: 0, flags: 0, vm_id: 0xb, handle: 0, pad: 0} = \
         Invalid argument (os error 22)\n"
    );
}

#[test]
fn without_a_gpu_in_the_environment_nothing_happens() {
    let script = "ls /dev/dri 2>/dev/null; exit 3";
    let run = |command: &mut Command| {
        let output = command.args(["-c", script]).output().expect("there is a shell");
        (output.status.code(), output.stdout, output.stderr)
    };
    let plain = run(&mut Command::new("sh"));
    assert_eq!(run(preloaded("sh").env_remove("TEPUI_GPU")), plain);
    let (status, stdout, stderr) = run(preloaded("sh").env("TEPUI_GPU", "voodoo"));
    assert_eq!((status, stdout), (plain.0, plain.1));
    // Each of the two programs accesses `/dev/dri` and prints the message once; the script drops
    // the errors of the second.
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(
        stderr.matches("no such GPU; there are m1, m1-pro, m1-max, m2").count() <= 2,
        "{stderr}"
    );
}

#[test]
fn the_library_exports_only_interposed_functions() {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library()).output();
    let symbols = checked(&output.expect("binutils' nm"));
    let names: Vec<&str> = symbols.lines().filter_map(|line| line.split(' ').next_back()).collect();
    let expected = "__fxstat __fxstat64 __lxstat __lxstat64 __open64_2 __open_2 __openat64_2 \
        __openat_2 __readlink_chk __realpath_chk __xstat __xstat64 access canonicalize_file_name \
        close closedir dirfd dup dup2 dup3 faccessat fcntl fcntl64 fdopendir fopen fopen64 fstat fstat64 \
        fstatat fstatat64 ioctl lstat lstat64 mmap mmap64 open open64 openat openat64 opendir \
        readdir readdir64 readlink readlinkat realpath rewinddir scandir scandir64 seekdir stat stat64 statx telldir";
    assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
}

mod client {
    use std::ffi::{CString, c_int, c_void};
    use std::fs;
    use std::io::Read;
    use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
    use std::os::unix::fs::{FileTypeExt, MetadataExt};

    use tepui_drm::uapi::asahi::{self as uapi, Ioctl};
    use tepui_drm::uapi::{IoctlInfo, KernelStruct, core};

    const PAGE: usize = 1 << 14;

    /// The errno of a failed call.
    fn errno() -> i32 {
        std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
    }

    /// The node's path, as a program finds it.
    fn node_path() -> String {
        let entries = fs::read_dir("/dev/dri").expect("/dev/dri can be listed");
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let name = names.filter(|name| name.starts_with("renderD")).max().expect("a render node");
        format!("/dev/dri/{name}")
    }

    /// Names in a directory that is open.
    fn names_in(directory: &OwnedFd) -> Vec<String> {
        let copy = directory.try_clone().expect("the descriptor is duplicated");
        // SAFETY: an open directory, which the stream takes over; entries are valid until the next.
        unsafe {
            let stream = libc::fdopendir(copy.into_raw_fd());
            assert!(!stream.is_null(), "{}", errno());
            let mut names = Vec::new();
            while let Some(entry) = libc::readdir(stream).as_ref() {
                let name = std::ffi::CStr::from_ptr(entry.d_name.as_ptr());
                names.push(name.to_str().expect("UTF-8").to_owned());
            }
            assert_eq!(libc::closedir(stream), 0);
            names
        }
    }

    #[test]
    #[ignore = "runs with the library preloaded"]
    fn directories_are_opened_and_hold_the_node() {
        let node = node_path();
        let (dri, name) = node.rsplit_once('/').expect("an absolute path");
        let device = format!("/sys/class/drm/{name}/device");
        let open = |at: c_int, path: &str, flags: c_int| {
            let path = CString::new(path).expect("no zeros");
            // SAFETY: a C string.
            let fd = unsafe { libc::openat(at, path.as_ptr(), flags | libc::O_CLOEXEC) };
            // SAFETY: a descriptor that was opened just now.
            (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) }).ok_or_else(errno)
        };
        let here = libc::AT_FDCWD;
        for flags in [libc::O_DIRECTORY, 0] {
            let directory = open(here, dri, flags).expect("the directory is opened");
            assert!(fs::File::from(directory.try_clone().unwrap()).metadata().unwrap().is_dir());
            assert!(names_in(&directory).contains(&name.to_owned()));
            // The node by its name in the directory, also of a copy of the descriptor.
            let copy = directory.try_clone().unwrap();
            let opened = open(copy.as_raw_fd(), name, libc::O_RDWR).expect("the node is opened");
            let metadata = fs::File::from(opened).metadata().unwrap();
            assert!(metadata.file_type().is_char_device());
            assert_eq!(open(copy.as_raw_fd(), "renderD9", libc::O_RDWR).err(), Some(libc::ENOENT));
        }
        // Directories of sysfs that the machine does not have, one in the other.
        let directory = open(here, &device, libc::O_DIRECTORY).expect("the directory is opened");
        assert!(names_in(&directory).contains(&"uevent".to_owned()));
        let mut text = String::new();
        let file =
            open(directory.as_raw_fd(), "uevent", libc::O_RDONLY).expect("the file is opened");
        fs::File::from(file).read_to_string(&mut text).unwrap();
        assert!(text.starts_with("DRIVER=asahi\n"), "{text}");
        let inner =
            open(directory.as_raw_fd(), "drm", libc::O_DIRECTORY).expect("a directory in it");
        assert_eq!(names_in(&inner).iter().filter(|n| *n == name).count(), 1);
        assert_eq!(open(here, &node, libc::O_DIRECTORY).err(), Some(libc::ENOTDIR));
        assert_eq!(open(here, &device, libc::O_WRONLY).err(), Some(libc::EISDIR));
    }

    unsafe extern "C" {
        fn scandir(
            path: *const libc::c_char,
            list: *mut *mut *mut libc::dirent,
            filter: Option<unsafe extern "C" fn(*const libc::dirent) -> c_int>,
            compare: unsafe extern "C" fn(
                *mut *const libc::dirent,
                *mut *const libc::dirent,
            ) -> c_int,
        ) -> c_int;
        fn alphasort(a: *mut *const libc::dirent, b: *mut *const libc::dirent) -> c_int;
    }

    /// A filter for `scandir`.
    unsafe extern "C" fn is_node(entry: *const libc::dirent) -> c_int {
        // SAFETY: `scandir` passes an entry.
        unsafe { ((*entry).d_name[0] != b'.' as libc::c_char).into() }
    }

    struct Node(OwnedFd);

    impl Node {
        fn open() -> Node {
            let path = CString::new(node_path()).unwrap();
            // SAFETY: a C string.
            let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
            assert!(fd >= 0, "open: {}", errno());
            // SAFETY: fresh from `open`.
            Node(unsafe { OwnedFd::from_raw_fd(fd) })
        }

        fn fd(&self) -> c_int {
            self.0.as_raw_fd()
        }

        fn vm(&self) -> u32 {
            let mut args =
                uapi::VmCreate { kernel_start: 1 << 38, kernel_end: 1 << 39, ..Default::default() };
            call(self.fd(), Ioctl::VmCreate, &mut args).unwrap();
            args.vm_id
        }

        fn gem(&self, pages: usize, flags: u32, vm_id: u32) -> u32 {
            let size = (pages * PAGE) as u64;
            let mut args = uapi::GemCreate { size, flags, vm_id, ..Default::default() };
            call(self.fd(), Ioctl::GemCreate, &mut args).unwrap();
            args.handle
        }

        fn close_gem(&self, handle: u32) {
            let mut args = core::GemClose { handle, pad: 0 };
            call_info(self.fd(), core::Ioctl::GemClose.info(), &mut args).unwrap();
        }

        fn offset(&self, handle: u32) -> i64 {
            let mut args = uapi::GemMmapOffset { handle, ..Default::default() };
            call(self.fd(), Ioctl::GemMmapOffset, &mut args).unwrap();
            args.offset as i64
        }

        fn map(&self, handle: u32, pages: usize) -> *mut u32 {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            map(
                std::ptr::null_mut(),
                pages * PAGE,
                access,
                libc::MAP_SHARED,
                self.fd(),
                self.offset(handle),
            )
            .expect("the buffer can be mapped")
        }

        fn wait(&self, object: u32) {
            let mut args = core::SyncobjWait {
                handles: (&raw const object) as u64,
                count_handles: 1,
                timeout_nsec: i64::MAX,
                ..Default::default()
            };
            call_info(self.fd(), core::Ioctl::SyncobjWait.info(), &mut args).unwrap();
        }

        fn syncobj(&self, flags: u32) -> u32 {
            let mut args = core::SyncobjCreate { flags, handle: 0 };
            call_info(self.fd(), core::Ioctl::SyncobjCreate.info(), &mut args).unwrap();
            args.handle
        }
    }

    fn call_info<T: KernelStruct>(fd: c_int, info: &IoctlInfo, args: &mut T) -> Result<(), i32> {
        // SAFETY: the argument has the size that the request word says.
        let result = unsafe { libc::ioctl(fd, info.request.0.into(), std::ptr::from_mut(args)) };
        if result == 0 { Ok(()) } else { Err(errno()) }
    }

    fn call<T: KernelStruct>(fd: c_int, ioctl: Ioctl, args: &mut T) -> Result<(), i32> {
        call_info(fd, ioctl.info(), args)
    }

    fn map(
        at: *mut c_void,
        length: usize,
        prot: c_int,
        flags: c_int,
        fd: c_int,
        offset: i64,
    ) -> Result<*mut u32, i32> {
        // SAFETY: a fresh mapping, or one over memory of the test's own.
        let address = unsafe { libc::mmap(at, length, prot, flags, fd, offset) };
        if address == libc::MAP_FAILED { Err(errno()) } else { Ok(address.cast()) }
    }

    #[test]
    #[ignore = "runs under the library"]
    fn the_node_is_found_by_its_paths() {
        let path = node_path();
        let metadata = fs::metadata(&path).unwrap();
        assert!(metadata.file_type().is_char_device());
        let (major, minor) = (libc::major(metadata.rdev()), libc::minor(metadata.rdev()));
        assert_eq!((major, path.as_str()), (226, format!("/dev/dri/renderD{minor}").as_str()));
        let class = format!("/sys/dev/char/{major}:{minor}");
        assert_eq!(
            fs::canonicalize(format!("{class}/device")).unwrap().to_str(),
            Some("/sys/devices/platform/soc/206400000.gpu")
        );
        let subsystem = fs::read_link(format!("{class}/device/subsystem")).unwrap();
        assert!(subsystem.ends_with("platform"));
        let uevent = fs::read_to_string(format!("{class}/device/uevent")).unwrap();
        assert!(uevent.contains("OF_COMPATIBLE_0=apple,agx-g13g\n"));
        let number = fs::read_to_string(format!("{class}/dev")).unwrap();
        assert_eq!(number, format!("{major}:{minor}\n"));
        let names: Vec<_> = fs::read_dir(format!("{class}/device/drm"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(names, [format!("renderD{minor}")]);
        assert!(fs::symlink_metadata(&class).unwrap().file_type().is_symlink());
        assert!(fs::metadata(&class).unwrap().is_dir());
        assert!(fs::metadata(format!("{class}/nothing")).is_err());
        let refused = fs::OpenOptions::new().write(true).open(format!("{class}/dev"));
        assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::EACCES));
        // By the descriptor, and by the functions of C.
        let node = Node::open();
        // SAFETY: plain structures, C strings.
        unsafe {
            let mut stat: libc::stat = std::mem::zeroed();
            assert_eq!(libc::fstat(node.fd(), &mut stat), 0);
            assert_eq!(stat.st_mode & libc::S_IFMT, libc::S_IFCHR);
            assert_eq!(stat.st_rdev, metadata.rdev());
            let path = CString::new(path).unwrap();
            assert_eq!(libc::access(path.as_ptr(), libc::R_OK | libc::W_OK), 0);
            assert_eq!(libc::access(path.as_ptr(), libc::X_OK), -1);
            let file = CString::new(format!("{class}/device/uevent")).unwrap();
            let file = libc::fopen(file.as_ptr(), c"re".as_ptr());
            assert_eq!(libc::fgetc(file), i32::from(b'D'));
            libc::fclose(file);
            let dir = libc::opendir(c"/dev/dri".as_ptr());
            let before = libc::telldir(dir);
            let count = |dir| std::iter::from_fn(|| libc::readdir(dir).as_ref()).count();
            let all = count(dir);
            assert!(all >= 3, ". .. renderD");
            libc::seekdir(dir, before);
            assert_eq!(count(dir), all);
            libc::rewinddir(dir);
            assert_eq!(count(dir), all);
            assert_eq!(libc::closedir(dir), 0);
            let mut list = std::ptr::null_mut();
            let found = scandir(c"/dev/dri".as_ptr(), &mut list, Some(is_node), alphasort);
            assert_eq!(found as usize, all - 2);
            let names: Vec<_> = (0..found as usize)
                .map(|index| {
                    std::ffi::CStr::from_ptr((**list.add(index)).d_name.as_ptr()).to_owned()
                })
                .collect();
            assert!(
                names.is_sorted() && names.contains(&CString::new(&path.to_bytes()[9..]).unwrap())
            );
            for index in 0..found as usize {
                libc::free((*list.add(index)).cast());
            }
            libc::free(list.cast());
        }
        let mut name = [0u8; 8];
        let mut version =
            core::Version { name_len: 8, name: name.as_mut_ptr() as u64, ..Default::default() };
        call_info(node.fd(), core::Ioctl::Version.info(), &mut version).unwrap();
        assert_eq!(&name[..version.name_len as usize], b"asahi");
    }

    #[test]
    #[ignore = "runs under the library"]
    fn a_request_is_refused() {
        let node = Node::open();
        let mut args = uapi::GemCreate { vm_id: 11, ..Default::default() };
        assert_eq!(call(node.fd(), Ioctl::GemCreate, &mut args), Err(libc::EINVAL));
    }

    /// A compute command in a command buffer.
    fn compute(command: &uapi::CmdCompute) -> Vec<u8> {
        let header = uapi::CmdHeader {
            cmd_type: uapi::CMD_COMPUTE,
            size: 64,
            vdm_barrier: uapi::BARRIER_NONE,
            cdm_barrier: 0,
        };
        [bytemuck::bytes_of(&header), bytemuck::bytes_of(command)].concat()
    }

    #[test]
    #[ignore = "runs under the library"]
    fn a_control_stream_faults() {
        let node = Node::open();
        let mut queue = uapi::QueueCreate { vm_id: node.vm(), ..Default::default() };
        call(node.fd(), Ioctl::QueueCreate, &mut queue).unwrap();
        let commands =
            compute(&uapi::CmdCompute { cdm_ctrl_stream_base: 1 << 37, ..Default::default() });
        let done = node.syncobj(0);
        let sync = uapi::Sync { handle: done, ..Default::default() };
        let mut submit = uapi::Submit {
            syncs: (&raw const sync) as u64,
            cmdbuf: commands.as_ptr() as u64,
            queue_id: queue.queue_id,
            out_sync_count: 1,
            cmdbuf_size: commands.len() as u32,
            ..Default::default()
        };
        call(node.fd(), Ioctl::Submit, &mut submit).unwrap();
        node.wait(done);
        assert_eq!(call(node.fd(), Ioctl::Submit, &mut submit), Err(libc::EIO), "lost");
        // Waits still end.
        node.wait(done);
    }

    #[test]
    #[ignore = "runs under the library"]
    fn a_buffer_is_bound_mapped_and_used_by_a_submission() {
        let node = Node::open();
        let vm_id = node.vm();
        let handle = node.gem(1, uapi::GEM_VM_PRIVATE, vm_id);
        let words = node.map(handle, 1);
        // CDM stream terminate: a stream that does nothing.
        // source: cmdbuf.xml, "CDM Stream Terminate"
        // SAFETY: the mapping has a page.
        unsafe { words.write(2 << 29) };
        let op = uapi::GemBindOp {
            flags: uapi::BIND_READ,
            handle,
            offset: 0,
            range: PAGE as u64,
            addr: 1 << 37,
        };
        let mut bind = uapi::VmBind {
            vm_id,
            num_binds: 1,
            stride: size_of_val(&op) as u32,
            userptr: (&raw const op) as u64,
            ..Default::default()
        };
        call(node.fd(), Ioctl::VmBind, &mut bind).unwrap();
        let mut queue = uapi::QueueCreate { vm_id, ..Default::default() };
        call(node.fd(), Ioctl::QueueCreate, &mut queue).unwrap();
        let commands = compute(&uapi::CmdCompute {
            cdm_ctrl_stream_base: op.addr,
            cdm_ctrl_stream_end: op.addr + 8,
            ..Default::default()
        });
        let done = node.syncobj(0);
        let sync = uapi::Sync { handle: done, ..Default::default() };
        let mut submit = uapi::Submit {
            syncs: (&raw const sync) as u64,
            cmdbuf: commands.as_ptr() as u64,
            queue_id: queue.queue_id,
            out_sync_count: 1,
            cmdbuf_size: commands.len() as u32,
            ..Default::default()
        };
        call(node.fd(), Ioctl::Submit, &mut submit).unwrap();
        node.wait(done);
        // There was no fault: the queue accepts more work.
        submit.out_sync_count = 0;
        call(node.fd(), Ioctl::Submit, &mut submit).unwrap();
        submit.queue_id = 9;
        assert_eq!(call(node.fd(), Ioctl::Submit, &mut submit), Err(libc::ENOENT));
    }

    #[test]
    #[ignore = "runs under the library"]
    fn mappings_outlive_handles_and_follow_mmaps_rules() {
        let node = Node::open();
        let vm_id = node.vm();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // Buffers with and without their own file.
        for flags in [0, uapi::GEM_VM_PRIVATE] {
            let handle = node.gem(2, flags, vm_id);
            let offset = node.offset(handle);
            let (one, two) = (node.map(handle, 2), node.map(handle, 2));
            // SAFETY: mapped as far as it is used.
            unsafe {
                one.write(7);
                one.add(PAGE / 4).write(8);
                assert_eq!(two.read(), 7);
            }
            let null = std::ptr::null_mut();
            let refused = [
                (3 * PAGE, libc::MAP_SHARED, offset),
                (PAGE, libc::MAP_SHARED, offset + PAGE as i64),
                (PAGE, libc::MAP_PRIVATE, offset),
                (PAGE, libc::MAP_SHARED, 0),
            ];
            for (length, flags, offset) in refused {
                assert_eq!(map(null, length, access, flags, node.fd(), offset), Err(libc::EINVAL));
            }
            let other = Node::open();
            assert_eq!(
                map(null, PAGE, access, libc::MAP_SHARED, other.fd(), offset),
                Err(libc::EACCES)
            );
            // Over an existing mapping, read-only, and with MAP_FIXED_NOREPLACE over a mapping.
            let fixed = libc::MAP_SHARED | libc::MAP_FIXED;
            let place = two.cast();
            let three = map(place, 2 * PAGE, libc::PROT_READ, fixed, node.fd(), offset).unwrap();
            assert_eq!(three, two);
            // SAFETY: mapped as far as it is used.
            assert_eq!(unsafe { three.add(PAGE / 4).read() }, 8);
            let careful = libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE;
            assert_eq!(map(place, PAGE, access, careful, node.fd(), offset), Err(libc::EEXIST));
            node.close_gem(handle);
            // SAFETY: still mapped.
            unsafe {
                one.write(9);
                assert_eq!(three.read(), 9);
                assert_eq!(libc::munmap(one.cast(), 2 * PAGE), 0);
                assert_eq!(three.read(), 9);
                assert_eq!(libc::munmap(three.cast(), 2 * PAGE), 0);
            }
            assert_eq!(
                map(null, PAGE, access, libc::MAP_SHARED, node.fd(), offset),
                Err(libc::EINVAL)
            );
        }
    }

    #[test]
    #[ignore = "runs under the library"]
    fn descriptors_are_the_nodes_until_the_last_is_closed() {
        let node = Node::open();
        assert_eq!(node.vm(), 1);
        let copy = Node(node.0.try_clone().unwrap());
        assert_eq!(copy.vm(), 2, "the same open file");
        drop(node);
        assert_eq!(copy.vm(), 3);
        let handle = copy.gem(1, 0, 0);
        let words = copy.map(handle, 1);
        // SAFETY: mapped.
        unsafe { words.write(1) };
        let other = Node::open();
        assert_eq!(other.vm(), 1, "another open file");
        // `dup2` over a node closes it; the number then belongs to the other file.
        // SAFETY: descriptors of this test.
        unsafe {
            assert_eq!(libc::dup2(copy.fd(), other.fd()), other.fd());
            assert_eq!(other.vm(), 4);
            // A number that was the node's and is now a file's is not a node.
            let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            assert_eq!(libc::dup2(null, other.fd()), other.fd());
            let mut stat: libc::stat = std::mem::zeroed();
            libc::fstat(other.fd(), &mut stat);
            assert_eq!(libc::major(stat.st_rdev), 1);
            let mut args = uapi::VmDestroy::default();
            assert_eq!(call(other.fd(), Ioctl::VmDestroy, &mut args), Err(libc::ENOTTY));
            // Closed without the library's knowledge.
            let number = copy.fd();
            assert_eq!(libc::syscall(libc::SYS_close, number), 0);
            assert_eq!(libc::dup2(null, number), number);
            assert_eq!(call(number, Ioctl::VmDestroy, &mut args), Err(libc::ENOTTY));
            let access = libc::PROT_READ;
            assert!(map(std::ptr::null_mut(), PAGE, access, libc::MAP_PRIVATE, number, 0).is_err());
        }
    }

    #[test]
    #[ignore = "runs under the library"]
    fn buffers_and_fences_travel_as_descriptors() {
        let (node, other) = (Node::open(), Node::open());
        let handle = node.gem(2, 0, 0);
        let words = node.map(handle, 2);
        let mut prime =
            core::PrimeHandle { handle, flags: libc::O_CLOEXEC as u32, ..Default::default() };
        call_info(node.fd(), core::Ioctl::PrimeHandleToFd.info(), &mut prime).unwrap();
        let mut import = core::PrimeHandle { fd: prime.fd, ..Default::default() };
        call_info(other.fd(), core::Ioctl::PrimeFdToHandle.info(), &mut import).unwrap();
        let there = other.map(import.handle, 2);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let direct =
            map(std::ptr::null_mut(), 2 * PAGE, access, libc::MAP_SHARED, prime.fd, 0).unwrap();
        // SAFETY: mapped.
        unsafe {
            words.write(5);
            assert_eq!((there.read(), direct.read()), (5, 5));
            assert_eq!(libc::lseek(prime.fd, 0, libc::SEEK_END), 2 * PAGE as i64);
        }
        // Implicit synchronisation: a sync file of the buffer's users, which are none.
        let mut args = tepui_drm::dma_buf::DmaBufSyncFile { flags: 3, fd: -1 };
        let export = 3u64 << 30 | 8 << 16 | u64::from(b'b') << 8 | 2;
        // SAFETY: the argument has the size that the request word says.
        assert_eq!(unsafe { libc::ioctl(prime.fd, export, &mut args) }, 0);
        let mut poll = libc::pollfd { fd: args.fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry.
        assert_eq!(unsafe { libc::poll(&mut poll, 1, 0) }, 1);
        // Then a sync file of a pending sync object, which another thread waits for.
        let object = node.syncobj(0);
        let mut sync = core::SyncobjHandle {
            handle: object,
            flags: core::SYNCOBJ_FD_SYNC_FILE,
            ..Default::default()
        };
        let info = core::Ioctl::SyncobjHandleToFd.info();
        assert_eq!(call_info(node.fd(), info, &mut sync), Err(libc::EINVAL), "no fence yet");
        let mut signal = core::SyncobjArray {
            handles: (&raw const object) as u64,
            count_handles: 1,
            ..Default::default()
        };
        call_info(node.fd(), core::Ioctl::SyncobjSignal.info(), &mut signal).unwrap();
        call_info(node.fd(), info, &mut sync).unwrap();
        poll.fd = sync.fd;
        // SAFETY: one entry.
        assert_eq!(unsafe { libc::poll(&mut poll, 1, 0) }, 1);
    }

    #[test]
    #[ignore = "runs under the library"]
    fn children_open_the_node_themselves() {
        let node = Node::open();
        let vm = node.vm();
        // SAFETY: the child only does what is tested, and exits without unwinding.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let mut args = uapi::VmDestroy { vm_id: vm, pad: 0 };
            let inherited = call(node.fd(), Ioctl::VmDestroy, &mut args) == Err(libc::ENOTTY);
            // SAFETY: as above.
            unsafe { libc::close(node.fd()) };
            let own = Node::open();
            let works = own.vm() == 1 && !own.map(own.gem(1, 0, 0), 1).is_null();
            // SAFETY: as above.
            unsafe { libc::_exit(if inherited && works { 42 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: the child of this test.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!((libc::WIFEXITED(status), libc::WEXITSTATUS(status)), (true, 42));
        // A buffer that another process shares.
        let handle = node.gem(1, 0, 0);
        let words = node.map(handle, 1);
        let mut prime = core::PrimeHandle { handle, ..Default::default() };
        call_info(node.fd(), core::Ioctl::PrimeHandleToFd.info(), &mut prime).unwrap();
        // SAFETY: as above.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let own = Node::open();
            let mut import = core::PrimeHandle { fd: prime.fd, ..Default::default() };
            call_info(own.fd(), core::Ioctl::PrimeFdToHandle.info(), &mut import).unwrap();
            // SAFETY: mapped; and as above.
            unsafe {
                own.map(import.handle, 1).write(77);
                libc::_exit(0);
            }
        }
        // SAFETY: the child of this test; mapped.
        unsafe {
            libc::waitpid(child, &mut status, 0);
            assert_eq!((libc::WEXITSTATUS(status), words.read()), (0, 77));
        }
        // A child of `vfork` has its own descriptors but shares the memory.
        // SAFETY: the child closes a descriptor and ends.
        #[allow(deprecated, reason = "what is tested")]
        unsafe {
            let child = libc::vfork();
            if child == 0 {
                libc::close(node.fd());
                libc::_exit(0);
            }
            libc::waitpid(child, &mut status, 0);
        }
        assert_eq!(node.vm(), vm + 1, "the parent's is as it was");
        assert!(!node.map(node.gem(1, 0, 0), 1).is_null());
        // A program started with `exec` gets the node through the environment.
        let output = std::process::Command::new("ls").arg("/dev/dri").output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("renderD"));
    }

    #[test]
    #[ignore = "runs under the library"]
    fn threads_may_use_one_node() {
        let node = Node::open();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let own = Node::open();
                        assert_eq!(own.vm(), 1);
                        let vm_id = node.vm();
                        let handle = node.gem(1, uapi::GEM_VM_PRIVATE, vm_id);
                        let words = node.map(handle, 1);
                        // SAFETY: a page of this thread's own.
                        unsafe {
                            words.write(vm_id);
                            assert_eq!(words.read(), vm_id);
                            libc::munmap(words.cast(), PAGE);
                        }
                        node.close_gem(handle);
                        let mut args = uapi::VmDestroy { vm_id, pad: 0 };
                        call(node.fd(), Ioctl::VmDestroy, &mut args).unwrap();
                    }
                });
            }
        });
        assert_eq!(node.vm(), 1, "all were given back");
    }

    #[test]
    #[ignore = "runs under the library"]
    fn everything_else_passes_through() {
        let mut text = String::new();
        fs::File::open("/proc/self/status").unwrap().read_to_string(&mut text).unwrap();
        assert!(text.starts_with("Name:"));
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        assert!(fs::metadata("/dev").unwrap().is_dir());
        assert!(fs::read_dir("/dev").unwrap().any(|entry| entry.unwrap().file_name() == "null"));
        assert!(fs::read_dir("/sys").unwrap().any(|entry| entry.unwrap().file_name() == "kernel"));
        assert_eq!(
            fs::metadata("/dev/dri/nothing").unwrap_err().raw_os_error(),
            Some(libc::ENOENT)
        );
        assert_eq!(fs::metadata("").unwrap_err().raw_os_error(), Some(libc::ENOENT));
        let folder = std::env::temp_dir().join(format!("tepui-shim-test-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("a"), "text").unwrap();
        assert_eq!(fs::read(folder.join("a")).unwrap(), b"text");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert_eq!(fs::metadata(folder.join("a")).unwrap().len(), 4);
        fs::remove_dir_all(&folder).unwrap();
        // DRM ioctls on descriptors that are not nodes.
        let mut args = uapi::GetTime::default();
        assert_eq!(call(1, Ioctl::GetTime, &mut args), Err(libc::ENOTTY));
        assert_eq!(call(-1, Ioctl::GetTime, &mut args), Err(libc::EBADF));
        let null = std::ptr::null_mut();
        let anonymous = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let words = map(null, PAGE, access, anonymous, -1, 0).unwrap();
        // SAFETY: a page of this test's own.
        unsafe {
            words.write(1);
            libc::munmap(words.cast(), PAGE);
        }
    }
}
