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
import { existsSync, readdirSync } from 'node:fs';
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
import { addonFlags, UNITS } from './addon-flags.mjs';
import { root, runMain } from './process.mjs';
import { installHeaders, pip, testProjects } from './torch-headers.mjs';

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

/** The flags and units of acc.gyp, without code. */
function headersJob(version, torch) {
  const flags = ['-fsyntax-only', ...addonFlags({ torch })];
  return commandJob(`headers of torch ${version}`, process.env.CXX ?? 'g++', [...flags, ...UNITS], COST);
}

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
