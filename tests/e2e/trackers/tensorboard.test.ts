import { appendFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DescFile, DescMessage } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort, type TrackerSubject } from '@acc/testkit';
import { tensorboardTracker } from '@acc/tracker-tensorboard';
import { file_hparams } from '../../../packages/tracker-tensorboard/src/generated/hparams_pb.js';
import { file_tensorboard } from '../../../packages/tracker-tensorboard/src/generated/tensorboard_pb.js';
import { startServer } from './background.js';
import { itDoesWhatEveryTrackerDoes } from './every-tracker.js';
import { beginRun, CONFIG, makeArtifact, newFolder, PICTURE, writeModel } from './record-run.js';
import type { Reader } from './python/reader.js';
import { venv, type Venv } from './python/venv.js';

/** The events that TensorBoard's readers find: `[step, value]` by tag. */
interface Found {
  readonly starts: number[];
  readonly scalars: Record<string, [number, number | string][]>;
  readonly text: Record<string, [number, string[]][]>;
  readonly images: Record<string, [number, unknown[]][]>;
  readonly histograms: Record<string, [number, number[][]][]>;
  readonly hparams: { start?: Record<string, unknown>; end?: number };
}

let python: Venv;
let reader: Reader;

beforeAll(async () => {
  python = await venv('tensorboard');
  reader = python.reader('read_tensorboard.py');
}, 600_000);

afterAll(() => reader.close());

const read = (folder: string) => reader.ask<Found>(folder);

/** Of `tensorboard.plugins.hparams.Status`. */
const STATUS = { 1: 'completed', 2: 'failed' } as const;

const subject: TrackerSubject = {
  make: () => tensorboardTracker(),
  makeWith: (options) => tensorboardTracker(options),
  async read({ dir }) {
    const found = await reader.ask<Found | null>(dir);
    const values = Object.entries(found?.scalars ?? {}).flatMap(([name, series]) =>
      series.map(([step, value]) => ({ name, step, value: numberOf(value) })),
    );
    return { values, status: STATUS[found?.hparams.end as 1 | 2] };
  },
  // It distinguishes success and failure.
  keepsStatus: false,
};

function numberOf(value: number | string): number {
  return typeof value === 'number' ? value : { nan: NaN, inf: Infinity, '-inf': -Infinity }[value]!;
}

itDoesWhatEveryTrackerDoes(subject);

async function recordRun(logDir: string, name: string) {
  const begun = await beginRun(tensorboardTracker({ logDir }), {
    config: CONFIG,
    run: { name, tags: ['a'] },
  });
  const { bus } = begun;
  for (let step = 0; step < 1_200; step++) bus.log({ loss: 1 / (step + 1), 'train/acc': step }, { step });
  bus.log({ odd: NaN }, { step: 1_200 });
  bus.log({ odd: Infinity }, { step: 1_201 });
  bus.logText({ note: '**bold** ✓' }, { step: 5 });
  bus.logImages({ digit: PICTURE }, { step: 6 });
  bus.logHistogram({ weights: [0, 1, 2, 3, 3] }, { step: 7, bins: 3 });
  bus.logTable('predictions', [{ label: 'a|b', p: 0.5 }], { step: 8 });
  bus.logArtifact('checkpoint', makeArtifact(), { type: 'model', step: 9 });
  await bus.logModel('net', { step: 10 }, writeModel);
  return begun;
}

it("TensorBoard's own readers find everything, with right checksums", async () => {
  const logDir = newFolder();
  const { bus } = await recordRun(logDir, 'first');
  await bus.finish('completed');
  const found = await read(join(logDir, 'first'));
  expect(found.scalars['loss']).toHaveLength(1_200);
  expect(found.scalars['loss']![9]).toEqual([9, Math.fround(0.1)]);
  expect(found.scalars['train/acc']!.map(([step]) => step)).toEqual(
    Array.from({ length: 1_200 }, (_, i) => i),
  );
  expect(found.scalars['odd']).toEqual([
    [1_200, 'nan'],
    [1_201, 'inf'],
  ]);
  expect(found.text['note']).toEqual([[5, ['**bold** ✓']]]);
  expect(found.images['digit']).toEqual([[6, [3, 2, [3, 2]]]]);
  expect(found.histograms['weights']).toEqual([
    [
      7,
      [
        [0, 1, 1],
        [1, 2, 1],
        [2, 3, 3],
      ],
    ],
  ]);
  expect(found.text['predictions']![0]![1][0]).toContain('| a\\|b | 0.5 |');
  expect(found.text['artifacts/checkpoint']![0]![1][0]).toContain('| weights/model.bin | 300000 |');
  expect(found.text['run']![0]![1][0]).toContain('| project | digits |');
  expect(found.hparams).toEqual({
    start: { lr: 0.001, 'model.layers': '[32,10]', 'model.name': 'convnet', amp: true },
    end: 1,
  });
  expect(found.starts).toEqual([0]);
});

