import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { RunInfo, Tracker } from '@acc/contract';
import { trackerCasesFor, type TrackerSubject } from '@acc/testkit';
import { dvcliveTracker } from './dvclive-tracker.js';

/** Names and values of the curves in a folder. */
function curvesOf(dir: string) {
  const folder = join(dir, 'plots/metrics');
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.tsv'),
  );
  return names.flatMap((path) => {
    const [header, ...lines] = readFileSync(join(folder, path), 'utf8').trimEnd().split('\n');
    const name = path.slice(0, -'.tsv'.length);
    expect(header).toBe(`step\t${name.split('/').at(-1)!}`);
    return lines.map((line) => {
      const [step, value] = line.split('\t').map((cell) => Number(cell.replace('inf', 'Infinity')));
      return { name, step: step!, value: value! };
    });
  });
}

const subject: TrackerSubject = {
  make: () => dvcliveTracker(),
  makeWith: (options) => dvcliveTracker(options),
  read: ({ dir }) => ({ values: curvesOf(join(dir, 'dvclive')) }),
  keepsStatus: false,
};

describe('dvcliveTracker passes the conformance case', () => {
  it.each(trackerCasesFor(subject).map((one) => [one.name, one] as const))('%s', async (_name, one) => {
    await one.run(subject);
  });
});

let dir: string;
beforeEach(() => {
  dir = join(mkdtempSync(join(tmpdir(), 'acc-dvclive-')), 'live');
});

const run = (id: string): RunInfo => {
  const startTimeMs = Date.now();
  return { project: 'p', id, name: id, tags: {}, dir: tmpdir(), startTimeMs, rank: 0, size: 1 };
};
const stamp = { sequence: 0, timeMs: 0, signal: new AbortController().signal };
const read = (name: string): unknown => parse(readFileSync(join(dir, name), 'utf8'));

async function begun(id = 'a'): Promise<Tracker> {
  const tracker = dvcliveTracker({ dir });
  await tracker.start(run(id));
  return tracker;
}

it('dvc.yaml names what was logged; metrics.json has the last values', async () => {
  const tracker = await begun();
  expect(read('dvc.yaml')).toEqual({});
  await tracker.log(1, { loss: 2, 'val/loss': 3, 'val/acc': NaN }, stamp);
  await tracker.log(2, { loss: 1, 'loss/sum': -Infinity, '__proto__/x': 5 }, stamp);
  await tracker.logConfig!({ lr: 1e-7, model: { layers: [32, 10] }, seed: null }, stamp);
  await tracker.logImage!(2, 'val/digit', { width: 1, height: 1, png: Uint8Array.of(1) }, stamp);
  const path = join(dir, '../weights');
  writeFileSync(path, 'content');
  const files = [{ name: 'a/weights', path, bytes: 7 }];
  await tracker.logArtifact!(2, { name: 'Check Point!', type: 'model', files }, stamp);
  await tracker.finish('completed');
  expect(read('metrics.json')).toMatchObject({
    loss: 1,
    val: { loss: 3, acc: 'nan' },
    'loss/sum': '-inf',
    step: 2,
  });
  expect(Object.prototype).not.toHaveProperty('x');
  expect(read('params.yaml')).toEqual({ lr: 1e-7, model: { layers: [32, 10] }, seed: null });
  expect(read('dvc.yaml')).toEqual({
    params: ['params.yaml'],
    metrics: ['metrics.json'],
    plots: [{ 'plots/metrics': { x: 'step' } }, 'plots/images'],
    artifacts: { 'check-point': { path: 'artifacts/check-point', type: 'model', desc: 'Check Point!' } },
  });
  expect(readFileSync(join(dir, 'plots/images/val/digit/2.png'))).toEqual(Buffer.of(1));
  expect(readFileSync(join(dir, 'artifacts/check-point/a/weights'), 'utf8')).toBe('content');
});

it('a new run replaces the last one in its dir, and nothing else', async () => {
  const first = await begun('first');
  await first.log(1, { old: 1 }, stamp);
  const second = await begun('second');
  await second.log(5, { loss: 1 }, stamp);
  expect(curvesOf(dir)).toEqual([{ name: 'loss', step: 5, value: 1 }]);
  const resumed = dvcliveTracker({ dir });
  await resumed.resume!(run('first'), 'first');
  const refusal = expect.objectContaining({ code: 'ACC_TRACKER_REFUSED' });
  for (const tracker of [first, resumed]) {
    expect(() => tracker.log(2, { old: 2 }, stamp)).toThrow(refusal);
    expect(() => tracker.logConfig!({ lr: 1 }, stamp)).toThrow(refusal);
    await tracker.finish('failed');
  }
  expect(readdirSync(dir).sort()).toEqual(['dvc.yaml', 'metrics.json', 'plots']);
  dir = mkdtempSync(join(tmpdir(), 'acc-other-'));
  writeFileSync(join(dir, 'params.yaml'), 'lr: 1');
  await expect(begun()).rejects.toMatchObject({ code: 'ACC_INVALID_OPTION' });
  expect(read('params.yaml')).toEqual({ lr: 1 });
});

