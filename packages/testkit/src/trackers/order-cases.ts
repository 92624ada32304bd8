import { readdir } from 'node:fs/promises';
import { Caller, codeOf, readRun, require, requireValues, withRun, type TrackerCase } from './subject.js';

const nothingBefore: TrackerCase = {
  name: 'nothing is stored before start',
  run: (subject) =>
    withRun(async (run) => {
      const tracker = subject.make();
      const early = await codeOf(() => new Caller(tracker).log(0, { early: 1 }));
      require(early ===
        'ACC_TRACKER_NOT_STARTED', `log before start: code ${early}, not ACC_TRACKER_NOT_STARTED`);
      require((await readdir(run.dir)).length === 0, 'there are files in the run’s folder already');
      const { values } = await readRun(subject, run, tracker);
      require(values.length === 0, 'the back end has values already');
    }),
};

const inOrder: TrackerCase = {
  name: 'every value arrives once, in order',
  run: (subject) =>
    withRun(async (run) => {
      const caller = new Caller(subject.make());
      await caller.tracker.start(run);
      const rows = Array.from({ length: 700 }, (_, step) => {
        const metrics: Record<string, number> = { loss: 1 / (step + 1) };
        if (step % 7 === 0) metrics['every7th'] = step;
        return { step, metrics };
      });
      await caller.logAll(rows);
      await caller.tracker.finish('completed');
      const found = await readRun(subject, run, caller.tracker);
      const losses = found.values.filter(({ name }) => name === 'loss');
      const read = (i: number) => losses[subject.keeps === 'latest' ? 0 : i]?.value;
      const single = (i: number) => orRounded(1 / (i + 1), read(i));
      requireValues(
        subject,
        found,
        'loss',
        rows.map((_, i) => [i, single(i)]),
      );
      requireValues(
        subject,
        found,
        'every7th',
        Array.from({ length: 100 }, (_, i) => [7 * i, 7 * i]),
      );
      require(found.values.length ===
        (subject.keeps === 'latest' ? 2 : 800), 'the back end has other values, too');
    }),
};

/** `exact`, or what was read, if that is `exact` in float32. */
function orRounded(exact: number, read: number | undefined): number {
  return read !== undefined && Object.is(read, Math.fround(exact)) ? read : exact;
}

const sameSteps: TrackerCase = {
  name: 'several calls at one step are all stored',
  appliesTo: ({ keeps }) => keeps !== 'latest',
  run: (subject) =>
    withRun(async (run) => {
      const caller = new Caller(subject.make());
      await caller.tracker.start(run);
      await caller.log(3, { a: 1 });
      await caller.log(3, { b: 2 });
      await caller.log(5, { a: 4, b: 8 });
      await caller.tracker.finish('completed');
      const found = await readRun(subject, run, caller.tracker);
      requireValues(subject, found, 'a', [
        [3, 1],
        [5, 4],
      ]);
      requireValues(subject, found, 'b', [
        [3, 2],
        [5, 8],
      ]);
    }),
};

const notAfter: TrackerCase = {
  name: 'log after finish is refused',
  run: (subject) =>
    withRun(async (run) => {
      const caller = new Caller(subject.make());
      await caller.tracker.start(run);
      await caller.log(0, { a: 1 });
      await caller.tracker.finish('completed');
      const late = await codeOf(() => caller.log(1, { a: 2 }));
      require(late === 'ACC_TRACKER_FINISHED', `log after finish: code ${late}, not ACC_TRACKER_FINISHED`);
      requireValues(subject, await readRun(subject, run, caller.tracker), 'a', [[0, 1]]);
    }),
};

const failedFlushes: TrackerCase = {
  name: "finish('failed') stores the values that were logged before",
  run: (subject) =>
    withRun(async (run) => {
      const caller = new Caller(subject.make());
      await caller.tracker.start(run);
      const rows = Array.from({ length: 50 }, (_, step) => ({ step, metrics: { a: step } }));
      await caller.logAll(rows);
      await caller.tracker.finish('failed');
      requireValues(
        subject,
        await readRun(subject, run, caller.tracker),
        'a',
        rows.map(({ step }) => [step, step]),
      );
    }),
};

const statuses: TrackerCase = {
  name: 'the final status is stored',
  appliesTo: ({ keepsStatus = true }) => keepsStatus,
  async run(subject) {
    for (const status of ['completed', 'failed', 'aborted'] as const) {
      await withRun(async (run) => {
        const caller = new Caller(subject.make());
        await caller.tracker.start(run);
        await caller.log(0, { a: 1 });
        await caller.tracker.finish(status);
        const found = await readRun(subject, run, caller.tracker);
        require(found.status === status, `after finish('${status}') the status is '${found.status}'`);
      });
    }
  },
};

const apart: TrackerCase = {
  name: 'two runs at the same time do not mix',
  run: (subject) =>
    withRun((firstRun) =>
      withRun(async (secondRun) => {
        const [first, second] = [new Caller(subject.make()), new Caller(subject.make())];
        await first.tracker.start(firstRun);
        await second.tracker.start(secondRun);
        for (let step = 0; step < 10; step++) {
          await first.log(step, { a: step });
          await second.log(step, { a: -step - 1 });
        }
        await second.tracker.finish('completed');
        await first.log(10, { a: 10 });
        await first.tracker.finish('completed');
        const steps = Array.from({ length: 10 }, (_, step) => step);
        const found = await readRun(subject, firstRun, first.tracker);
        requireValues(
          subject,
          found,
          'a',
          [...steps, 10].map((step) => [step, step]),
        );
        const other = await readRun(subject, secondRun, second.tracker);
        requireValues(
          subject,
          other,
          'a',
          steps.map((step) => [step, -step - 1]),
        );
      }),
    ),
};

const resumed: TrackerCase = {
  name: 'resume continues the run of an earlier process',
  appliesTo: (subject) => subject.make().resume !== undefined && subject.keeps !== 'latest',
  run: (subject) =>
    withRun(async (run) => {
      const first = new Caller(subject.make());
      await first.tracker.start(run);
      await first.log(0, { a: 1 });
      await first.tracker.finish('aborted');
      const second = new Caller(subject.make(), 1_000_000);
      await second.tracker.resume!(run, first.tracker.runId ?? run.id);
      require(second.tracker.runId === first.tracker.runId, 'runId is another after resume');
      await second.log(1, { a: 2 });
      await second.tracker.finish('completed');
      requireValues(subject, await readRun(subject, run, second.tracker), 'a', [
        [0, 1],
        [1, 2],
      ]);
    }),
};

export const orderCases: readonly TrackerCase[] = [
  nothingBefore,
  inOrder,
  sameSteps,
  notAfter,
  failedFlushes,
  statuses,
  apart,
  resumed,
];
