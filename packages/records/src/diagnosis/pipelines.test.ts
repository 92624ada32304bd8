import { describe, expect, it } from 'vitest';
import { syntheticRun, type Synthetic } from '../synthetic.js';
import { diagnoseRun } from './diagnose.js';

const findingsOf = (given: Synthetic) => diagnoseRun(syntheticRun(given)).findings.map(({ id }) => id);

const pipeline = (microBatches: number) => ({
  strategy: 'pipeline of ddp',
  options: { mesh: { pipeline: 2 }, pipeline: { microBatches } },
});
const staged =
  (waits: readonly number[], passes: number, pause = 0) =>
  (_: number, rank: number) => ({
    ...{ ms: 30, forward: 10, backward: 19 - waits[rank]! - rank * pause },
    ...{ communicating: waits[rank]!, blocked: NaN, passes: (1 + rank) * passes },
  });

describe('a pipeline', () => {
  it.each<[string, Synthetic, Synthetic]>([
    [
      'stage-imbalance',
      { ranks: 2, step: staged([2, 16], 16), facts: pipeline(16) },
      { ranks: 2, step: staged([2, 4], 16), facts: pipeline(16) },
    ],
    [
      'bubble',
      { ranks: 2, step: staged([10, 10], 2), facts: pipeline(2) },
      // `pipelined` was given 8.
      { ranks: 2, step: staged([10, 10], 8), facts: pipeline(2) },
    ],
    // A rank of a pipeline that is slow in its loop.
    [
      'slow-rank',
      { ranks: 2, step: staged([7.5, 2], 16, 5.5), facts: pipeline(16) },
      { ranks: 2, step: staged([2, 2], 16), facts: pipeline(16) },
    ],
  ])('has %s, and none for what is nearly so', (id, given, near) => {
    expect(findingsOf(given)).toEqual([id]);
    expect(findingsOf(near)).toEqual([]);
  });

  it.each<[string, string, Synthetic]>([
    [
      'of stages',
      'stage-imbalance',
      { ranks: 2, step: staged([2, 10], 16), facts: pipeline(16), rates: { runQueueMs: 300 } },
    ],
    [
      'of micro-batches',
      'bubble',
      { ranks: 2, step: staged([10, 10], 2), facts: pipeline(2), rates: { runQueueMs: 300 } },
    ],
    [
      'of the loop of a pipeline in older records',
      'loop-code',
      {
        ranks: 2,
        step: (_, rank) => ({ ...staged([5, 5], 16)(0, rank), communicating: NaN }),
        facts: pipeline(16),
      },
    ],
  ])('%s is not judged where it cannot be told', (_, id, given) => {
    const { findings, notJudged } = diagnoseRun(syntheticRun(given));
    expect(findings).toEqual([]);
    expect(notJudged.map((each) => each.id)).toContain(id);
  });

  it.each([
    ['1f1b', 2, 2, 8],
    ['1f1b', 18, undefined, 36],
    ['zeroBubble', 2, 1, 8],
    ['interleaved', 3, 1, 8],
  ])(
    '%s with %i passes has its micro-batches counted, and more are advised',
    (schedule, passes, micro, to) => {
      const ranks = passes === 18 ? 4 : 2;
      const facts = {
        strategy: 'pipeline of ddp',
        options: { mesh: { pipeline: -1 }, pipeline: { schedule, ...(micro && { microBatches: micro }) } },
      };
      const step = (at: number, rank: number) => staged([10, 10], passes)(at, rank % 2);
      const { findings } = diagnoseRun(syntheticRun({ ranks, step, facts }));
      expect(findings.map(({ id, change }) => [id, change?.to])).toEqual([['bubble', to]]);
      expect(findings[0]!.cause).toContain(`${micro ?? passes} micro-batches, the ${ranks} stages`);
    },
  );

  it('has a stage with much more work found also while ranks wait for processors', () => {
    const given = { ranks: 2, step: staged([2, 16], 16), facts: pipeline(16) };
    expect(findingsOf({ ...given, rates: { runQueueMs: 300, hostBusyMs: 2000 } })).toEqual([
      'stage-imbalance',
    ]);
  });

  it('gets fewer micro-batches advised, or larger batches, where each takes time for its calls', () => {
    const found = (kernels: number) => {
      const step = (at: number, rank: number) => {
        const isCounted = (at & (at - 1)) === 0;
        return { ...staged([10, 10], 2)(at, rank), ...(isCounted && { calls: 100, kernels }) };
      };
      const [first] = diagnoseRun(syntheticRun({ ranks: 2, step, facts: pipeline(2) })).findings.filter(
        ({ id }) => id === 'bubble',
      );
      return [first!.change?.to, first!.gain!.mid];
    };
    // Of 20 ms of passes and optimizer.
    expect(found(20)).toEqual([8, expect.closeTo(0.25, 1)]);
    expect(found(18)[0]).toBe(4);
    expect(found(14)).toEqual([undefined, 0]);
  });
});
