import type { Exception } from './exceptions.js';

/**
 * The TypeScript files that ask which system runs them, or use what one system alone has: /proc, /sys,
 * /dev/shm, /bin/sh. Each reason tells what happens on the others.
 */
export const KNOWS_A_SYSTEM: readonly Exception[] = [
  {
    where: 'packages/big-model/src/dispatch/free-memory.ts',
    reason: 'without /proc, the limits of the process are not known, and the free memory of the host counts',
  },
  { where: 'packages/cli/src/environment/inspect.ts', reason: '`acc env` shows the name' },
  {
    where: 'packages/cli/src/launch/cpus/binding.ts',
    reason: '--cpu-bind is refused elsewhere than on Linux',
  },
  { where: 'packages/cli/src/launch/cpus/topology.ts', reason: 'only --cpu-bind calls it' },
  { where: 'packages/cli/src/launch/platform.ts', reason: '`acc launch` is refused on Windows' },
  {
    where: 'packages/cli/src/launch/process-group.ts',
    reason: 'without /proc, a group runs until a signal finds no process of it',
  },
  { where: 'packages/cli/src/launch/rescue-folder.ts', reason: 'without /dev/shm, the folder of the system' },
  {
    where: 'packages/cli/src/launch/watchdog.ts',
    reason: 'every system with process groups has /bin/sh; if it does not start, the launcher says so',
  },
  {
    where: 'packages/cli/src/monitor/job/processes.ts',
    reason: 'without /proc, --attach takes the folder of a run, and refuses the number of a process',
  },
  {
    where: 'packages/cli/src/monitor/open-browser.ts',
    reason: 'a table; elsewhere, the address is printed only',
  },
  { where: 'packages/cli/src/setup/tfjs-node/binding.ts', reason: 'a name of a folder' },
  {
    where: 'packages/cli/src/setup/tfjs-node/cuda.ts',
    reason: 'without the file, no driver of NVIDIA is named',
  },
  {
    where: 'packages/cli/src/setup/tfjs-node/package.ts',
    reason: "looks for Linux's library in a package that only Linux can set up",
  },
  {
    where: 'packages/cli/src/setup/tfjs-node/setup-tfjs-node.ts',
    reason: 'refused elsewhere than on linux-x64',
  },
  {
    where: 'packages/collective/src/share-cores.ts',
    reason: 'elsewhere, all ranks of a host share its cores',
  },
  {
    where: 'packages/monitor/src/records/recorder-script.ts',
    reason: 'elsewhere, the columns of stolen and queued time are NaN, which readers leave out',
  },
  {
    where: 'packages/monitor/src/records/stacks-script.ts',
    reason: 'elsewhere, an answer has no state of the main thread',
  },
  { where: 'packages/monitor/src/records/recorder.ts', reason: 'elsewhere, the record has no binding' },
  { where: 'packages/native/src/libtorch/build.ts', reason: 'macOS reports too little free memory' },
  { where: 'packages/native/src/libtorch/load-errors.ts', reason: 'names it' },
  {
    where: 'packages/native/src/libtorch/platform.ts',
    reason: 'the table of platforms; the others are refused',
  },
  { where: 'packages/native/src/libtorch/sources.ts', reason: 'one archive for each platform' },
  { where: 'packages/native/src/libtorch/toolchain.ts', reason: 'a compiler and a cache for each system' },
  {
    where: 'packages/native/src/libtorch/wheel-index.ts',
    reason: 'wheels for macOS have no label of a variant',
  },
  {
    where: 'packages/platform/src/ending.ts',
    reason: 'Windows cannot send a signal: the process exits with its number',
  },
  { where: 'packages/platform/src/ports.ts', reason: 'other systems use higher ports for connections' },
  { where: 'packages/testkit/src/continuous/left-behind.ts', reason: 'elsewhere, it counts nothing' },
  { where: 'packages/testkit/src/cpu-has.ts', reason: 'elsewhere, a test counts on no instruction' },
  { where: 'packages/testkit/src/end-with-parent.ts', reason: 'for tests with ranks, which need groups' },
  {
    where: 'packages/tracker-wandb/src/upload.ts',
    reason: 'Windows has no process groups: the program alone is ended',
  },
];

/**
 * The C++ files that are compiled on Linux alone. The units include them between `#ifdef __linux__` and
 * `#endif`, and `unsupported.cpp` beside them elsewhere.
 */
export const LINUX_SOURCES: readonly string[] = [
  'engine/groups/hierarchical_group.cpp',
  'engine/groups/mpi/group.cpp',
  'engine/groups/shm/call_queue.cpp',
  'engine/groups/shm/collectives.cpp',
  'engine/groups/shm/group.cpp',
  'engine/groups/shm/messages.cpp',
  'engine/groups/shm/ranks.cpp',
  'engine/groups/shm/reduce.cpp',
  'engine/groups/shm/rendezvous.cpp',
  'engine/groups/shm/segment.cpp',
  'engine/groups/shm/shared_writer.cpp',
];

/** The C++ files with a part for Linux, which have another part for the rest. */
export const PARTLY_LINUX: readonly Exception[] = [
  { where: 'engine/files/file_facts.h', reason: 'statx, for glibc 2.28; stat elsewhere' },
  { where: 'engine/files/mapped_file.cpp', reason: 'elsewhere, files are read instead of mapped' },
  { where: 'engine/fused/machine_code/kernel.cpp', reason: 'elsewhere, fused programs are interpreted' },
  { where: 'engine/fused/machine_code/kernel_uses.cpp', reason: 'as kernel.cpp' },
  { where: 'engine/groups/door_watch.cpp', reason: 'elsewhere, the door is not watched' },
  { where: 'engine/groups/gloo/links.cpp', reason: 'elsewhere, strangers on a port are not found' },
  { where: 'engine/groups/sockets.cpp', reason: 'elsewhere, a connection counts as open' },
  { where: 'engine/kernels/packed_state.cpp', reason: 'target_clones; one version elsewhere' },
  { where: 'engine/processor/avx512.h', reason: 'elsewhere, no AVX-512' },
  { where: 'engine/processor/row_math.h', reason: 'target_clones; one version elsewhere' },
  { where: 'portable/glibc_2_28.cpp', reason: 'glibc' },
  { where: 'portable/glibc_2_28.h', reason: 'glibc' },
  { where: 'unit_distributed.cpp', reason: 'includes the sources of Linux' },
  { where: 'unit_shm.cpp', reason: 'includes the sources of Linux' },
];
