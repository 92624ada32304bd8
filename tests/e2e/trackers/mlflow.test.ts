import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunStatus } from '@acc/contract';
import { freePort, type TrackerSubject } from '@acc/testkit';
import type { TrackerBus } from '@acc/tracker';
import { mlflowTracker, type MlflowOptions } from '@acc/tracker-mlflow';
import { MlflowServer } from './mlflow-server.js';
import { itDoesWhatEveryTrackerDoes } from './every-tracker.js';
import { beginRun, CONFIG, makeArtifact, newFolder, PICTURE, until, writeModel } from './record-run.js';

const server = new MlflowServer(await freePort('127.0.0.1'));

beforeAll(() => server.start(), 600_000);

afterAll(() => server.stop());

const make = (options: MlflowOptions = {}) => mlflowTracker({ url: server.url, ...options });
const pairs = (list: readonly { key: string; value: unknown }[] = []) =>
  Object.fromEntries(list.map(({ key, value }) => [key, value]));

const STATUS: Record<string, RunStatus> = { FINISHED: 'completed', FAILED: 'failed', KILLED: 'aborted' };

const subject: TrackerSubject = {
  make,
  makeWith: (options) => mlflowTracker(options),
  async read(_run, runId) {
    // A run that was never begun has no id of MLflow's form.
    if (!/^[0-9a-f]{32}$/.test(runId)) return { values: [] };
    const { info, data } = await server.run(runId);
    const names = (data.metrics ?? []).map(({ key }) => key);
    const histories = names.map(async (name) =>
      (await server.history(runId, name)).map(({ step, value }) => ({ name, step, value: Number(value) })),
    );
    return { values: (await Promise.all(histories)).flat(), status: STATUS[info.status] };
  },
  async interrupt() {
    await server.stop();
    return () => server.start();
  },
};

/** The id that MLflow gives a run. A tracker whose start takes long starts in the background, without one yet. */
async function startedRun(bus: TrackerBus): Promise<string> {
  const tracker = bus.getTracker('mlflow')!;
  await until(() => tracker.runId !== undefined);
  return tracker.runId!;
}

itDoesWhatEveryTrackerDoes(subject);

it('a run has its metrics, params, tags, text, images, tables and files', async () => {
  const { bus } = await beginRun(make(), {
    config: CONFIG,
    run: { name: 'first', tags: { team: 'a', b: '' } },
  });
  for (let step = 0; step < 3_000; step++) bus.log({ loss: 1 / (step + 1), 'train/acc': step }, { step });
  bus.log({ 'system/cpu_utilization_percentage': 50, 'odd name, with (brackets)': 1 }, { step: 1 });
  bus.logText({ note: 'hello ✓' }, { step: 4 });
  bus.logImages({ 'val/digit': PICTURE }, { step: 5 });
  bus.logTable(
    'predictions',
    [
      { label: 'a', p: 0.5 },
      { label: 'b', p: null },
    ],
    { step: 6 },
  );
  bus.logArtifact('checkpoint', makeArtifact(), { type: 'model' });
  const tracker = bus.getTracker('mlflow')!;
  await bus.finish('completed');
  const runId = tracker.runId!;
  const { info, data } = await server.run(runId);
  expect(info).toMatchObject({ status: 'FINISHED', run_name: 'first' });
  expect(pairs(data.params)).toEqual({
    lr: '0.001',
    'model.layers': '[32,10]',
    'model.name': 'convnet',
    amp: 'true',
  });
  const tags = pairs(data.tags);
  expect(tags).toMatchObject({ team: 'a', b: '', 'mlflow.loggedImages': 'True' });
  const loss = await server.history(runId, 'loss');
  expect(loss.map(({ step }) => step)).toEqual(Array.from({ length: 3_000 }, (_, i) => i));
  expect(loss[6]!.value).toBe(1 / 7);
  expect(pairs(data.metrics)).toMatchObject({
    'system/cpu_utilization_percentage': 50,
    'odd name_ with _brackets_': 1,
  });
  const files = await server.artifacts(runId);
  const images = files.filter((path) => path.startsWith('images/'));
  expect(images).toEqual([
    expect.stringMatching(/^images\/val~digit\+step\+5\+timestamp\+\d+\+.*\.png$/),
    expect.stringMatching(/\.webp$/),
  ]);
  expect((await server.artifact(runId, images[0]!)).subarray(1, 4).toString()).toBe('PNG');
  expect((await server.artifact(runId, 'text/note/4.txt')).toString()).toBe('hello ✓');
  expect(JSON.parse((await server.artifact(runId, 'tables/predictions/6.json')).toString())).toEqual({
    columns: ['label', 'p'],
    data: [
      ['a', 0.5],
      ['b', null],
    ],
  });
  expect(JSON.parse(tags['mlflow.loggedArtifacts'] as string)).toEqual([
    { path: 'tables/predictions/6.json', type: 'table' },
  ]);
  expect(await server.artifact(runId, 'checkpoint/weights/model.bin')).toEqual(Buffer.alloc(300_000, 7));
  expect(files).toContain('checkpoint/state.json');
});

