// Builds a second addon with AddressSanitizer and UndefinedBehaviorSanitizer, and runs the tests
// that reach its C++ code with it: `npm run test:sanitizers`. With test files, runs these alone:
// `npm run test:sanitizers -- <file> …`. Linux with g++. The last line is `N passed, N failed`.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root, run, runMain } from './process.mjs';
import {
  commandJob,
  filesOfProjects,
  jobsForFiles,
  jobsForProjects,
  prepare,
  runAndReport,
  specsJob,
} from './queue/index.mjs';

/** The folder of the sanitized addon, where programs do not look for the ordinary one. */
const CACHE = join(root, 'node_modules', '.cache', 'acc-sanitizers');

/**
 * The check vptr compares type information with that of libtorch, which comes from another
 * compiler.
 */
const SANITIZE = '-fsanitize=address,undefined -fno-sanitize=vptr';
const COMPILE = `${SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1`;

const OPTIONS = {
  ASAN_OPTIONS: [
    // Node, V8 and libtorch exit without freeing all memory. The leak tests count ours.
    'detect_leaks=0',
    // A request for too much memory is one of our errors, which tests check.
    'allocator_may_return_null=1',
    'detect_stack_use_after_return=1',
    'strict_string_checks=1',
    'check_initialization_order=1',
  ].join(':'),
  UBSAN_OPTIONS: 'print_stacktrace=1',
  // libtorch's OpenMP runtime is not instrumented either, so more threads would only take time.
  OMP_NUM_THREADS: '1',
};

/** Fails if the ordinary addon would be tested. */
const CHECK_LOADED = `
  import { torchVersion } from '@acc/native';
  torchVersion();
  const { sharedObjects } = process.report.getReport();
  for (const part of ['libasan', 'acc-sanitizers']) {
    if (!sharedObjects.some((path) => path.includes(part))) throw new Error(part + ' is not loaded');
  }`;

await runMain(async () => {
  const files = process.argv.slice(2);
  const { libtorch } = await prepare(['unit', 'e2e']);
  // Node was built without the runtime, so the runtime must be loaded before all other libraries,
  // together with the standard library whose exceptions it watches.
  const libraries = ['libasan.so', 'libubsan.so', 'libstdc++.so.6'].map(libraryOfCompiler);
  Object.assign(process.env, { ACC_CACHE_DIR: CACHE, ACC_LIBTORCH: libtorch.root });
  const acc = join(root, 'packages', 'cli', 'dist', 'acc.js');
  const code = await run(process.execPath, [acc, 'setup'], { env: { CXXFLAGS: COMPILE, LDFLAGS: SANITIZE } });
  if (code !== 0) return code;

  Object.assign(process.env, OPTIONS, { LD_PRELOAD: libraries.join(':') });
  return runAndReport([
    commandJob('sanitized', process.execPath, ['--input-type=module', '-e', CHECK_LOADED], {
      seconds: 5,
      memoryGiB: 1,
    }),
    ...(files.length > 0
      ? jobsForFiles(files)
      : [specsJob(), ...jobsForProjects(['threads']), ...jobsForFiles(testsThatReachAddon())]),
  ]);
});

function testsThatReachAddon() {
  const { pure, unit, e2e, ranks } = filesOfProjects();
  const inFolders = ['packages/native/', 'packages/kernels/src/layers/', 'packages/kernels/src/functions/'];
  return [
    ...[...pure, ...unit].filter((file) => inFolders.some((folder) => file.startsWith(folder))),
    ...[...e2e, ...ranks].filter((file) => /collectives|conformance|equivalence|handles|failure/.test(file)),
  ];
}

/** If the compiler has no such file, it returns the name itself. */
function libraryOfCompiler(name) {
  const path = execFileSync('g++', [`-print-file-name=${name}`], { encoding: 'utf8' }).trim();
  if (existsSync(path)) return path;
  throw new Error(`g++ does not find ${name}. On Debian and Ubuntu, install libasan8 and libubsan1.`);
}
