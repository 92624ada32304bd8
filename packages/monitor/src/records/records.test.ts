import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { cpus, hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { noteWait } from '@acc/contract';
import {
  BLOCK_HEADER_BYTES,
  joinSamples,
  parseFacts,
  KIND,
  MAGIC,
  parseRecords,
  readRecords,
  SAMPLE_COLUMNS,
  STEP_COLUMNS,
  type SampleRow,
  type StepRow,
} from '@acc/records';
import { OwnWork } from './own-work.js';
import { SCRIPT } from './recorder-script.js';
import { Recorder, type StepFigures } from './recorder.js';

const figuresOf = (step: number) =>
  ({
    ...Object.fromEntries(STEP_COLUMNS.map((name, i) => [name, 100 * step + i])),
    step,
  }) as unknown as StepFigures;

/** A busy machine may take long to start the thread. */
const closeMs = 60_000;
const problems: string[] = [];
const newFolder = () => mkdtempSync(join(tmpdir(), 'acc-records-'));
const warn = (message: string) => void problems.push(message);
const facts = {
  ...{ rank: 0, ranks: 1, backend: 'acc', device: 'cpu', strategy: 'single' },
  ...{ options: {}, createdAt: 'train.ts:1:2' },
};
const newRecorder = (folder: string, own = new OwnWork()) =>
  new Recorder({ folder, rank: 0, hasNative: true, own, facts, warn, closeMs });

function record(folder: string, steps: readonly number[]): void {
  const recorder = newRecorder(folder);
  for (const step of steps) {
    recorder.endStep();
    recorder.step(figuresOf(step), false);
  }
  recorder.close();
  expect(problems.splice(0)).toEqual([]);
}

it('rows survive a torn block, bytes of others, and a process that goes on', async () => {
  const folder = join(newFolder(), 'insight');
  const path = join(folder, 'steps-rank-0.acc');
  record(folder, [1, 2, 3]);
  const whole = readFileSync(path).length;
  record(folder, [4, 5]);
  truncateSync(path, readFileSync(path).length - 1);
  const torn = await parseRecords<StepRow>(readFileSync(path));
  expect(torn.map(({ step }) => step)).toEqual([1, 2, 3]);
  expect(readFileSync(path).length).toBeGreaterThan(whole);
  appendFileSync(path, 'ACR1 is a word of the format');
  record(folder, [6]);
  const rows = await parseRecords<StepRow>(readFileSync(path));
  expect(rows.map(({ step }) => step)).toEqual([1, 2, 3, 6]);
  // The steps of the last process.
  const [resumed] = (await readRecords(folder)).ranks;
  expect(resumed!.steps.slice(resumed!.resumedAt).map(({ step }) => step)).toEqual([6]);
  const { optimizer, start, blocked, replay } = rows[1]!;
  expect({ optimizer, blocked, replay }).toEqual({ optimizer: 205, blocked: 0, replay: 0 });
  // Counted in steps 2, 4, 8 and so on, of which none has products here.
  expect(rows.map(({ flops }) => flops)).toEqual([0, NaN, 0, 0]);
  expect(start).toBeCloseTo(performance.timeOrigin + 201, 2);
});

it('steps get the last sample before their end', async () => {
  const folder = newFolder();
  record(folder, [1]);
  const samples = await parseRecords<SampleRow>(readFileSync(join(folder, 'samples-rank-0.acc')));
  expect(samples.length).toBeGreaterThan(0);
  expect(samples[0]!.rssBytes).toBeGreaterThan(2 ** 20);
  expect(samples[0]).toMatchObject({ collectives: 0, isInCollective: 0 });
  const ends = [samples[0]!.time - 1, samples[0]!.time + 1];
  const joined = joinSamples(
    ends.map((end) => ({ end }) as StepRow),
    samples.slice(0, 1),
  );
  expect(joined.map(({ sample }) => sample)).toEqual([undefined, samples[0]]);
});

it('the work of a step is that between its own hooks, and its replay is in its row', async () => {
  const folder = newFolder();
  const own = new OwnWork();
  const recorder = newRecorder(folder, own);
  const replay = (start: number, ms: number, model: number) =>
    recorder.replayed({ start, ms, flops: { model, hardware: model, hidden: 0 } });
  const end = (step: number, from: number, pass: number) => {
    own.endStep();
    recorder.endStep(step === 1);
    const times = { start: from, end: performance.now(), forward: pass, backward: pass };
    recorder.step({ ...figuresOf(step), ...times }, false);
  };
  const start = performance.now();
  // Of another training.
  recorder.blocked(1000);
  replay(performance.now() - 1, 1, 1000);
  own.run('backward', () => recorder.blocked(5));
  recorder.blocked(1000);
  own.ready();
  recorder.blocked(7);
  end(1, start, 1);
  recorder.blocked(1000);
  // The replay began before step 2 ended, and its report comes some time after its own end.
  const begin = performance.now();
  end(2, begin, 0);
  const ms = performance.now() - begin;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * ms + 5);
  replay(begin, ms, 64);
  end(3, performance.now(), 1);
  recorder.close();
  const rows = await parseRecords<StepRow>(readFileSync(join(folder, 'steps-rank-0.acc')));
  expect(rows.map(({ blocked, flops }) => [blocked, flops])).toEqual([
    [12, 0],
    [NaN, 64],
    [0, 0],
  ]);
  expect(rows.map(({ replay }) => replay > 0)).toEqual([false, true, true]);
  expect(rows.map(({ passes, recordings }) => [passes, recordings])).toEqual([
    [1, 1],
    [NaN, 0],
    [0, 0],
  ]);
});

