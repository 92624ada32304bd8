import { describe, expect, it } from 'vitest';
import type { StepRow } from '../format.js';
import { syntheticRun, type Synthetic } from '../synthetic.js';
import { diagnoseRun } from './diagnose.js';

const findingsOf = (given: Synthetic) => diagnoseRun(syntheticRun(given)).findings;
const idsOf = (given: Synthetic) => findingsOf(given).map(({ id }) => id);

/** Figures of the steps whose single gradients were looked at: 10, 20, 40, 80 and 160. */
const looked = (figures: Partial<StepRow>) => (step: number) =>
  [10, 20, 40, 80, 160].includes(step) ? figures : {};
/** Ranks that communicate for 6.7 ms of 16.7 ms. */
const talking = (options: object): Synthetic => ({
  ranks: 2,
  step: () => ({ ms: 16.7, exposed: 6.7, blocked: 6.7, bytesSent: 2 ** 23 }),
  facts: { options: { ddp: options } },
});
/** The norm of the gradients of one of two ranks, if that of all is 1 and the batch is 32. */
const ownNorm = (critical: number) => ({
  ownGradNorm: Math.sqrt(1 + critical / (1 + critical / 32) / 32),
});
const mostlyFixed = (critical: number) => (step: number) => ({
  ...{ optimizer: 8, backward: 1, forward: 1 },
  ...looked(ownNorm(critical))(step),
});
const compiled = (lastRecording: number) => (step: number) => ({
  recordings: step < lastRecording ? 1 : 0,
  ...(step % 2 && { ms: 6, forward: 0, backward: 0, replay: 5 }),
});
const computing = () => ({ calls: 10, kernels: 9 });
const offloading: Synthetic = {
  ranks: 2,
  step: () => ({ bytesSent: 1e6 }),
  facts: { options: { fsdp: { offload: { optimizer: true, to: '/tmp' } } } },
};

