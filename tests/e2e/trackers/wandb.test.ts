import { execFile } from 'node:child_process';
import { readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunStatus } from '@acc/contract';
import { runRanks, type TrackerSubject } from '@acc/testkit';
import { wandbTracker, type WandbHandle } from '@acc/tracker-wandb';
import type { Reader } from './python/reader.js';
import { venv, type Venv } from './python/venv.js';
import { itDoesWhatEveryTrackerDoes } from './every-tracker.js';
import { beginRun, CONFIG, makeArtifact, newFolder, PICTURE } from './record-run.js';
import { WandbBackend } from './wandb-backend.js';

interface WandbRecord {
  readonly kind: string;
  readonly num: string;
  readonly body: Record<string, unknown>;
}

interface Item {
  readonly nested_key: [string];
  readonly value_json: string;
}

let python: Venv;
let reader: Reader;
const backend = new WandbBackend();

beforeAll(async () => {
  python = await venv('wandb');
  reader = python.reader('read_wandb.py');
  await backend.open();
}, 600_000);

afterAll(async () => {
  reader.close();
  await backend.close();
});

/** Paths of a run's .wandb files, in order. */
function filesOf(runDir: string): string[] {
  const folder = join(runDir, 'wandb');
  const folders = readdirSync(folder)
    .sort()
    .map((name) => join(folder, name));
  return folders.flatMap((path) =>
    readdirSync(path)
      .filter((name) => name.endsWith('.wandb'))
      .map((name) => join(path, name)),
  );
}

const STATUS: Record<number, RunStatus> = { 0: 'completed', 1: 'failed', 255: 'aborted' };

const subject: TrackerSubject = {
  make: () => wandbTracker({ upload: 'never' }),
  makeWith: (options) => wandbTracker(options),
  async read({ dir }) {
    if (!readdirSync(dir).includes('wandb')) return { values: [] };
    const records = (await Promise.all(filesOf(dir).map((path) => reader.ask<WandbRecord[]>(path)))).flat();
    const values = records
      .filter(({ kind }) => kind === 'history')
      .flatMap(({ body }) => {
        const items = (body['item'] as Item[]).map(
          ({ nested_key, value_json }) => [nested_key[0], value_json] as const,
        );
        const step = Number(items.find(([key]) => key === '_step')![1]);
        return items
          .filter(([key, json]) => !key.startsWith('_') && !/^["{]/.test(json))
          .map(([name, json]) => ({ name, step, value: Number(json) }));
      });
    const exit = records.findLast(({ kind }) => kind === 'exit');
    return { values, status: exit && STATUS[Number(exit.body['exit_code'] ?? 0)] };
  },
};

itDoesWhatEveryTrackerDoes(subject);

/** The environment of a user whose service is on this machine. */
const environment = () => ({
  WANDB_BASE_URL: backend.url,
  WANDB_API_KEY: 'a'.repeat(40),
  WANDB_ERROR_REPORTING: 'false',
});

const sync = (dir: string) =>
  promisify(execFile)(python.bin('wandb'), ['sync', dir, '--yes'], {
    env: { ...process.env, ...environment() },
  });

async function recordRun() {
  const run = { name: 'first', tags: { sweep: '', team: 'a' } };
  const begun = await beginRun(wandbTracker({ upload: 'never' }), { config: CONFIG, run });
  const { bus } = begun;
  for (let step = 0; step < 2_000; step++) bus.log({ loss: 1 / (step + 1), 'train/acc': step }, { step });
  bus.log({ odd: NaN, 'system/cpu': 50 }, { step: 2_000 });
  bus.logText({ note: 'long '.repeat(30_000), 'alerts/nan': 'the loss is NaN' }, { step: 2_001 });
  bus.logImages({ 'val/digit': PICTURE }, { step: 2_002 });
  bus.logHistogram({ weights: [0, 1, 2, 3, 3] }, { step: 2_003, bins: 3 });
  bus.logTable('predictions', [{ label: 'a', p: 0.5 }], { step: 2_004 });
  bus.logArtifact('check point', makeArtifact(), { type: 'model' });
  const { dir } = bus.getTracker('wandb')!.client as WandbHandle;
  return { ...begun, dir };
}

it('wandb sync uploads every row, the summary, config, media, files and the end', async () => {
  const { bus, dir, id } = await recordRun();
  await bus.finish('failed');
  await sync(dir);
  const rows = backend.rows(id);
  expect(rows).toHaveLength(2_005);
  expect(rows.map(({ _step }) => _step)).toEqual(Array.from({ length: 2_005 }, (_, i) => i));
  expect(rows[9]).toMatchObject({ loss: 0.1, 'train/acc': 9 });
  expect(rows[2_000]).toMatchObject({ odd: 'NaN' });
  expect(rows[2_001]).toMatchObject({ note: 'long '.repeat(30_000), 'alerts/nan': 'the loss is NaN' });
  expect(rows[2_002]).toMatchObject({ 'val/digit': { _type: 'image-file', width: 3, height: 2 } });
  expect(rows[2_003]).toMatchObject({
    weights: { _type: 'histogram', values: [1, 1, 3], bins: [0, 1, 2, 3] },
  });
  expect(rows[2_004]).toMatchObject({ predictions: { _type: 'table-file', ncols: 2, nrows: 1 } });
  expect(backend.summary(id)).toMatchObject({ loss: 1 / 2_000, _step: 2_004 });
  expect(backend.upserts.find(({ name }) => name === id)).toMatchObject({
    displayName: 'first',
    project: 'digits',
    tags: ['sweep', 'team:a'],
  });
  const configs = backend.upserts.map(
    ({ config }) => JSON.parse(String(config)) as Record<string, { value: unknown }>,
  );
  expect(configs.at(-1)).toMatchObject({ lr: { value: 0.001 }, model: { value: CONFIG.model } });
  const image = [...backend.files].find(([path]) => path.startsWith('media/images/val/digit'))!;
  expect(image[1].subarray(1, 4).toString()).toBe('PNG');
  expect([...backend.files.keys()].some((path) => path.startsWith('media/table/predictions'))).toBe(true);
  expect(backend.artifacts).toMatchObject([
    { artifactCollectionName: 'check-point', artifactTypeName: 'model' },
  ]);
  expect(backend.files.get('artifact/weights/model.bin')).toEqual(Buffer.alloc(300_000, 7));
  expect(backend.committed).toHaveLength(1);
  expect(backend.alerts).toMatchObject([{ title: 'nan', text: 'the loss is NaN' }]);
  const events = backend.streams.get(id)!['wandb-events.jsonl']!.flatMap(({ content }) => content);
  expect(events.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ 'system.cpu': 50 }]);
  expect(backend.exits.get(id)).toBe(1);
});