it('a resumed run goes on after a line that was cut, with the values and artifacts of before', async () => {
  const first = await begun();
  await first.log(1, { loss: 2, 'val/loss': Infinity }, stamp);
  await first.logArtifact!(1, { name: 'm', type: 'model', files: [] }, stamp);
  appendFileSync(join(dir, 'plots/metrics/loss.tsv'), '2\t0.');
  const second = dvcliveTracker({ dir });
  await second.resume!(run('a'), 'a');
  await second.log(3, { loss: 1 }, stamp);
  await second.logConfig!({ lr: 1 }, stamp);
  expect(curvesOf(dir).filter(({ name }) => name === 'loss')).toEqual([
    { name: 'loss', step: 1, value: 2 },
    { name: 'loss', step: 3, value: 1 },
  ]);
  expect(read('metrics.json')).toEqual({ loss: 1, val: { loss: 'inf' }, step: 3 });
  expect(read('dvc.yaml')).toMatchObject({ artifacts: { m: { type: 'model' } } });
});

it('an artifact is replaced when its files are copied, and by one of its name only', async () => {
  const tracker = await begun();
  const path = join(dir, 'artifacts/net/weights');
  const log = (name: string, signal = stamp.signal) => {
    const files = [{ name: 'weights', path, bytes: 1 }];
    return tracker.logArtifact!(1, { name, type: 'model', files }, { ...stamp, signal });
  };
  await expect(log('net')).rejects.toThrow('ENOENT');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, 'content');
  // The call took too long. It is repeated.
  const late = new AbortController();
  const first = log('net', late.signal);
  late.abort();
  await expect(first).rejects.toThrow('aborted');
  expect(read('dvc.yaml')).toEqual({});
  await log('net');
  expect(readFileSync(path, 'utf8')).toBe('content');
  expect(readdirSync(join(dir, 'artifacts'))).toEqual(['net']);
  await log('模型');
  await expect(log('模具')).rejects.toMatchObject({ code: 'ACC_TRACKER_REFUSED' });
  mkdirSync(join(dir, 'artifacts/net.tmp0'));
  const resumed = dvcliveTracker({ dir });
  await resumed.resume!(run('a'), 'a');
  expect(readdirSync(join(dir, 'artifacts'))).toEqual(['artifact', 'net']);
});

it('a resumed run of another folder begins here; a damaged file is named', async () => {
  await dvcliveTracker({ dir }).resume!(run('a'), 'a');
  expect(read('dvc.yaml')).toEqual({});
  writeFileSync(join(dir, 'metrics.json'), '');
  await expect(dvcliveTracker({ dir }).resume!(run('a'), 'a')).rejects.toMatchObject({
    code: 'ACC_TRACKER_REFUSED',
    message: expect.stringContaining('metrics.json') as string,
  });
});

it('a call that fails leaves the files as they were, and can be repeated', async () => {
  const tracker = await begun();
  await tracker.log(1, { a: 1 }, stamp);
  const blocked = join(dir, 'plots/metrics/b.tsv');
  mkdirSync(blocked);
  expect(() => tracker.log(2, { a: 2, b: 2 }, stamp)).toThrow('EISDIR');
  expect(readFileSync(join(dir, 'plots/metrics/a.tsv'), 'utf8')).toBe('step\ta\n1\t1\n');
  expect(read('metrics.json')).toEqual({ a: 1, step: 1 });
});

it.each(['../up', 'a//b', '/root', 'a/./b', 'a\\..\\b', ''])('refuses the name %j', async (name) => {
  const tracker = await begun();
  const refusal = expect.objectContaining({ code: 'ACC_TRACKER_REFUSED' });
  expect(() => tracker.log(1, { [name]: 1 }, stamp)).toThrow(refusal);
  expect(() => tracker.logImage!(1, name, { width: 1, height: 1, png: Uint8Array.of(1) }, stamp)).toThrow(
    refusal,
  );
});

it.each([{ dir: '' }, { dir: 3 as unknown as string }])('refuses %j', (options) => {
  expect(() => dvcliveTracker(options)).toThrow(expect.objectContaining({ code: 'ACC_INVALID_OPTION' }));
});