it('waits between steps are in their rows, and facts in a file', async () => {
  const folder = newFolder();
  const recorder = newRecorder(folder);
  const end = (step: number) => {
    recorder.endStep();
    recorder.step(figuresOf(step), false);
  };
  const begin = performance.now();
  noteWait('loader', begin);
  const loaderMs = performance.now() - begin;
  end(1);
  // A step has ended meanwhile, so the save has not held the loop up.
  noteWait('saves', begin - 1000);
  const start = performance.now();
  noteWait('saves', start);
  const savesMs = performance.now() - start;
  end(2);
  recorder.close();
  const rows = await parseRecords<StepRow>(readFileSync(join(folder, 'steps-rank-0.acc')));
  expect(rows[0]!.loader).toBeLessThanOrEqual(loaderMs + 1);
  expect(rows.map(({ loader, saves }) => [loader > 0, saves > 0])).toEqual([
    [true, false],
    [false, true],
  ]);
  expect(rows[1]!.saves).toBeLessThanOrEqual(savesMs);
  const text = readFileSync(join(folder, 'facts-rank-0.jsonl'), 'utf8');
  expect(parseFacts(`${text}{"rank": 1`)).toMatchObject({
    ...{ ...facts, host: hostname(), hostProcessors: cpus().length },
    boundTo: process.platform === 'linux' ? (expect.stringMatching(/^\d/) as string) : null,
  });
});

it('rows without columns, or of other columns, are passed over', async () => {
  const folder = newFolder();
  record(folder, [1, 2]);
  const bytes = readFileSync(join(folder, 'steps-rank-0.acc'));
  const columns = BLOCK_HEADER_BYTES + bytes.readUInt32LE(8);
  const samples = readFileSync(join(folder, 'samples-rank-0.acc'));
  const sampleRows = samples.subarray(BLOCK_HEADER_BYTES + samples.readUInt32LE(8));
  expect(await parseRecords(bytes.subarray(columns))).toEqual([]);
  expect(await parseRecords(Buffer.concat([bytes, sampleRows]))).toHaveLength(2);
});

it('a folder that cannot be written does not end the training', () => {
  const folder = newFolder();
  writeFileSync(join(folder, 'file'), '');
  record(join(folder, 'file', 'insight'), [1, 2]);
});

it.runIf(process.platform === 'linux')('neither do a full disk and a full stderr', () => {
  const file = join(newFolder(), 'run.cjs');
  const [steps, samples] = [STEP_COLUMNS, SAMPLE_COLUMNS].map((columns) => ({ path: '/dev/full', columns }));
  const facts = { path: '/dev/null', line: '' };
  const given = { files: { steps, samples }, facts, rank: 0, everyMs: 10, magic: MAGIC, kind: KIND };
  writeFileSync(
    file,
    `const control = new SharedArrayBuffer(28);
const workerData = { ...${JSON.stringify(given)}, headerBytes: 16, control, ring: new SharedArrayBuffer(8192) };
workerData.asks = { folder: '', request: '', window: new SharedArrayBuffer(12) };
const { Worker } = require('node:worker_threads');
const worker = new Worker(${JSON.stringify(SCRIPT)}, { eval: true, workerData });
Atomics.store(new Int32Array(control), 2, 1);
Atomics.wait(new Int32Array(control), 3, 0);
worker.on('exit', () => console.log('goes on'));
`,
  );
  const full = openSync('/dev/full', 'w');
  const { stdout, status } = spawnSync(process.execPath, [file], {
    stdio: ['ignore', 'pipe', full],
    encoding: 'utf8',
    timeout: 240_000,
  });
  closeSync(full);
  expect([stdout, status]).toEqual(['goes on\n', 0]);
});