it('a file that ends inside a record is uploaded up to there', async () => {
  const { bus, dir, id } = await recordRun();
  await bus.finish('completed');
  const [path] = filesOf(join(dir, '..', '..')) as [string];
  truncateSync(path, Math.floor(statSync(path).size / 2));
  await sync(dir).catch(() => undefined);
  const steps = backend.rows(id).map(({ _step }) => _step);
  expect(steps.length).toBeGreaterThan(100);
  expect(steps).toEqual(steps.map((_, i) => i));
});

it('a resumed run is appended', async () => {
  const projectDir = newFolder();
  const first = await beginRun(wandbTracker({ upload: 'never' }), { projectDir });
  first.bus.log({ loss: 1 }, { step: 0 });
  await first.bus.finish('aborted');
  const second = await beginRun(wandbTracker({ upload: 'never' }), { projectDir, run: { resume: first.id } });
  second.bus.log({ loss: 2 }, { step: 1 });
  await second.bus.finish('completed');
  await sync(join(first.dir, 'wandb'));
  expect(backend.rows(first.id)).toMatchObject([
    { loss: 1, _step: 0 },
    { loss: 2, _step: 1 },
  ]);
});

it('the last row of a killed run is written by the next training', async () => {
  const projectDir = newFolder();
  const script = new URL('./wandb-killed.ts', import.meta.url);
  const [killed] = await runRanks({ script, ranks: 1, args: [projectDir] });
  expect(killed!.signal, killed!.stderr).toBe('SIGKILL');
  const [id] = readdirSync(join(projectDir, 'runs', 'digits')) as [string];
  const make = () => wandbTracker({ upload: 'never' });
  const next = await beginRun(make(), { projectDir, make });
  await next.bus.finish('completed');
  await sync(join(projectDir, 'runs', 'digits', id, 'wandb'));
  expect(backend.rows(id)).toMatchObject([0, 1, 2].map((step) => ({ loss: step, _step: step })));
  expect(backend.exits.get(id)).toBe(1);
});

describe('the upload', () => {
  it.each(['end', 'live'] as const)('at the %s', async (upload) => {
    Object.assign(process.env, environment());
    const tracker = wandbTracker({ upload, program: python.bin('wandb') });
    const { bus, id } = await beginRun(tracker);
    for (let step = 0; step < 100; step++) bus.log({ loss: step }, { step });
    await bus.finish('completed');
    expect(backend.rows(id)).toHaveLength(100);
    expect(backend.exits.get(id)).toBe(0);
  });

  it('to a service that is down ends in time, and prints how to upload later', async () => {
    Object.assign(process.env, environment(), { WANDB_BASE_URL: 'http://127.0.0.1:9' });
    const said: string[] = [];
    const log = console.log;
    console.log = (line: string) => said.push(line);
    try {
      const { bus, dir } = await beginRun(wandbTracker({ program: python.bin('wandb'), uploadMs: 3_000 }));
      bus.log({ loss: 1 }, { step: 0 });
      await bus.finish('completed');
      const without = await beginRun(wandbTracker({ program: 'no-such-program' }));
      await without.bus.finish('completed');
      expect(said).toHaveLength(2);
      expect(said[0]).toContain(`wandb sync ${dir}`);
      expect(said[1]).toContain('pip install wandb');
    } finally {
      console.log = log;
    }
  });
});
