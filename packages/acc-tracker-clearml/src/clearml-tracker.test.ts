import { mkdtempSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { RunInfo, RunStatus, Tracker } from '@acc/contract';
import { trackerCasesFor, type TrackerSubject } from '@acc/testkit';
import { clearmlTracker, type ClearmlHandle } from './clearml-tracker.js';
import { resolveOptions } from './options.js';
import { ACCESS_KEY, ClearmlBackend, SECRET_KEY, type StoredEvent } from './testing/clearml-backend.js';

const backend = new ClearmlBackend();
const keys = { accessKey: ACCESS_KEY, secretKey: SECRET_KEY };
const make = () => clearmlTracker({ url: backend.url, filesUrl: backend.url, ...keys });
beforeAll(() => backend.open());
afterAll(() => backend.close());

const STATUS: Readonly<Record<string, RunStatus>> = {
  completed: 'completed',
  failed: 'failed',
  stopped: 'aborted',
};

function valueOf({ type, metric, variant, iter, value, msg }: StoredEvent) {
  if (type !== 'log')
    return { name: metric === variant ? metric! : `${metric}/${variant}`, step: iter!, value: value! };
  const [, name, odd, step] = /^(.*) = (\S+) at step (\d+)$/.exec(msg!) ?? [];
  return { name: name ?? 'text', step: Number(step), value: Number(odd) };
}

const subject: TrackerSubject = {
  make,
  makeWith: (options) => clearmlTracker({ ...keys, ...options }),
  read(_run, runId) {
    const events = [...backend.eventsOf(runId, 'training_stats_scalar'), ...backend.eventsOf(runId, 'log')];
    return { values: events.map(valueOf), status: STATUS[backend.tasks.get(runId)?.status ?? ''] };
  },
  async interrupt() {
    await backend.close();
    return () => backend.open();
  },
};

describe('clearmlTracker passes the conformance case', () => {
  it.each(trackerCasesFor(subject).map((one) => [one.name, one] as const))('%s', async (_name, one) => {
    await one.run(subject);
  });
});

const run = (id: string, startTimeMs = Date.now()): RunInfo => {
  const tags = { sweep: '', team: 'a' };
  return { project: 'di.gits', id, name: `run ${id}`, tags, dir: tmpdir(), startTimeMs, rank: 0, size: 1 };
};
const stamp = { sequence: 0, timeMs: 5_000, signal: new AbortController().signal };

async function begun(id: string): Promise<Tracker & { readonly runId: string }> {
  const tracker = make();
  await tracker.start(run(id));
  return tracker as Tracker & { runId: string };
}

it('a task has its project, tags, parameters, titles and series', async () => {
  const tracker = await begun('a');
  const { runId } = tracker;
  const project = backend.projects.get('di.gits');
  expect(backend.tasks.get(runId)).toMatchObject({
    name: 'run a',
    type: 'training',
    project,
    tags: ['sweep', 'team:a'],
    status: 'in_progress',
  });
  await tracker.log(1, { loss: 2, 'val/top/acc': 1, 'loss/loss': 3, 'system/cpu': 4, '/x': 5 }, stamp);
  const places = backend
    .eventsOf(runId, 'training_stats_scalar')
    .map(({ metric, variant }) => [metric, variant]);
  expect(places).toEqual([
    ['loss', 'loss'],
    ['val/top', 'acc'],
    ['loss/loss', 'loss/loss'],
    [':monitor:machine', 'cpu'],
    ['/x', '/x'],
  ]);
  await tracker.logConfig!({ lr: 0.1, model: { layers: [3] } }, stamp);
  await tracker.logConfig!({}, stamp);
  expect(backend.tasks.get(runId)!.hyperparams).toMatchObject({
    General: { lr: { value: '0.1' }, 'model.layers': { value: '[3]' } },
  });
});

it('a task has images, plots and artifacts', async () => {
  const tracker = await begun('files');
  const { runId } = tracker;
  await tracker.logImage!(2, 'val/a?b', { width: 1, height: 1, png: Uint8Array.of(7) }, stamp);
  const [image] = backend.eventsOf(runId, 'training_debug_image');
  expect(image).toMatchObject({ metric: 'val', variant: 'a?b', iter: 2, timestamp: 5_000 });
  expect(Buffer.from(await (await fetch(image!.url!)).arrayBuffer())).toEqual(Buffer.of(7));
  const histogram = { edges: [0, 1, 3], counts: [5, 6], min: 0, max: 3, sum: 1, sumSquares: 1, nonFinite: 0 };
  await tracker.logHistogram!(3, 'weights', histogram, stamp);
  await tracker.logTable!(
    4,
    'mistakes',
    {
      columns: ['a', 'b'],
      rows: [
        [1, 'x'],
        [2, NaN],
      ],
    },
    stamp,
  );
  const figures = backend
    .eventsOf(runId, 'plot')
    .map(({ plot_str }) => JSON.parse(plot_str!) as { data: object[] });
  expect(figures.map(({ data }) => data[0])).toEqual([
    { type: 'bar', x: [0.5, 2], y: [5, 6], width: [1, 2] },
    {
      type: 'table',
      header: { values: ['a', 'b'] },
      cells: {
        values: [
          [1, 2],
          ['x', 'NaN'],
        ],
      },
    },
  ]);
  const path = join(mkdtempSync(join(tmpdir(), 'acc-clearml-')), 'model.bin');
  writeFileSync(path, 'content');
  const files = [{ name: '../model.bin', path, bytes: 7 }];
  await tracker.logArtifact!(5, { name: 'net', type: 'model', files }, stamp);
  const [artifact] = backend.tasks.get(runId)!.execution.artifacts;
  expect(artifact).toMatchObject({ key: 'net/../model.bin', type: 'model', mode: 'output', content_size: 7 });
  expect(await (await fetch(String(artifact!['uri']))).text()).toBe('content');
  expect([...backend.files.keys()].at(-1)).toBe(
    `di.gits/run files.${runId}/artifacts/net/0x2e0x2e/model.bin`,
  );
});

it('a start whose answer was lost finds its task; a token that has expired is replaced', async () => {
  const first = await begun('lost');
  const second = make();
  await second.start(run('lost', Date.now() - 60_000));
  expect(second.runId).toBe(first.runId);
  const before = backend.tokens++;
  await Promise.all([1, 2, 3].map(async (step) => second.log(step, { a: step }, stamp)));
  expect(backend.eventsOf(first.runId, 'training_stats_scalar')).toHaveLength(3);
  expect(backend.tokens).toBeGreaterThan(before + 1);
  const { call } = second.client as ClearmlHandle;
  expect(await call('tasks.get_by_id', { task: first.runId })).toMatchObject({
    task: { status: 'in_progress' },
  });
});

it('wrong keys, a task that is gone and a server of files that is not known are refused with a reason', async () => {
  const wrong = clearmlTracker({ url: backend.url, accessKey: ACCESS_KEY, secretKey: 'wrong' });
  const code = 'ACC_TRACKER_REFUSED';
  const message = 'ClearML: Unauthorized (invalid credentials)';
  await expect(wrong.start(run('b'))).rejects.toMatchObject({
    code,
    message: expect.stringContaining(message) as string,
    help: expect.stringContaining('CLEARML_API_ACCESS_KEY') as string,
  });
  const tracker = clearmlTracker({ url: backend.url, ...keys });
  await tracker.start(run('c'));
  const image = { width: 1, height: 1, png: Uint8Array.of(7) };
  await expect(tracker.logImage!(1, 'a', image, stamp)).rejects.toMatchObject({
    code,
    help: expect.stringContaining('filesUrl') as string,
  });
  backend.tasks.delete(tracker.runId!);
  await expect(tracker.log(1, { a: 1 }, stamp)).rejects.toMatchObject({ code });
  await expect(make().resume!(run('c'), tracker.runId!)).rejects.toMatchObject({
    code,
    message: expect.stringContaining('Invalid task id') as string,
  });
});

it.each(['<html>', '{"meta":{}}', '{"data":{"token":7}}', 'null'])(
  'a server that answers %s is not taken for an API server',
  async (body) => {
    const web = createServer((_request, response) => void response.end(body)).listen(0, '127.0.0.1');
    await once(web, 'listening');
    const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
    await expect(clearmlTracker({ url, ...keys }).start(run('d'))).rejects.toMatchObject({
      code: 'ACC_TRACKER_REFUSED',
      message: expect.stringContaining(`${url}/auth.login`) as string,
      help: expect.stringContaining('8008') as string,
    });
    web.closeAllConnections();
    web.close();
  },
);

it('an attempt to start that ends late does not change the task', async () => {
  const tracker = make();
  const open = backend.hold('tasks.create');
  const late = tracker.start(run('e'));
  await vi.waitUntil(() => backend.held > 0);
  await tracker.start(run('e'));
  const { runId } = tracker;
  open();
  await late;
  expect(backend.tasks.size).toBeGreaterThan(1);
  expect(tracker.runId).toBe(runId);
});

it('reads the variables of ClearML, and finds the server of files', () => {
  vi.stubEnv('CLEARML_API_ACCESS_KEY', 'key');
  expect(() => clearmlTracker()).toThrow(expect.objectContaining({ code: 'ACC_INVALID_OPTION' }));
  vi.stubEnv('CLEARML_API_SECRET_KEY', 'secret');
  const filesOf = (url: string | undefined) => resolveOptions(url === undefined ? {} : { url }).filesUrl;
  expect([undefined, 'http://box:8008/', 'https://api.me.org:444', 'http://box:1'].map(filesOf)).toEqual([
    'https://files.clear.ml',
    'http://box:8081',
    'https://files.me.org:444',
    undefined,
  ]);
  vi.stubEnv('CLEARML_API_HOST', 'ftp://box');
  expect(() => clearmlTracker()).toThrow(expect.objectContaining({ code: 'ACC_INVALID_OPTION' }));
  vi.unstubAllEnvs();
});
