import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { resultsOfRanks } from '@acc/testkit';
import { APART, moduleOf, siteExample } from './examples.js';
import { root } from './site.js';

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'acc-site-apart-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** Runs a program that uses modules beside it, and gives what it reports. */
async function run<T>(program: string, modules: Readonly<Record<string, string>>): Promise<T> {
  const cwd = newFolder();
  for (const [name, text] of Object.entries({ ...modules, 'main.mts': program })) {
    writeFileSync(join(cwd, name), text);
  }
  const script = join(cwd, 'main.mts');
  const [told] = await resultsOfRanks<T>({ script, ranks: 1, cwd, timeoutMs: 300_000 });
  return told!;
}

const PRINTS = `
import { reportResult } from '@acc/testkit';
const { log } = console;
const told = {};
for (const name of ['native', 'kernel', 'launch']) {
  const values = [];
  console.log = (...given) => values.push(...given);
  await import('./' + name + '.mts');
  told[name] = values.map((value) => Array.from(value));
}
console.log = log;
reportResult(told);
`;

it('kernels and launch(fn) run as written', async () => {
  const told = await run<Record<string, number[][]>>(PRINTS, {
    'native.mts': siteExample('write/kernel#1').code,
    'kernel.mts': siteExample('write/kernel#2').code,
    'launch.mts': siteExample('guide/launch#1').code,
  });
  expect(told['launch']).toEqual([[10, 10]]);
  const logit = (p: number) => Math.log(p / (1 - p));
  expect(told['kernel']![0]).toHaveLength(3);
  told['kernel']![0]!.forEach((value, i) => expect(value).toBeCloseTo(logit((i + 1) / 4), 5));
  // erf(1), Abramowitz and Stegun, table 7.1.
  told['native']![0]!.forEach((value, i) => expect(value).toBeCloseTo((i - 1) * 0.8427008, 5));
});

const TRACKER = `
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { reportResult, trackerCasesFor } from '@acc/testkit';
import { linesTracker } from './tracker.mts';

const subject = {
  make: () => linesTracker(),
  makeWith: (options) => linesTracker(options),
  async read(run) {
    const text = await readFile(join(run.dir, 'lines.txt'), 'utf8').catch(() => '');
    const lines = text.split('\\n').filter(Boolean).slice(1);
    const values = lines.flatMap((line) => {
      const [, step, value, name] = /^(\\d+)\\t(\\S+)\\t(.*)$/.exec(line) ?? [];
      return step === undefined ? [] : [{ name, step: Number(step), value: Number(value) }];
    });
    const status = lines.find((line) => /^(completed|failed|aborted)$/.test(line));
    return { values, status };
  },
};
const passed = [];
for (const one of trackerCasesFor(subject)) {
  await one.run(subject);
  passed.push(one.name);
}
reportResult(passed);
`;

it('the tracker passes the published cases', async () => {
  const passed = await run<string[]>(TRACKER, { 'tracker.mts': siteExample('write/tracker#1').code });
  expect(passed.length).toBeGreaterThan(5);
});

const FEDERATION = `
import { writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { reportResult } from '@acc/testkit';

const { log } = console;
const joined = new Promise((resolve) => (console.log = resolve));
const coordinator = import('./coordinator.mts');
const [, url, token] = /^join (\\S+) with the token (\\S+)$/.exec(await joined);
console.log = log;
const text = readFileSync(new URL('./client.mts', import.meta.url), 'utf8')
  .replace('ws://127.0.0.1:8600', url)
  .replace('the token of the coordinator', token);
const clients = await Promise.all([0, 1, 2].map(async (i) => {
  await writeFile(new URL('./client-' + i + '.mts', import.meta.url), text);
  return import('./client-' + i + '.mts');
}));
await coordinator;
reportResult(clients.map(({ sumOfWeights }) => sumOfWeights));
`;

it('a coordinator and three clients end with the same weights', async () => {
  const sums = await run<number[]>(FEDERATION, {
    'coordinator.mts': moduleOf(siteExample('guide/federated#1')),
    'client.mts': moduleOf(siteExample('guide/federated#2')),
  });
  expect(sums).toHaveLength(3);
  expect(sums[0]).toBeGreaterThan(0);
  expect(new Set(sums).size).toBe(1);
});

it('a file of DeepSpeed is converted as its exercise shows', () => {
  const page = readFileSync(join(root, 'site', 'docs', 'learn', 'exercise-deepspeed.md'), 'utf8');
  const fenced = (language: string) => new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(page)![1]!;
  const cwd = newFolder();
  writeFileSync(join(cwd, 'ds_config.json'), fenced('json'));
  const acc = join(root, 'packages', 'cli', 'bin', 'acc.js');
  const { stdout, stderr } = spawnSync(process.execPath, [acc, 'convert-config', 'ds_config.json'], {
    cwd,
    encoding: 'utf8',
  });
  expect(stdout + stderr).toContain(fenced('text'));
  expect(readFileSync(join(cwd, 'acc.yaml'), 'utf8')).toMatch(/^ {2}strategy: fsdp/m);
});

it('these are the examples that do not run in one job with the others', () => {
  const here = ['guide/federated#1', 'guide/federated#2', 'guide/launch#1'];
  expect(APART).toEqual([...here, 'write/kernel#1', 'write/kernel#2', 'write/tracker#1']);
});
