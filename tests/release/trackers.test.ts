import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { clearmlTracker } from 'acc-tracker-clearml';
import { cometTracker, type CometHandle } from 'acc-tracker-comet';
import { dvcliveTracker } from 'acc-tracker-dvclive';
import { afterEach, expect, it, vi } from 'vitest';
import {
  ACCESS_KEY,
  ClearmlBackend,
  SECRET_KEY,
} from '../../packages/acc-tracker-clearml/src/testing/clearml-backend.js';
import type { Reader } from '../e2e/trackers/python/reader.js';
import { venv } from '../e2e/trackers/python/venv.js';
import { beginRun, CONFIG, makeArtifact, newFolder, PICTURE } from '../e2e/trackers/record-run.js';
import { CometBackend } from './comet-backend.js';

interface Metric {
  readonly metricName: string;
  readonly metricValue: number | string;
  readonly step: number;
}

let reader: Reader | undefined;
afterEach(() => reader?.close());

it('DVC and DVCLive find metrics, curves, parameters, images and artifacts', async () => {
  const root = newFolder();
  const { bus } = await beginRun(dvcliveTracker({ dir: join(root, 'dvclive') }), { config: CONFIG });
  for (let step = 0; step < 3; step++) bus.log({ loss: 1 / (step + 1), 'val/acc': step }, { step });
  bus.log({ odd: NaN, 'val/high': Infinity }, { step: 3 });
  bus.logImages({ 'val/digit': PICTURE }, { step: 3 });
  bus.logArtifact('check point', makeArtifact(), { type: 'model' });
  await bus.finish('completed');
  const python = await venv('dvclive');
  reader = python.reader('read_dvclive.py');
  const metrics = { loss: 1 / 3, val: { acc: 2, high: 'inf' }, odd: 'nan', step: 3 };
  const curve = (name: string, values: readonly unknown[]) =>
    values.map((value, step) => ({ step: String(step), [name]: String(value) }));
  expect(await reader.ask(root)).toEqual({
    metrics,
    params: CONFIG,
    plots: {
      'dvclive/plots/metrics/loss.tsv': curve('loss', [1, 1 / 2, 1 / 3]),
      'dvclive/plots/metrics/val/acc.tsv': curve('acc', [0, 1, 2]),
      'dvclive/plots/metrics/odd.tsv': [{ step: '3', odd: 'nan' }],
      'dvclive/plots/metrics/val/high.tsv': [{ step: '3', high: 'inf' }],
    },
    images: ['dvclive/plots/images/val/digit/3.png'],
    artifacts: { 'check-point': ['artifacts/check-point', 'model'] },
    history: 4,
    latest: metrics,
    nextStep: 4,
  });
});

it('the requests to ClearML follow its schemas, and its client finds what they stored', async () => {
  const backend = new ClearmlBackend();
  await backend.open();
  const { url } = backend;
  const keys = { accessKey: ACCESS_KEY, secretKey: SECRET_KEY };
  const run = { name: 'first', tags: { sweep: '', team: 'a' } };
  const tracker = clearmlTracker({ url, filesUrl: url, ...keys });
  const { bus } = await beginRun(tracker, { config: CONFIG, run });
  for (let step = 0; step < 3; step++) bus.log({ loss: 1 / (step + 1), 'val/acc': step }, { step });
  bus.log({ odd: NaN }, { step: 3 });
  bus.logText({ note: 'warm-up done' }, { step: 3 });
  bus.logImages({ 'val/digit': PICTURE }, { step: 3 });
  bus.logHistogram({ weights: [0, 1, 2, 3, 3] }, { step: 3, bins: 3 });
  bus.logTable('predictions', [{ label: 'a', p: 0.5 }], { step: 4 });
  bus.logArtifact('check point', makeArtifact(), { type: 'model' });
  await bus.finish('failed');
  const requests = join(newFolder(), 'requests.json');
  writeFileSync(requests, JSON.stringify(backend.requests));
  vi.stubEnv('CLEARML_API_HOST', url);
  vi.stubEnv('CLEARML_WEB_HOST', url);
  vi.stubEnv('CLEARML_FILES_HOST', url);
  vi.stubEnv('CLEARML_API_ACCESS_KEY', ACCESS_KEY);
  vi.stubEnv('CLEARML_API_SECRET_KEY', SECRET_KEY);
  vi.stubEnv('CLEARML_CACHE_DIR', newFolder());
  const python = await venv('clearml');
  reader = python.reader('read_clearml.py');
  const scalar = (name: string, y: readonly number[]) => ({ [name]: { name, x: [0, 1, 2], y } });
  const table = { type: 'table', header: { values: ['label', 'p'] }, cells: { values: [['a'], [0.5]] } };
  const bars = { type: 'bar', x: [0.5, 1.5, 2.5], y: [1, 1, 3], width: [1, 1, 1] };
  const found = await reader.ask(`${tracker.runId} ${requests}`);
  vi.unstubAllEnvs();
  await backend.close();
  expect(found).toEqual({
    name: 'first',
    status: 'failed',
    tags: ['sweep', 'team:a'],
    project: 'digits',
    parameters: {
      'General/lr': '0.001',
      'General/model.layers': '[32,10]',
      'General/model.name': 'convnet',
      'General/amp': 'true',
    },
    scalars: { loss: scalar('loss', [1, 1 / 2, 1 / 3]), val: scalar('acc', [0, 1, 2]) },
    plots: [
      ['weights', 3, { data: [bars], layout: { bargap: 0 } }],
      ['predictions', 4, { data: [table], layout: {} }],
    ],
    console: ['odd = NaN at step 3', 'note: warm-up done'],
    artifacts: {
      'check point/state.json': Buffer.from('{"step": 3}').toString('hex'),
      'check point/weights/model.bin': '07'.repeat(300_000),
    },
  });
});