interface Answer {
  readonly rank: number;
  readonly pid: number;
  readonly main: { readonly state: string; readonly frames: readonly string[] };
}

it('tells the stack of a busy main thread, by the lines of the program', () => {
  const insight = join(newFolder(), 'insight');
  const asks = join(insight, 'asks');
  const recorder = newRecorder(insight);
  mkdirSync(asks, { recursive: true, mode: 0o700 });
  const samples = join(insight, 'samples-rank-0.acc');
  // Before its first sample, a request is one to an earlier process.
  while (!existsSync(samples) || statSync(samples).size < 300);
  writeFileSync(join(asks, 'request.json'), '{"id":3,"ask":"stacks"}', { mode: 0o600 });
  const answer = join(asks, '3-rank-0.json');
  function waitForAnswer(): void {
    while (!existsSync(answer));
  }
  waitForAnswer();
  const lines = readFileSync(import.meta.filename, 'utf8').split('\n');
  const called = lines.indexOf('  waitForAnswer();') + 1;
  const { rank, pid, main } = JSON.parse(readFileSync(answer, 'utf8')) as Answer;
  expect([rank, pid, main.state]).toEqual([0, process.pid, 'javascript']);
  expect(main.frames[0]).toMatch(/^waitForAnswer \(.*records\.test\.ts:/);
  expect(main.frames[1]).toMatch(new RegExp(`\\(${import.meta.filename}:${called}:3\\)$`));
  recorder.close();
});

it('takes windows that its own user asks for, once, and passes over all else', async () => {
  const insight = join(newFolder(), 'insight');
  const asks = join(insight, 'asks');
  const request = join(asks, 'request.json');
  mkdirSync(asks, { recursive: true, mode: 0o700 });
  const asked = (id: number, more = {}) =>
    JSON.stringify({ id, ask: 'window', fromStep: 5, steps: 2, ...more });
  writeFileSync(request, asked(1));
  const recorder = newRecorder(insight);
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const samples = join(insight, 'samples-rank-0.acc');
  const size = () => statSync(samples, { throwIfNoEntry: false })?.size ?? 0;
  // The thread looks for requests after each sample, and goes on while this one waits.
  const passTurns = () => {
    for (let turn = 0; turn < 2; turn++)
      for (const before = size(); size() === before;) Atomics.wait(cell, 0, 0, 10);
  };
  const wrong = [
    ['of an earlier process', undefined, 0o600],
    ['torn', asked(2).slice(0, 20), 0o600],
    ['too many steps', asked(3, { steps: 1000 }), 0o600],
    ['no number', asked(4, { fromStep: '5' }), 0o600],
    ['too long', asked(5, { more: 'x'.repeat(5000) }), 0o600],
    ['that others could have written', asked(6), 0o666],
  ] as const;
  for (const [name, text, mode] of wrong) {
    if (text !== undefined) writeFileSync(request, text);
    chmodSync(request, mode);
    passTurns();
    expect(recorder.windows.take(5), name).toBeUndefined();
  }
  rmSync(request);
  writeFileSync(request, asked(7), { mode: 0o600 });
  passTurns();
  expect([recorder.windows.take(4), recorder.windows.take(5)?.steps, recorder.windows.take(6)]).toEqual([
    undefined,
    2,
    undefined,
  ]);
  writeFileSync(request, asked(8));
  passTurns();
  expect(recorder.windows.take(7)).toBeUndefined();
  const answer = readFileSync(join(insight, 'windows', '8', 'rank-0.json'), 'utf8');
  expect(JSON.parse(answer)).toEqual({ rank: 0, state: 'late', step: 7 });
  // A request is being replaced.
  new Int32Array(recorder.windows.shared)[2] = 0;
  expect([recorder.windows.take(8), readdirSync(join(insight, 'windows'))]).toEqual([undefined, ['8']]);
  recorder.close();
  expect(problems.splice(0)).toEqual([]);
});
