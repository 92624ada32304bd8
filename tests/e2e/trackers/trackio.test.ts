import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { trackioTracker } from 'acc-tracker-trackio';
import { freePort, type TrackerSubject } from '@acc/testkit';
import { startServer, type Background } from './background.js';
import { venv } from './python/venv.js';
import { itDoesWhatEveryTrackerDoes } from './every-tracker.js';
import { beginRun, CONFIG, newFolder } from './record-run.js';

const port = await freePort('127.0.0.1');
const url = `http://127.0.0.1:${port}`;
const writeToken = 'a-token-of-the-test';
const folder = newFolder();
let server: Background;

async function start(): Promise<void> {
  const python = await venv('trackio');
  const script = join(import.meta.dirname, 'python', 'serve_trackio.py');
  const env = { TRACKIO_DIR: folder, TRACKIO_WRITE_TOKEN: writeToken, HF_HUB_OFFLINE: '1' };
  server = await startServer(python.bin('python'), [script, String(port)], { url: `${url}/version`, env });
}

beforeAll(start, 600_000);
afterAll(() => server.stop());

type Row = Record<string, unknown> & { readonly step: number };

async function ask<T>(name: string, body: object): Promise<T> {
  const response = await fetch(`${url}/api/${name}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });
  if (!response.ok) throw new Error(`${name}: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { data: T }).data;
}

const rowsOf = (project: string, run_id: string) => ask<Row[]>('get_logs', { project, run_id });

/** Reads Trackio's database, because its other answers have null for NaN and infinities. */
async function storedRows(project: string, runId: string): Promise<{ step: number; metrics: string }[]> {
  const projects = await ask<string[]>('get_all_projects', {});
  if (!projects.includes(project)) return [];
  const query = `SELECT step, metrics FROM metrics WHERE run_id = '${runId}' ORDER BY id`;
  return (await ask<{ rows: { step: number; metrics: string }[] }>('query_project', { project, query })).rows;
}

const subject: TrackerSubject = {
  make: () => trackioTracker({ url, writeToken }),
  makeWith: (options) => trackioTracker(options),
  async read({ project, id }) {
    const values = (await storedRows(project, id)).flatMap(({ step, metrics }) =>
      Object.entries(JSON.parse(metrics) as Record<string, unknown>)
        .filter(([, value]) => typeof value !== 'object')
        .map(([name, value]) => ({ name, step, value: Number(value) })),
    );
    return { values };
  },
  keepsStatus: false,
  async interrupt() {
    await server.stop();
    return start;
  },
};

itDoesWhatEveryTrackerDoes(subject);

it('a run has its metrics, config, text, tables, alerts and system figures', async () => {
  const { bus, id } = await beginRun(trackioTracker({ url: `${url}/?write_token=${writeToken}` }), {
    config: CONFIG,
    run: { name: 'first' },
  });
  for (let step = 0; step < 1_000; step++) bus.log({ loss: step, 'system/cpu': 7 }, { step });
  bus.logText({ note: '**hello**', 'alerts/nan': 'the loss is NaN' }, { step: 1_000 });
  bus.logTable('mistakes', [{ label: 'a', p: 0.5 }], { step: 1_001 });
  await bus.finish('completed');
  const rows = await rowsOf('digits', id);
  const losses = rows.filter((row) => 'loss' in row);
  expect(losses.map(({ step, loss }) => [step, loss])).toEqual(
    Array.from({ length: 1_000 }, (_, i) => [i, i]),
  );
  expect(rows.find((row) => 'note' in row)).toMatchObject({
    step: 1_000,
    note: { _type: 'trackio.markdown', _value: '**hello**' },
  });
  expect(rows.find((row) => 'mistakes' in row)).toMatchObject({
    mistakes: { _value: [{ label: 'a', p: 0.5 }] },
  });
  const alerts = await ask<unknown[]>('get_alerts', { project: 'digits', run_id: id });
  expect(alerts).toMatchObject([{ title: 'nan', text: 'the loss is NaN', step: 1_000 }]);
  const system = await ask<unknown[]>('get_system_logs', { project: 'digits', run_id: id });
  expect(system).toHaveLength(1_000);
  const configs = await ask<Record<string, object>>('get_run_configs', { project: 'digits' });
  expect(Object.values(configs)).toMatchObject([{ lr: 0.001, model: CONFIG.model }]);
});

it('a wrong token stops initTrackers', async () => {
  const starting = beginRun(trackioTracker({ url, writeToken: 'wrong' }));
  await expect(starting).rejects.toMatchObject({ code: 'ACC_TRACKER_START' });
  expect(() => trackioTracker({ url })).toThrow(expect.objectContaining({ code: 'ACC_INVALID_OPTION' }));
  expect(() => trackioTracker({ writeToken })).toThrow(
    expect.objectContaining({ code: 'ACC_INVALID_OPTION' }),
  );
});

it("Trackio's own variables give what the options do not", () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  const refused = expect.objectContaining({ code: 'ACC_INVALID_OPTION' });
  vi.stubEnv('TRACKIO_WRITE_TOKEN', writeToken);
  expect(() => trackioTracker({ url })).not.toThrow();
  expect(() => trackioTracker()).toThrow(refused);
  vi.stubEnv('TRACKIO_SERVER_URL', url);
  expect(() => trackioTracker()).not.toThrow();
});