/**
 * All messages of a file. Each field has the form that `fields` in `read_tensorboard.py` returns.
 */
function fieldsOf({ messages }: DescFile): Record<string, unknown[][]> {
  const within = (message: DescMessage): DescMessage[] => [
    message,
    ...message.nestedMessages.flatMap(within),
  ];
  const field = ({ name, number, proto, oneof }: DescMessage['fields'][number]) => {
    return [name, number, proto.type, proto.typeName.slice(1) || null, oneof?.name ?? null];
  };
  return Object.fromEntries(
    messages.flatMap(within).map((message) => [message.typeName, message.fields.map(field)]),
  );
}

it('the messages are those of the installed TensorBoard', async () => {
  const ours = { ...fieldsOf(file_tensorboard), ...fieldsOf(file_hparams) };
  const names = Object.keys(ours);
  const theirs = await reader.ask<Record<string, unknown[][]>>(`fields ${names.join(' ')}`);
  expect(names).toContain('tensorboard.Event');
  for (const name of names) expect(theirs[name]).toEqual(expect.arrayContaining(ours[name]!));
});

it('a resumed run has the earlier steps once, also after a damaged file', async () => {
  const projectDir = newFolder();
  const { bus, id, dir } = await beginRun(tensorboardTracker(), { projectDir });
  for (let step = 0; step < 100; step++) bus.log({ loss: step }, { step });
  await bus.finish('failed');
  const [file] = readdirSync(dir).filter((name) => name.includes('tfevents'));
  appendFileSync(join(dir, file!), Buffer.from([1, 2, 3]));
  const again = await beginRun(tensorboardTracker(), { projectDir, run: { resume: id } });
  for (let step = 60; step < 120; step++) again.bus.log({ loss: 1_000 + step }, { step });
  await again.bus.finish('completed');
  const { scalars, starts } = await read(dir);
  expect(starts).toEqual([0, 60]);
  expect(scalars['loss']!.map(([step]) => step)).toEqual(Array.from({ length: 120 }, (_, i) => i));
  expect(scalars['loss']!.slice(58, 62).map(([, value]) => value)).toEqual([58, 59, 1_060, 1_061]);
});

describe('the server shows the run', () => {
  it.each([true, false])('with --load_fast=%s', async (isFast) => {
    const logDir = newFolder();
    const { bus } = await recordRun(logDir, 'shown');
    const port = await freePort('127.0.0.1');
    const url = `http://127.0.0.1:${port}`;
    const args = [
      '--logdir',
      logDir,
      '--port',
      String(port),
      `--load_fast=${isFast}`,
      '--reload_interval=1',
      '--samples_per_plugin=scalars=2000',
    ];
    const server = await startServer(python.bin('tensorboard'), args, { url: `${url}/data/environment` });
    try {
      await bus.finish('completed');
      // The server reads the files while they grow, so each answer can come later than the others.
      const get = async (path: string, request?: RequestInit): Promise<unknown> => {
        const answer = await fetch(`${url}/data/plugin/${path}`, request);
        return answer.ok ? answer.json() : undefined;
      };
      const shows = (path: string, request?: RequestInit) =>
        expect.poll(() => get(path, request), { timeout: 240_000 });
      await shows('scalars/scalars?run=shown&tag=loss').toHaveLength(1_200);
      await shows('images/tags').toMatchObject({ shown: { digit: {} } });
      await shows('text/tags').toMatchObject({
        shown: expect.arrayContaining(['note', 'run']) as unknown,
      });
      await shows('histograms/tags').toMatchObject({ shown: { weights: {} } });
      const drawn = async () =>
        (await fetch(`${url}/data/plugin/graphs/graph?run=shown&tag=net&conceptual=true`)).text();
      await expect.poll(drawn).toContain('name: "net/hidden"');
      const question = { startIndex: 0, sliceSize: 10, allowedStatuses: ['STATUS_SUCCESS'], colParams: [] };
      await shows('hparams/session_groups', {
        method: 'POST',
        body: JSON.stringify(question),
      }).toMatchObject({
        sessionGroups: [{ hparams: { lr: 0.001, 'model.name': 'convnet', amp: true } }],
      });
    } finally {
      await server.stop();
    }
  });
});
