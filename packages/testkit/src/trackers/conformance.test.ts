import { describe, expect, it } from 'vitest';
import { AccError, checkKeys, withLifecycle, type RunStatus, type Tracker } from '@acc/contract';
import { trackerCases, trackerCasesFor } from './conformance.js';
import type { TrackedValue, TrackerSubject } from './subject.js';

/** A fault of a tracker; none by default. */
interface Fault {
  readonly loses?: boolean;
  readonly doubles?: boolean;
  readonly reverses?: boolean;
  readonly mixesRuns?: boolean;
  readonly changesMetrics?: boolean;
  readonly zeroForNaN?: boolean;
  readonly forgetsLifecycle?: boolean;
  readonly acceptsOptions?: boolean;
  readonly leavesTimer?: boolean;
  readonly flushesOnSuccessOnly?: boolean;
  readonly saysNothing?: boolean;
}

interface Stored {
  values: TrackedValue[];
  status?: RunStatus;
}

const timers: NodeJS.Timeout[] = [];

/** A tracker over a service in memory that can be switched off. */
function subjectWith(fault: Fault): TrackerSubject {
  const service = new Map<string, Stored>();
  let isDown = false;
  const make = (): Tracker => {
    let run: Stored = { values: [] };
    let waiting: TrackedValue[] = [];
    const tracker: Tracker = {
      name: 'memory',
      start({ id }) {
        const key = fault.mixesRuns ? 'the only one' : id;
        run = service.get(key) ?? { values: [] };
        service.set(key, run);
        service.set(id, run);
        if (fault.leavesTimer) timers.push(setInterval(() => undefined, 60_000));
        return Promise.resolve();
      },
      resume(_run, runId) {
        run = service.get(runId)!;
        return Promise.resolve();
      },
      log(step, metrics) {
        if (isDown && fault.saysNothing) throw new Error('down');
        if (isDown) throw new AccError('ACC_TRACKER_UNAVAILABLE', 'The service is down.');
        if (fault.changesMetrics) (metrics as Record<string, number>)['extra'] = 1;
        const values = Object.entries(metrics).map(([name, value]) => {
          return { name, step, value: fault.zeroForNaN && Number.isNaN(value) ? 0 : value };
        });
        if (fault.loses && step === 3) return;
        waiting.push(...values, ...(fault.doubles && step === 3 ? values : []));
        if (!fault.flushesOnSuccessOnly) run.values.push(...waiting.splice(0));
      },
      finish(status) {
        if (status === 'completed') run.values.push(...waiting);
        waiting = [];
        if (fault.reverses) run.values.reverse();
        run.status = status;
        return Promise.resolve();
      },
    };
    return fault.forgetsLifecycle ? tracker : withLifecycle(tracker);
  };
  return {
    make,
    makeWith(options) {
      if (!fault.acceptsOptions) checkKeys('memory', options, []);
      return make();
    },
    read: ({ id }) => service.get(id) ?? { values: [] },
    interrupt() {
      isDown = true;
      return Promise.resolve(() => Promise.resolve(void (isDown = false)));
    },
  };
}

/** Names of the cases that fail. */
async function failedCases(fault: Fault): Promise<string[]> {
  const subject = subjectWith(fault);
  const failed: string[] = [];
  for (const { name, run } of trackerCasesFor(subject)) {
    await run(subject).catch(() => failed.push(name));
  }
  for (const timer of timers.splice(0)) clearInterval(timer);
  return failed;
}

describe('the cases for trackers', () => {
  it('all apply to a complete tracker, and it passes them', async () => {
    expect(trackerCasesFor(subjectWith({}))).toEqual(trackerCases);
    expect(await failedCases({})).toEqual([]);
  });

  it.each<[keyof Fault, string]>([
    ['loses', 'every value arrives once, in order'],
    ['doubles', 'every value arrives once, in order'],
    ['reverses', 'every value arrives once, in order'],
    ['mixesRuns', 'two runs at the same time do not mix'],
    ['changesMetrics', 'the caller’s objects do not change'],
    ['zeroForNaN', 'NaN and infinities are stored, or refused with a code'],
    ['forgetsLifecycle', 'log after finish is refused'],
    ['forgetsLifecycle', 'nothing is stored before start'],
    ['acceptsOptions', 'a mistyped option is refused'],
    ['leavesTimer', 'no handle is open after finish'],
    ['flushesOnSuccessOnly', "finish('failed') stores the values that were logged before"],
    [
      'saysNothing',
      'if the back end cannot be reached, the error code says so, and a repeated call stores once',
    ],
  ])('detect that %s: %s', async (fault, name) => {
    expect(await failedCases({ [fault]: true })).toContain(name);
  });
});