it('comet upload sends metrics, parameters, output, images, assets, models and the end', async () => {
  const backend = new CometBackend();
  await backend.open();
  const run = { name: 'first', tags: { sweep: '', team: 'a' } };
  const { bus } = await beginRun(cometTracker({ workspace: 'us' }), { config: CONFIG, run });
  for (let step = 0; step < 3; step++) bus.log({ loss: 1 / (step + 1), 'system/cpu': 7 }, { step });
  bus.log({ odd: NaN }, { step: 3 });
  bus.logText({ note: 'warm-up done' }, { step: 3 });
  bus.logImages({ 'val/digit': PICTURE }, { step: 3 });
  bus.logArtifact('check point', makeArtifact(), { type: 'checkpoint' });
  bus.logArtifact('net', makeArtifact(), { type: 'model' });
  const { archive, experimentKey } = bus.getTracker('comet')!.client as CometHandle;
  await bus.finish('failed');
  const python = await venv('comet');
  const env = {
    ...process.env,
    COMET_URL_OVERRIDE: `${backend.url}/clientlib/`,
    COMET_API_KEY: 'key',
    HOME: newFolder(),
  };
  await promisify(execFile)(python.bin('comet'), ['upload', archive], { env });
  await backend.close();
  expect(backend.bodies('add/run')).toMatchObject([{ projectName: 'digits', teamName: 'us', experimentKey }]);
  expect(backend.bodies('tags/add-tags-to-experiment')).toMatchObject([{ addedTags: ['sweep', 'team:a'] }]);
  expect(backend.bodies('experiment/log-other')).toMatchObject([{ key: 'Name', value: 'first' }]);
  expect(backend.bodies('experiment/update-status')).toMatchObject([{ error: 'failed' }]);
  const values = backend.bodies('experiment/metric').flatMap((body) => body['values'] as Metric[]);
  const shown = values.map(({ metricName, metricValue, step }) => [metricName, metricValue, step]);
  expect(shown).toEqual([
    ...[0, 1, 2].flatMap((step) => [
      ['loss', 1 / (step + 1), step],
      ['sys.cpu', 7, step],
    ]),
    ['odd', 'NaN', 3],
  ]);
  expect(backend.bodies('experiment/parameter')).toMatchObject([
    {
      values: [
        { parameterName: 'lr', parameterValue: 0.001 },
        { parameterName: 'model.layers', parameterValue: '[32,10]' },
        { parameterName: 'model.name' },
        { parameterName: 'amp', parameterValue: true },
      ],
    },
  ]);
  expect(backend.bodies('experiment/output')).toMatchObject([
    { outputLines: [{ output: 'note: warm-up done\n', stderr: false }] },
  ]);
  const files = backend.requests.filter(({ file }) => file !== undefined);
  const kinds = files.map(({ action, query }) => [
    action,
    query['figName'] ?? query['fileName'],
    query['groupingName'],
  ]);
  expect(kinds.sort()).toEqual([
    ['asset/upload', 'check point/state.json', undefined],
    ['asset/upload', 'check point/weights/model.bin', undefined],
    ['asset/upload', 'net/state.json', 'net'],
    ['asset/upload', 'net/weights/model.bin', 'net'],
    ['visualizations/upload', 'val/digit', undefined],
  ]);
  expect(files.find(({ query }) => query['fileName'] === 'net/state.json')!.file).toBe('{"step": 3}');
});
