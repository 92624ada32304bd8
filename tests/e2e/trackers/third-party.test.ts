import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';
import { newFolder } from './record-run.js';
import { npm, pack, packWorkspace } from './packing.js';

const work = newFolder();
const made = join(work, 'acc-tracker-demo');
let contract: string;
/** testkit and the packages that it depends on. */
let testkit: string[];
let create: string;
let tarball: string;

beforeAll(async () => {
  const names = ['contract', 'create-acc-tracker', 'testkit', 'transpile'];
  [contract, create, ...testkit] = (await packWorkspace(names, work)) as [string, string, ...string[]];
});

it('npm create acc-tracker makes a package that passes the cases unchanged, and can be packed', async () => {
  // Like `npm create acc-tracker demo`, with packages as they would be published.
  const command = [
    'exec',
    '--yes',
    '--package',
    create,
    '--package',
    contract,
    '--',
    'create-acc-tracker',
    'demo',
  ];
  expect(await npm(command, work)).toContain('npm test');
  await npm(['install', '--save-dev', contract, ...testkit], made);
  expect(await npm(['run', 'typecheck'], made)).not.toContain('error');
  const printed = await npm(['test'], made);
  expect(printed).toMatch(/^# pass 1[0-9]$/m);
  expect(printed).toMatch(/^# fail 0$/m);
  [tarball] = (await pack([made], work)) as [string];
}, 600_000);

it('a package installed from its tarball in an empty folder passes the cases, and logWith loads it by its name', async () => {
  const program = join(work, 'program');
  mkdirSync(program);
  writeFileSync(
    join(program, 'package.json'),
    JSON.stringify({ name: 'program', private: true, type: 'module' }),
  );
  await npm(['install', tarball, contract, ...testkit], program);
  expect(readdirSync(join(program, 'node_modules', 'acc-tracker-demo')).sort()).toEqual([
    'README.md',
    'dist',
    'package.json',
  ]);
  const test = readFileSync(join(made, 'test', 'conformance.test.ts'), 'utf8')
    .replace("'../src/index.js'", "'acc-tracker-demo'")
    .replace("import { storePath } from '../src/store.js';", "import { join } from 'node:path';")
    .replace('storePath(run.dir, runId)', 'join(run.dir, `demo-${runId}.jsonl`)');
  writeFileSync(join(program, 'conformance.test.ts'), test);
  const printed = await npm(
    ['exec', '--', 'node', '--import', 'tsx', '--test', 'conformance.test.ts'],
    program,
  );
  expect(printed).toMatch(/^# fail 0$/m);

  const script = new URL('../ranks/installed-tracker.ts', import.meta.url);
  const [rank] = await runRanks<{ tracker: string; missing: unknown }>({
    script,
    ranks: 1,
    args: ['acc-tracker-demo'],
    cwd: program,
  });
  expect(rank!.exitCode, rank!.stderr).toBe(0);
  expect(rank!.result).toEqual({
    tracker: 'demo',
    missing: {
      code: 'ACC_TRACKER_MISSING',
      help: expect.stringMatching(/^Known trackers: console, .*Check the name\./) as unknown,
    },
  });
  const [stored] = readdirSync(join(program, 'stored'));
  const lines = readFileSync(join(program, 'stored', stored!), 'utf8')
    .trimEnd()
    .split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { kind: 'start', project: 'installed' },
    { kind: 'config', config: { lr: 0.1 } },
    { kind: 'metrics', step: 0 },
    { kind: 'metrics', step: 1 },
    { kind: 'metrics', step: 2, metrics: { loss: 2 } },
    { kind: 'finish', status: 'completed' },
  ]);
}, 600_000);