it('a model is registered as the next version, to which its alias points', async () => {
  const { bus, said } = await beginRun(make());
  const options = { registeredName: "digits' nets", aliases: ['champion'] };
  await bus.logModel('net', { ...options, step: 3 }, writeModel);
  await bus.logModel('net', { ...options, step: 7 }, writeModel);
  await bus.logModel('other', { registeredName: 'other', aliases: ['latest'] }, writeModel);
  const runId = await startedRun(bus);
  await bus.finish('completed');
  // A request may be sent again meanwhile.
  expect(said.join('\n')).toContain("MLflow reserves the alias 'latest'");
  const query = { name: options.registeredName, alias: 'champion' };
  const { model_version: found } = await server.call<{ model_version: { source: string } }>(
    'GET',
    'registered-models/alias',
    query,
  );
  expect(found).toMatchObject({ version: '2', run_id: runId, status: 'READY' });
  expect(found.source).toMatch(/\/models\/net\/7-\d+$/);
  const files = (await server.artifacts(runId)).map((path) => path.replace(/-\d+\//, '/'));
  expect(files).toEqual(
    expect.arrayContaining(['models/net/7/model.json', 'models/other/0/model.safetensors']),
  );
});

it('a server that is restarted during a run loses and doubles nothing', async () => {
  const { bus, said } = await beginRun(make(), { limits: { retryMinMs: 100, batchMs: 100 } });
  const runId = await startedRun(bus);
  const log = (from: number, count: number) => {
    for (let step = from; step < from + count; step++) bus.log({ loss: step }, { step });
  };
  log(0, 1_000);
  await until(async () => (await server.history(runId, 'loss')).length === 1_000);
  log(1_000, 2_000);
  await server.stop();
  log(3_000, 6_000);
  await until(() => said.length > 0);
  const starting = server.start();
  log(9_000, 1_000);
  await starting;
  await bus.finish('completed');
  const history = await server.history(runId, 'loss');
  expect(history.map(({ step }) => step)).toEqual(Array.from({ length: 10_000 }, (_, i) => i));
  expect((await server.run(runId)).info.status).toBe('FINISHED');
});

it('a server that is down until the end gets the run from the next run', async () => {
  const projectDir = newFolder();
  const limits = { retryMinMs: 100, endDownMs: 300 };
  const first = await beginRun(make(), { projectDir, limits, config: CONFIG });
  const runId = await startedRun(first.bus);
  first.bus.log({ loss: 1 }, { step: 0 });
  await until(async () => ((await server.run(runId)).data.metrics ?? []).length === 1);
  await server.stop();
  for (let step = 1; step < 700; step++) first.bus.log({ loss: 1 }, { step });
  await first.bus.finish('failed');
  expect(first.said.at(-1)).toContain('unsent');
  await server.start();
  const second = await beginRun(make(), { projectDir, make });
  await second.bus.finish('completed');
  expect(await server.history(runId, 'loss')).toHaveLength(700);
  expect((await server.run(runId)).info.status).toBe('FAILED');
});

it('a run continues by our id, and by that of MLflow; a changed param becomes a tag', async () => {
  const projectDir = newFolder();
  const first = await beginRun(make(), { projectDir, config: { lr: 1, wd: 2 } });
  first.bus.log({ loss: 1 }, { step: 0 });
  const runId = await startedRun(first.bus);
  await first.bus.finish('aborted');
  const second = await beginRun(make(), {
    projectDir,
    config: { lr: 3, wd: 2, new: 4 },
    run: { resume: first.id },
  });
  second.bus.log({ loss: 2 }, { step: 1 });
  expect(second.bus.getTracker('mlflow')!.runId).toBe(runId);
  expect((await server.run(runId)).info.status).toBe('RUNNING');
  await second.bus.finish('completed');
  const third = await beginRun(make({ runId: runId }));
  third.bus.log({ loss: 3 }, { step: 2 });
  await third.bus.finish('completed');
  expect((await server.history(runId, 'loss')).map(({ value }) => value)).toEqual([1, 2, 3]);
  const { data, info } = await server.run(runId);
  expect(info.status).toBe('FINISHED');
  expect(pairs(data.params)).toEqual({ lr: '1', wd: '2', new: '4' });
  expect(pairs(data.tags)).toMatchObject({ 'config.lr': '3' });
});

it('a url that is not an MLflow server stops initTrackers, with advice', async () => {
  const starting = beginRun(mlflowTracker({ url: `${server.url}/elsewhere` }));
  await expect(starting).rejects.toMatchObject({ code: 'ACC_TRACKER_START' });
  expect(() => mlflowTracker({})).toThrow(expect.objectContaining({ code: 'ACC_INVALID_OPTION' }));
  expect(() => mlflowTracker({ url: 'databricks' })).toThrow(
    expect.objectContaining({ code: 'ACC_INVALID_OPTION' }),
  );
});
