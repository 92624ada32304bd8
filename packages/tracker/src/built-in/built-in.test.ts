import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Tracker } from '@acc/contract';
import { startBus, type StartOptions } from '../testing/bus.js';
import { consoleTracker } from './console.js';
import { csvTracker } from './csv.js';
import { jsonlTracker } from './jsonl.js';

afterEach(() => vi.restoreAllMocks());

/** Logs some of everything that the tracker takes. */
async function record(tracker: Tracker, options: StartOptions = {}) {
  const config = { lr: 0.1, model: { layers: [1, 2], name: 'a,"b"' } };
  const started = await startBus([{ tracker }], { config, ...options });
  const { bus } = started;
  bus.log({ loss: 0.5 }, { step: 0 });
  bus.log({ loss: NaN, 'acc,"top 1"': Infinity }, { step: 1 });
  bus.log({ 'acc,"top 1"': 2, 'system/rank_0/cpu_percentage': 50 }, { step: 2 });
  if (tracker.logText) bus.logText({ note: 'a\nb' }, { step: 3 });
  if (tracker.logTable) bus.logTable('t', [{ a: 1, b: NaN }], { step: 4 });
  if (tracker.logImage)
    bus.logImages({ 'x/y': { width: 1, height: 1, data: Uint8Array.of(7) } }, { step: 5 });
  if (tracker.logHistogram) bus.logHistogram({ h: [1, 2, 3] }, { step: 6, bins: 2 });
  if (tracker.logArtifact) bus.logArtifact('code', import.meta.filename, { type: 'code' });
  await bus.finish('completed');
  return started;
}

describe('jsonl', () => {
  it('writes a line for each call', async () => {
    const { runDir } = await record(jsonlTracker());
    const text = readFileSync(join(runDir, 'metrics.jsonl'), 'utf8');
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toMatchObject([
      { _config: { lr: 0.1, model: { layers: [1, 2] } } },
      { _step: 0, loss: 0.5 },
      { _step: 1, loss: 'NaN', 'acc,"top 1"': 'Infinity' },
      { _step: 2, 'acc,"top 1"': 2, 'system/rank_0/cpu_percentage': 50 },
      { _step: 3, _text: { note: 'a\nb' } },
      { _step: 4, _table: { t: { columns: ['a', 'b'], rows: [[1, 'NaN']] } } },
      { _step: 5, _image: { 'x/y': { width: 1, height: 1 } } },
      { _step: 6, _histogram: { h: { counts: [1, 2] } } },
      { _artifact: { name: 'code', type: 'code', files: [{ path: import.meta.filename }] } },
      { _status: 'completed' },
    ]);
    const { path } = (lines[6] as { _image: Record<string, { path: string }> })._image['x/y']!;
    expect(readFileSync(path).subarray(1, 4).toString()).toBe('PNG');
  });
});

describe('csv', () => {
  it('has a column for each metric, also if it comes later', async () => {
    const { runDir } = await record(csvTracker());
    const text = readFileSync(join(runDir, 'metrics.csv'), 'utf8').replaceAll(/,\d{13}/g, ',T');
    expect(text).toBe(
      'step,timeMs,loss,"acc,""top 1""",system/rank_0/cpu_percentage\n0,T,0.5,,\n1,T,NaN,Infinity,\n2,T,,2,50\n',
    );
    const config = readFileSync(join(runDir, 'config.csv'), 'utf8');
    expect(config).toBe('key,value\nlr,0.1\nmodel.layers,"[1,2]"\nmodel.name,"a,""b"""\n');
  });

  it('continues a file, and adds columns', async () => {
    const { projectDir, bus, runDir } = await record(csvTracker());
    const resumed = await startBus([{ tracker: csvTracker() }], { projectDir, run: { resume: bus.run!.id } });
    resumed.bus.log({ loss: 9 }, { step: 3 });
    await new Promise((resolve) => setTimeout(resolve, 50));
    resumed.bus.log({ later: 1 }, { step: 4 });
    await resumed.bus.finish('completed');
    const text = readFileSync(join(runDir, 'metrics.csv'), 'utf8').replaceAll(/,\d{13}/g, ',T');
    expect(text).toBe(
      'step,timeMs,loss,"acc,""top 1""",system/rank_0/cpu_percentage,later\n0,T,0.5,,,\n1,T,NaN,Infinity,,\n2,T,,2,50,\n3,T,9,,,\n4,T,,,,1\n',
    );
  });
});

describe('console', () => {
  it('prints each log in a line, without system figures', async () => {
    const lines: string[] = [];
    vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
    vi.spyOn(console, 'table').mockImplementation(() => undefined);
    await record(consoleTracker());
    expect(lines).toEqual([
      'config {"lr":0.1,"model":{"layers":[1,2],"name":"a,\\"b\\""}}',
      'step 0  loss 0.5',
      'step 1  loss NaN  acc,"top 1" Infinity',
      'step 2  acc,"top 1" 2',
      'step 3  note: a\nb',
      'step 4  t',
    ]);
  });

  it('prints what autoLog logs, and much of its own, in 100 columns', async () => {
    const lines: string[] = [];
    vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
    const { bus } = await startBus([{ tracker: consoleTracker() }]);
    const parts = Object.fromEntries(['data', 'step', 'forward'].map((part) => [`time/${part}_ms`, 12.3456]));
    const train = { loss: 0.123456, learning_rate: 0.001, grad_norm: 1.5, samples_per_second: 12345.67 };
    const named = Object.entries(train).map(([name, value]) => [`train/${name}`, value] as const);
    bus.log(
      {
        ...Object.fromEntries(named),
        'train/tokens_per_second': 7,
        ...parts,
        'system/rank_0/cpu_percentage': 3,
      },
      { step: 10 },
    );
    bus.log(Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`metric_${i}`, i / 3])), { step: 20 });
    bus.log({ 'time/data_ms': 1 }, { step: 30 });
    // The program's own names may look like those of autoLog, or like a member of every object.
    bus.log({ 'time/epoch_s': 3, 'system/disk': 4, constructor: 5 }, { step: 40 });
    await bus.finish('completed');
    expect(lines).toEqual([
      'step 10  loss 0.1235  rate 0.001  samples/s 12350  ms 12.35',
      expect.stringMatching(/^step 20 {2}metric_0 0 {2}metric_1 0.3333 {2}.* {2}\(\d+ more\)$/),
      'step 40  time/epoch_s 3  system/disk 4  constructor 5',
    ]);
    expect(lines[1]!.length).toBeLessThanOrEqual(100);
  });

  it('prints every n-th step', async () => {
    const lines: string[] = [];
    vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
    const { bus } = await startBus([{ tracker: consoleTracker({ every: 2 }) }]);
    for (let step = 0; step < 5; step++) bus.log({ x: 1 / 3 }, { step });
    await bus.finish('completed');
    expect(lines).toEqual(['step 0  x 0.3333', 'step 2  x 0.3333', 'step 4  x 0.3333']);
  });
});

it.each([jsonlTracker, csvTracker, consoleTracker])('a mistyped option is refused: %o', (make) => {
  expect(() => make({ pth: 'x' } as never)).toThrow(expect.objectContaining({ code: 'ACC_UNKNOWN_OPTION' }));
});
