import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { poll, TRACKER_KEYS, type RunInfo } from '@acc/contract';
import { OpenHandles } from './open-handles.js';
import { Caller, codeOf, readRun, require, requireValues, withRun, type TrackerCase } from './subject.js';

const notNumbers: TrackerCase = {
  name: 'NaN and infinities are stored, or refused with a code',
  async run(subject) {
    for (const value of [NaN, Infinity, -Infinity]) {
      await withRun(async (run) => {
        const caller = new Caller(subject.make());
        await caller.tracker.start(run);
        const code = await codeOf(() => caller.log(0, { odd: value }));
        require(code !== '', `${value} is refused by an error without a code`);
        await caller.log(1, { even: 1 });
        await caller.tracker.finish('completed');
        const found = await readRun(subject, run, caller.tracker);
        requireValues(subject, found, 'even', [[1, 1]]);
        const stored = found.values.filter(({ name }) => name === 'odd').map((odd) => odd.value);
        if (code !== undefined) require(stored.length === 0, `${value} was refused and stored all the same`);
        else
          require(stored.length === 1 &&
            isNear(stored[0]!, value), `${value} became ${stored.join() || 'nothing'}`);
      });
    }
  },
};

/** Whether values agree. A database without infinities may store the largest number instead. */
function isNear(stored: number, value: number): boolean {
  return (
    Object.is(stored, value) ||
    (Math.abs(value) === Infinity && stored === Math.sign(value) * Number.MAX_VALUE)
  );
}

const odds: TrackerCase = {
  name: 'large steps, and several kinds of names, are stored',
  run: (subject) =>
    withRun(async (run) => {
      const caller = new Caller(subject.make());
      await caller.tracker.start(run);
      await caller.log(2 ** 40, { 'train/top 1.acc-x_y': 1 });
      await caller.log(2 ** 40 + 1, { 'train/top 1.acc-x_y': -0.5 });
      await caller.tracker.finish('completed');
      const found = await readRun(subject, run, caller.tracker);
      requireValues(subject, found, 'train/top 1.acc-x_y', [
        [2 ** 40, 1],
        [2 ** 40 + 1, -0.5],
      ]);
    }),
};

const untouched: TrackerCase = {
  name: 'the caller’s objects do not change',
  run: (subject) =>
    withRun(async (given) => {
      const run = deepFreeze(given);
      const caller = new Caller(subject.make());
      const { tracker } = caller;
      await tracker.start(run);
      await tracker.logConfig?.(deepFreeze({ lr: 0.1, list: [1, { a: 2 }], none: null }), caller.stamp());
      await caller.logAll(
        deepFreeze([
          { step: 0, metrics: { a: 1 } },
          { step: 1, metrics: { a: 2 } },
        ]),
      );
      await logOthers(caller, run);
      await tracker.finish('completed');
      requireValues(subject, await readRun(subject, run, tracker), 'a', [
        [0, 1],
        [1, 2],
      ]);
    }),
};

/** Logs one entry of every other kind that the tracker supports. */
async function logOthers(caller: Caller, run: RunInfo): Promise<void> {
  const { tracker } = caller;
  const path = join(run.dir, '..', `${run.id}.txt`);
  await writeFile(path, 'content');
  const histogram = { edges: [0, 1, 2], counts: [3, 4], min: 0, max: 2, sum: 7, sumSquares: 9, nonFinite: 1 };
  await tracker.logText?.(2, 'text/a', 'line\nline', caller.stamp());
  await tracker.logImage?.(
    2,
    'image/a',
    Object.freeze({ width: 1, height: 1, png: ONE_PIXEL }),
    caller.stamp(),
  );
  await tracker.logHistogram?.(2, 'histogram/a', deepFreeze(histogram), caller.stamp());
  const rows = [
    [1, null],
    ['x', true],
  ];
  await tracker.logTable?.(2, 'table/a', deepFreeze({ columns: ['a', 'b'], rows }), caller.stamp());
  const files = [{ name: 'sub/a.txt', path, bytes: 7 }];
  await tracker.logArtifact?.(2, deepFreeze({ name: 'artifact', type: 'file', files }), caller.stamp());
  const model = { name: 'model', type: 'model', files, registeredName: 'cases', aliases: ['last-case'] };
  await tracker.logModel?.(2, deepFreeze(model), caller.stamp());
}

const ONE_PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==',
  'base64',
);

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) {
    for (const part of Object.values(value)) deepFreeze(part);
    Object.freeze(value);
  }
  return value;
}

const mistyped: TrackerCase = {
  name: 'a mistyped option is refused',
  async run(subject) {
    const code = await codeOf(() => subject.makeWith({ no_such_option: 1 }));
    require(code === 'ACC_UNKNOWN_OPTION', `an unknown option: code ${code}, not ACC_UNKNOWN_OPTION`);
  },
};

const members: TrackerCase = {
  name: 'the object has the members of a tracker, and no others',
  run(subject) {
    const tracker = subject.make();
    require(typeof tracker.name === 'string' && tracker.name !== '', 'it has no name');
    const known: readonly string[] = TRACKER_KEYS;
    const others = Object.keys(tracker).filter((key) => !known.includes(key));
    require(others.length === 0, `no tracker has: ${others.join(', ')}`);
    return Promise.resolve();
  },
};

const noHandles: TrackerCase = {
  name: 'no handle is open after finish',
  run: (subject) =>
    withRun(async (run) => {
      const handles = new OpenHandles();
      const record = async (): Promise<void> => {
        const caller = new Caller(subject.make());
        await caller.tracker.start(run);
        await caller.log(0, { a: 1 });
        await logOthers(caller, run);
        await caller.tracker.finish('completed');
      };
      await handles.watch(record, async () => {
        // Idle connections are closed a moment later.
        await poll(() => handles.types.length === 0 || undefined, { timeoutMs: 2_000 });
        const { types } = handles;
        require(types.length === 0, `this still keeps the process alive: ${types.join(', ')}`);
      });
    }),
};

const interrupted: TrackerCase = {
  name: 'if the back end cannot be reached, the error code says so, and a repeated call stores once',
  appliesTo: ({ interrupt }) => interrupt !== undefined,
  run: (subject) =>
    withRun(async (run) => {
      const { tracker } = new Caller(subject.make());
      await tracker.start(run);
      const back = await subject.interrupt!();
      const [sequence, timeMs] = [0, Date.now()];
      const rows = [{ step: 0, metrics: { a: 1 }, sequence, timeMs }];
      const call = () => {
        const stamp = { sequence, timeMs, signal: AbortSignal.timeout(30_000) };
        return tracker.logBatch ? tracker.logBatch(rows, stamp) : tracker.log(0, { a: 1 }, stamp);
      };
      const code = await codeOf(call);
      await back();
      require(code === 'ACC_TRACKER_UNAVAILABLE', `code ${code}, not ACC_TRACKER_UNAVAILABLE`);
      await call();
      await tracker.finish('completed');
      requireValues(subject, await readRun(subject, run, tracker), 'a', [[0, 1]]);
    }),
};

export const valueCases: readonly TrackerCase[] = [
  notNumbers,
  odds,
  untouched,
  mistyped,
  members,
  noHandles,
  interrupted,
];
