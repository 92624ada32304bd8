// Builds the addon with AddressSanitizer and UndefinedBehaviorSanitizer, beside the ordinary one, and runs under them what
// reaches its C++: `npm run test:sanitizers`. Linux with g++. The last line is `N passed, N failed`.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root, run, runMain } from './process.mjs';
import { setup } from './setup.mjs';
import { check, runSteps, tfjsSpecs, vitest } from './test-steps.mjs';

/** The sanitized addon lies here, so that programs never find it where they look for the ordinary one. */
const CACHE = join(root, 'node_modules', '.cache', 'acc-sanitizers');

/** vptr compares type information with libtorch's, which is another compiler's. */
const SANITIZE = '-fsanitize=address,undefined -fno-sanitize=vptr';
const COMPILE = `${SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1`;

const OPTIONS = {
  ASAN_OPTIONS: [
    // Node, V8 and libtorch end without freeing what they hold; ours is counted by the leak tests.
    'detect_leaks=0',
    // Asking for too much memory is an error of ours, which tests want to see.
    'allocator_may_return_null=1',
    'detect_stack_use_after_return=1',
    'strict_string_checks=1',
    'check_initialization_order=1',
  ].join(':'),
  UBSAN_OPTIONS: 'print_stacktrace=1',
  // libtorch's OpenMP runtime is not instrumented either; more threads only take time.
  OMP_NUM_THREADS: '1',
};

/** Fails where the ordinary addon is what would be tested. */
const CHECK_LOADED = `
  import { torchVersion } from '@acc/native';
  torchVersion();
  const { sharedObjects } = process.report.getReport();
  for (const part of ['libasan', 'acc-sanitizers']) {
    if (!sharedObjects.some((path) => path.includes(part))) throw new Error(part + ' is not loaded');
  }`;

await runMain(async () => {
  const { libtorch } = await setup({ quiet: true });
  // The runtime must be there before all others, in a Node that was built without it, and with it the standard library
  // whose exceptions it watches.
  const libraries = ['libasan.so', 'libubsan.so', 'libstdc++.so.6'].map(libraryOfCompiler);
  Object.assign(process.env, { ACC_CACHE_DIR: CACHE, ACC_LIBTORCH: libtorch.root });
  const acc = join(root, 'packages', 'cli', 'dist', 'acc.js');
  const code = await run(process.execPath, [acc, 'setup'], { env: { CXXFLAGS: COMPILE, LDFLAGS: SANITIZE } });
  if (code !== 0) return code;

  Object.assign(process.env, OPTIONS, { LD_PRELOAD: libraries.join(':') });
  return runSteps([
    check('sanitized', process.execPath, ['--input-type=module', '-e', CHECK_LOADED]),
    vitest(['unit'], {
      files: ['packages/native', 'packages/kernels/src/layers', 'packages/kernels/src/functions'],
    }),
    tfjsSpecs(),
    vitest(['e2e'], { files: ['collectives', 'conformance', 'equivalence', 'handles', 'failure'] }),
  ]);
});

/** The compiler gives the name back where it has no such file. */
function libraryOfCompiler(name) {
  const path = execFileSync('g++', [`-print-file-name=${name}`], { encoding: 'utf8' }).trim();
  if (existsSync(path)) return path;
  throw new Error(`g++ has no ${name}; Debian and Ubuntu have it in libasan8 and libubsan1.`);
}
