// Tests the addon with every supported release line of torch: `npm run test:torch`. `npm test` has the
// line that setup installs. With the newest versions, the addon is built, and trains; for the others it
// is compiled against their headers, without code. pip installs the wheels of PyPI once on a machine:
// some 11 GB, with NVIDIA's libraries, which a CUDA build of torch loads also without a GPU.
//
//   --torch 2.15.0          only this version; may be repeated
//   --folder 2.15.0=<path>  use the torch package in this folder; may be repeated
//
// The last line is `N passed, N failed`.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import {
  commandJob,
  countedJob,
  filesOfProjects,
  jobsForFiles,
  prepare,
  runAndReport,
} from './queue/index.mjs';
import { root, runMain } from './process.mjs';

const execute = promisify(execFile);

/** Trained with. */
const TRAINED = ['2.14.1', '2.15.0'];
/** Only their headers are used. */
const HEADERS_OF = ['2.11.0', '2.12.0'];

/** Processes that train, exchange and save. The unit tests of the addon are added. */
const PROCESSES = [
  'tests/e2e/collectives.test.ts',
  'tests/e2e/equivalence.test.ts',
  'tests/e2e/fsdp/steps.test.ts',
  'tests/e2e/precision.test.ts',
];

const COST = { processor: Infinity, memoryGiB: 4, seconds: 600 };

await runMain(async () => {
  const { values } = parseArgs({
    options: {
      torch: { type: 'string', multiple: true },
      folder: { type: 'string', multiple: true, default: [] },
      here: { type: 'boolean' },
    },
  });
  if (values.here) return testHere();
  const known = [...HEADERS_OF, ...TRAINED];
  const chosen = values.torch ?? known;
  const unknown = chosen.filter((version) => !known.includes(version));
  if (unknown.length > 0)
    throw new Error(`--torch ${unknown.join(', ')}: the tests know ${known.join(', ')}.`);
  const folders = Object.fromEntries(values.folder.map((text) => text.split(/=(.*)/).slice(0, 2)));
  await prepare(['unit', 'e2e', 'ranks']);
  const jobs = [];
  for (const version of chosen) {
    const isTrained = TRAINED.includes(version);
    const torch = folders[version] ?? (await (isTrained ? installWhole(version) : installHeaders(version)));
    jobs.push(...(isTrained ? trainingJobs(version, torch) : [headersJob(version, torch)]));
  }
  return runAndReport(jobs, { keepOrder: true });
});

/** `acc setup` builds the addon. Then this script runs again, with this torch. */
function trainingJobs(version, torch) {
  const env = { ACC_LIBTORCH: torch };
  const acc = join(root, 'packages', 'cli', 'bin', 'acc.js');
  return [
    commandJob(
      `acc setup, torch ${version}`,
      'env',
      [`ACC_LIBTORCH=${torch}`, process.execPath, acc, 'setup'],
      COST,
    ),
    countedJob(`torch ${version}`, ['scripts/test-torch.mjs', '--here'], { ...COST, env }),
  ];
}

async function testHere() {
  const { libtorch } = await prepare(['unit', 'e2e', 'ranks']);
  console.log(`torch ${libtorch.version} (${libtorch.variant})`);
  const { pure, unit } = filesOfProjects();
  const ofAddon = [...pure, ...unit].filter((file) => /^packages\/native\/src\/[^/]+$/.test(file));
  return runAndReport(jobsForFiles([...PROCESSES, ...ofAddon]));
}

/** The flags and units of binding.gyp, without code. */
function headersJob(version, torch) {
  const cpp = join(root, 'packages', 'native', 'cpp');
  const units = ['unit_product', 'unit_tensors', 'unit_distributed', 'unit_shm'];
  const include = join(torch, 'include');
  const flags = [
    ...['-std=c++20', '-fsyntax-only', '-fopenmp', '-Wno-unused-parameter', '-include'],
    join(cpp, 'portable', 'glibc_2_28.h'),
    ...['NAPI_VERSION=9', 'NODE_ADDON_API_DISABLE_DEPRECATED', 'USE_DISTRIBUTED', 'USE_C10D_GLOO'].map(
      (name) => `-D${name}`,
    ),
    '-DNODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS',
    ...[cpp, join(cpp, 'gloo_headers'), join(root, 'node_modules', 'node-addon-api')].map(
      (path) => `-I${path}`,
    ),
    `-I${join(process.execPath, '..', '..', 'include', 'node')}`,
    ...[include, join(include, 'torch', 'csrc', 'api', 'include')].flatMap((path) => ['-isystem', path]),
  ];
  const sources = units.map((unit) => join(cpp, `${unit}.cpp`));
  return commandJob(`headers of torch ${version}`, process.env.CXX ?? 'g++', [...flags, ...sources], COST);
}

/** The folder for what these tests install. */
const testProjects = () =>
  join(process.env.ACC_CACHE_DIR ?? join(homedir(), '.cache', 'acc'), 'test-projects');

/** Without the user's settings, which may limit torch. */
const pip = (python, args) =>
  execute(python, ['-m', 'pip', '--disable-pip-version-check', ...args], {
    env: { ...process.env, PIP_CONFIG_FILE: '/dev/null' },
    maxBuffer: 2 ** 26,
  });

/** torch with all that it needs, in a virtual environment. */
async function installWhole(version) {
  const folder = join(testProjects(), `torch-${version}`);
  const modules = () => {
    const lib = join(folder, 'lib');
    const python = existsSync(lib) && readdirSync(lib).find((name) => name.startsWith('python3'));
    return python && join(lib, python, 'site-packages', 'torch');
  };
  if (modules() && existsSync(join(modules(), 'version.py'))) return modules();
  console.log(`… torch ${version}: installing`);
  await execute('python3', ['-m', 'venv', folder]);
  await pip(join(folder, 'bin', 'python'), ['install', '--no-cache-dir', `torch==${version}`]);
  return modules();
}

/** The headers of torch, from its wheel. */
async function installHeaders(version) {
  const folder = join(testProjects(), `torch-headers-${version}`);
  if (existsSync(folder)) return join(folder, 'torch');
  console.log(`… torch ${version}: fetching the headers`);
  const temporary = mkdtempSync(join(tmpdir(), 'acc-torch-'));
  try {
    await pip('python3', ['download', '--no-deps', '--no-cache-dir', '-d', temporary, `torch==${version}`]);
    const wheel = readdirSync(temporary).find((name) => name.endsWith('.whl'));
    const unpacked = join(temporary, 'unpacked');
    await execute('python3', ['-c', UNPACK_HEADERS, join(temporary, wheel), unpacked]);
    mkdirSync(testProjects(), { recursive: true });
    await execute('cp', ['-r', unpacked, `${folder}.new`]);
    renameSync(`${folder}.new`, folder);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  return join(folder, 'torch');
}

const UNPACK_HEADERS = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    wheel.extractall(sys.argv[2], [name for name in wheel.namelist() if name.startswith("torch/include/")])
`;