describe('a cause', () => {
  it.each<[string, Synthetic, Synthetic]>([
    [
      'eval-heavy',
      { step: (step) => (step % 5 === 0 ? { ms: 30, evaluation: 20 } : {}) },
      { step: (step) => (step % 10 === 0 ? { ms: 30, evaluation: 20 } : {}) },
    ],
    ['sync-read', { step: () => ({ ms: 11, reads: 1 }) }, { step: () => ({ ms: 10.2, reads: 0.2 }) }],
    [
      'logging-slow',
      { ranks: 2, step: (_, rank) => (rank === 0 ? { ms: 10.5, logging: 0.5 } : { ms: 10.5 }) },
      { step: () => ({ ms: 10.2, logging: 0.2 }) },
    ],
    ['re-recording', { step: compiled(10) }, { step: compiled(4) }],
    ['idle-cores', { step: computing }, { step: computing, rates: { hostBusyMs: 2000 } }],
    ['throttling', { rates: { throttledMs: 100 } }, { rates: { throttledMs: 20 } }],
    [
      'paging',
      { rates: { memoryStallMs: 100, majorFaults: 100 } },
      { rates: { memoryStallMs: 100, majorFaults: 5 } },
    ],
    ['no-overlap', talking({ syncAt: 'apply' }), { ...talking({ syncAt: 'apply' }), step: () => ({}) }],
    [
      'last-bucket',
      talking({ bucketBytes: 2 ** 28 }),
      { ...talking({ bucketBytes: 2 ** 28 }), step: () => ({}) },
    ],
    [
      'memory-headroom',
      offloading,
      {
        ...offloading,
        facts: { ...offloading.facts, memoryBytes: 9e6 },
        rates: { rssBytes: 1e6 },
      },
    ],
    ['dead-units', { step: looked({ zeroUnits: 0.4 }) }, { step: looked({ zeroUnits: 0.2 }) }],
    ['vanishing', { step: looked({ gradRatio: 1e-5 }) }, { step: looked({ gradRatio: 1e-3 }) }],
    [
      'unused-weights',
      { ranks: 2, step: looked({ unusedVariables: 1 }) },
      { ranks: 2, step: (step) => (step === 10 ? { unusedVariables: 1 } : {}) },
    ],
    [
      'ranks-differ',
      { ranks: 2, step: (step, rank) => looked({ weightNorm: step > 30 && rank === 1 ? 10.1 : 10 })(step) },
      { ranks: 2, step: (step, rank) => looked({ weightNorm: 10 + 1e-6 * rank })(step) },
    ],
    ['batch-small', { ranks: 2, step: mostlyFixed(1000) }, { ranks: 2, step: mostlyFixed(200) }],
    ['expert-imbalance', { step: () => ({ expertLoad: 2 }) }, { step: () => ({ expertLoad: 1.2 }) }],
  ])('%s, and none for what is nearly so', (id, given, near) => {
    expect(idsOf(given)).toEqual([id]);
    expect(idsOf(near)).toEqual([]);
  });

  it('of communication is accumulate-more where batches are far below the critical one', () => {
    const { step, ...given } = talking({});
    const of = (critical: number) =>
      findingsOf({
        ...given,
        step: (at, rank) => ({ ...step!(at, rank), ...looked(ownNorm(critical))(at) }),
      });
    const [found] = of(200);
    expect([found!.id, found!.change?.to]).toEqual(['accumulate-more', 4]);
    expect(of(100)[0]!.id).toBe('comm-bound');
  });

  it('of units that are 0 is not told of shards', () => {
    const step = looked({ zeroUnits: 0.4 });
    expect(idsOf({ ranks: 2, step, facts: { strategy: 'fsdp' } })).toEqual([]);
  });

  it('of weights names the step since which ranks differ, and who', () => {
    const step = (at: number, rank: number) => looked({ weightNorm: at > 30 && rank === 2 ? 11 : 10 })(at);
    const [found] = findingsOf({ ranks: 3, step });
    expect([found!.id, found!.ranks, found!.since!.step]).toEqual(['ranks-differ', [2], 40]);
  });

  it('of launches is none for collections within passes, and for work that differs from step to step', () => {
    // Calls are counted in each step whose number is a power of 2.
    const counted = (step: number) => ((step & (step - 1)) === 0 ? { calls: 100, kernels: 5 } : {});
    expect(idsOf({ step: counted })).toEqual(['launch-bound']);
    expect(idsOf({ step: (step) => ({ gc: 4, ...counted(step) }) })).toEqual(['gc']);
    const differing = (step: number) => (step % 2 === 0 ? { ms: 6, forward: 2, backward: 3 } : {});
    expect(idsOf({ step: (step) => ({ ...differing(step), ...counted(step) }) })).toEqual([]);
  });

  it('of offload is none to the memory of a CPU, where the state is', () => {
    const idsTo = (fsdp: object, device: string) =>
      idsOf({ ...offloading, facts: { options: { fsdp }, device } });
    expect(idsTo({ cpuOffload: true }, 'cpu')).toEqual([]);
    expect(idsTo({ offload: { optimizer: true } }, 'cpu')).toEqual([]);
    expect(idsTo({ cpuOffload: true }, 'cuda:0')).toEqual(['memory-headroom']);
  });

  it('of launches is that of the fastest steps while the main thread waits for a processor', () => {
    // Passes of 4 ms, of which kernels have 2, and pauses of 16 ms in two of three steps.
    const paused = (kernels: number) => (step: number) => ({
      ...(step % 3 === 0 ? { ms: 5, forward: 1, backward: 2 } : { ms: 21, forward: 9, backward: 10 }),
      ...((step & (step - 1)) === 0 && { calls: 100, kernels }),
    });
    const found = (kernels: number) =>
      findingsOf({ step: paused(kernels), rates: { runQueueMs: 700, hostBusyMs: 1100 } }).filter(
        ({ id }) => id === 'launch-bound',
      );
    expect(found(2).map(({ share }) => share)).toEqual([expect.closeTo(2 / 15.7, 2)]);
    expect(found(3.5)).toEqual([]);
  });

  it('of units that are 0 names a learning rate that is too high, by the loss of the first steps', () => {
    const causeOf = (first: number) =>
      findingsOf({
        step: (step) => ({ ...looked({ zeroUnits: 0.99 })(step), ...(step === 10 && { loss: first }) }),
      })[0]!.cause;
    expect(causeOf(4000)).toContain('learning rate is too high');
    expect(causeOf(2)).not.toContain('learning rate');
  });

  it('of garbage expects that objects of the loop are not made, either', () => {
    const gainOf = (ms: number) =>
      findingsOf({ step: () => ({ ms, gc: 2 }) }).find(({ id }) => id === 'gc')!.gain!.mid;
    // Nothing but passes: 2 of 10 ms. 4 ms of the loop, 2 of which are collections.
    expect(gainOf(10)).toBeCloseTo(0.2, 2);
    expect(gainOf(14)).toBeCloseTo(4 / 14, 2);
  });

  it('of experts comes first if one of them gets most tokens', () => {
    expect(idsOf({ step: () => ({ expertLoad: 8, ms: 16 }) })).toEqual(['expert-imbalance', 'loop-code']);
    expect(idsOf({ step: () => ({ expertLoad: 1.6, ms: 16 }) })).toEqual(['loop-code', 'expert-imbalance']);
  });

  it('of evaluations is half of them', () => {
    const [found] = findingsOf({ step: (step) => (step % 5 === 0 ? { ms: 30, evaluation: 20 } : {}) });
    expect(found!.gain!.mid).toBeCloseTo(2 / 14, 2);
    expect(found!.evidence.at(-1)).toMatchObject({ value: 5, unit: 'steps' });
  });

  it('of batches has the time to a loss by its formula', () => {
    const [found] = findingsOf({ ranks: 2, step: mostlyFixed(1000) });
    // (0.8 + 0.2 · 4) · (1 + 1000 / 128) / (1 + 1000 / 32)
    expect(found!.gain).toMatchObject({ how: 'formula', mid: expect.closeTo(0.563, 2) as number });
  });

  it('of stages expects no more than whole layers allow', () => {
    const gainsOf = (stages: string[][]) => {
      const facts = {
        strategy: 'pipeline of ddp',
        options: { mesh: { pipeline: 2 }, pipeline: { microBatches: 16, stages } },
      };
      // Busy for 28 and 14 ms.
      const step = (_: number, rank: number) => ({
        ...{ ms: 30, forward: 10, backward: rank ? 3 : 17, communicating: rank ? 16 : 2 },
        ...{ blocked: NaN, passes: (1 + rank) * 16 },
      });
      return findingsOf({ ranks: 2, step, facts }).map(({ id, gain }) => [id, gain!.mid]);
    };
    const six = gainsOf([
      ['a', 'b', 'c', 'd'],
      ['e', 'f'],
    ]);
    expect(six).toEqual([['stage-imbalance', expect.closeTo(0.24, 2)]]);
    // If one of the two layers of 14 ms moves, its stage is the slowest.
    expect(gainsOf([['a', 'b'], ['c']])).toEqual([]);
  });

  it('of jitter is none: pauses are in one of the passes', () => {
    const turns = (inBoth: boolean) => (step: number, rank: number) => {
      const more = 3 * Number((step + rank) % 2 === 0);
      const isForward = step % 4 < 2;
      const forward = 3 + (inBoth || isForward ? more : 0);
      const backward = 6 + (inBoth || !isForward ? more : 0);
      const ms = inBoth ? 16 : 13;
      const exposed = ms - 1 - forward - backward;
      return { ms, forward, backward, exposed, blocked: exposed };
    };
    expect(idsOf({ ranks: 2, step: turns(true) })).toEqual(['uneven-work']);
    expect(idsOf({ ranks: 2, step: turns(false) })).toEqual([]);
  });
});
