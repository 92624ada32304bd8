import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Facts } from '../facts.js';
import type { StepRow } from '../format.js';
import { diagnose, readRecords } from '../read-records.js';
import { syntheticRun, type Synthetic } from '../synthetic.js';
import { diagnoseRun } from './diagnose.js';
import type { Finding } from './finding.js';
import { replay } from './replay.js';
import { Run } from './run.js';

const runs = fileURLToPath(new URL('../testing/runs/', import.meta.url));

/** Records of programs of `npm run bench:diagnose`: the id of their cause, and the option to change. */
const RECORDED: Readonly<Record<string, readonly string[]>> = {
  '2-ranks-of-2-threads': ['oversubscribed', 'acc launch --threads'],
  'a-checkpoint-every-20-steps': ['checkpoint-stall', 'checkpoint.async'],
  'activations-computed-again': ['recompute-needless', 'checkpointEvery'],
  'an-evaluation-every-5-steps': ['loop-code'],
  'buckets-of-4-KiB': ['small-buckets', 'ddp.bucketBytes'],
  'compiled-MLP': [],
  'a-program-that-is-sick-in-three-ways': ['leak'],
  ddp: [],
  'loader-decodes-on-the-main-thread': ['data-bound'], // The machine was too busy to tell why it waits.
  'gradients-reduced-after-each-micro-batch': ['reduce-each-micro', 'ddp.syncEachBatch'],
  'learning-rate-times-10-000': ['not-learning'],
  'loader-reads-slowly': ['data-bound'],
  'log-of-a-negative-number': ['non-finite', 'gradientClipping.norm'],
  'objects-for-the-garbage-collector': ['gc'],
  'shuffled-labels': ['not-learning'],
  'tensors-that-stay': ['leak'],
  'rank-1-computes-twice-as-much': ['slow-rank'],
  'rank-1-makes-no-call-any-more': ['hang'],
  'the-same-samples-on-all-ranks': ['same-batches'],
  'weights-as-text-in-each-step': ['loop-code'],
};

const findingsOf = (given: Synthetic) => diagnoseRun(syntheticRun(given)).findings;
const only = (given: Synthetic): Finding => {
  const findings = findingsOf(given);
  expect(findings.map(({ id }) => id)).toHaveLength(1);
  return findings[0]!;
};

/** Figures of each 10th step, from a step on. */
const due = (from: number, figures: Partial<StepRow>) => (step: number) =>
  step >= from && step % 10 === 0 ? figures : {};
const fp16Overflow = due(120, { nonFinite: 1, gradNorm: Infinity });
const FP16 = { options: { mixedPrecision: 'fp16' } };
/** A loss that has fallen from 9 to 2.89, near ln 18. */
const plateau = (step: number) => 2.89 + 6.11 * 0.9 ** Math.max(0, step - 10);
/** Calls are counted in each step whose number is a power of 2. */
const counted = (kernels: number) => (step: number) =>
  (step & (step - 1)) === 0 ? { calls: 100, kernels } : {};
/** Rank 0 is busy for 10 ms and waits for 4, or the other way round. */
const turns =
  (slow: number) =>
  (step: number, rank: number): Partial<StepRow> & { ms: number } => {
    // More work takes longer in both passes.
    const more = (step + rank) % 2 === 0 ? slow / 2 : 0;
    const waits = slow - 2 * more;
    return { ms: 10 + slow, forward: 3 + more, backward: 6 + more, exposed: waits, blocked: waits };
  };
const talking: Synthetic = {
  ranks: 2,
  step: () => ({ ms: 16.7, exposed: 6.7, blocked: 6.7, bytesSent: 4_096_000 }),
};

describe('the records of a real run', () => {
  it('are all listed', () => {
    expect(readdirSync(runs).toSorted()).toEqual(Object.keys(RECORDED).toSorted());
  });

  it.each(Object.entries(RECORDED))('%s', async (name, expected) => {
    const { findings } = await diagnose(`${runs}${name}`);
    // The machine ran other programs, and these had one thread of its two.
    const [first] = findings.filter(({ id }) => !['cpu-steal', 'idle-cores'].includes(id));
    expect(first ? [first.id, ...(first.change ? [first.change.option] : [])] : []).toEqual(expected);
  });

  it.each(Object.keys(RECORDED))('%s takes as long in a replay without a change', async (name) => {
    const run = new Run(await readRecords(`${runs}${name}`));
    const rows = run.steps.map((steps) => steps.at(-1)!.row.end - steps[0]!.row.start);
    expect(replay(run) / Math.max(...rows)).toBeGreaterThan(0.985);
    expect(replay(run) / Math.max(...rows)).toBeLessThan(1.015);
  });
});

describe('a finding', () => {
  it('is not there in a healthy run, and everything with a column was judged', () => {
    const { findings, notJudged } = diagnoseRun(syntheticRun({ ranks: 2, steps: 200 }));
    expect(findings).toEqual([]);
    expect(notJudged.map(({ id }) => id).toSorted()).toEqual(['gc', 'launch-bound']);
  });

  it('has the gain of a slow rank: 14 ms on rank 1, 10 ms on rank 0', () => {
    const step = (_: number, rank: number) =>
      rank === 1 ? { ms: 14, forward: 7 } : { ms: 14, exposed: 4, blocked: 4 };
    const { id, ranks, gain, share } = only({ ranks: 2, step });
    expect([id, ranks]).toEqual(['slow-rank', [1]]);
    expect(gain!.mid).toBeCloseTo(4 / 14, 2);
    expect([gain!.low, gain!.mid, gain!.high].toSorted()).toEqual([gain!.low, gain!.mid, gain!.high]);
    expect(share).toBe(gain!.mid);
  });

  it('says which step a slowdown began with, and what grew', () => {
    const { id, since, cause, gain } = only({
      steps: 200,
      step: (step) => (step > 120 ? { ms: 20, forward: 13 } : {}),
    });
    expect([id, since?.step]).toEqual(['slowdown-since', 121]);
    expect(cause).toContain('passes and optimizer');
    expect(gain!.mid).toBeCloseTo(0.27, 1);
  });

  it('tells work of every 5th step from that of each', () => {
    const { id, evidence, gain } = only({ step: (step) => (step % 5 === 0 ? { ms: 30 } : {}) });
    expect(id).toBe('loop-code');
    expect(evidence.at(-1)).toMatchObject({ quantity: 'period', value: 5 });
    expect(gain!.mid).toBeCloseTo(4 / 14, 2);
    expect(only({ step: () => ({ ms: 14 }) }).evidence).toHaveLength(2);
  });

  it('is not sure of code of the loop while the main thread waits for a processor', () => {
    const loopOf = (runQueueMs: number) =>
      diagnoseRun(syntheticRun({ step: () => ({ ms: 15 }), rates: { runQueueMs } })).findings.find(
        ({ id }) => id === 'loop-code',
      )!;
    expect([loopOf(0).severity, loopOf(0).gain!.low]).toEqual(['critical', expect.closeTo(1 / 3, 2)]);
    const { severity, cause, gain } = loopOf(850);
    expect(severity).toBe('warning');
    expect(cause).toContain('hides how much');
    expect(gain!.low).toBeLessThan(0.06);
  });

  it.each([
    [{ loader: 5, ms: 15 }, 700, 'dataLoader.prefetch', 2],
    [{ loader: 30, ms: 40 }, 100, 'DataLoader numWorkers', 2],
  ])('advises %o of waiting: more is read ahead', (times, cpuMs, option, to) => {
    const { id, change } = only({ step: () => times, rates: { cpuMs } });
    expect([id, change?.option, change?.to]).toEqual(['data-bound', option, to]);
  });

  it('does not expect workers to be faster than the processors', () => {
    const given = { step: () => ({ loader: 30, ms: 40 }), rates: { cpuMs: 1000 } };
    // 40 ms of processor time in each step, on two processors.
    expect(only(given).gain!.mid).toBeCloseTo(0.5, 2);
  });

  it('names an option, its value, and the line that sets it', () => {
    const options = { checkpoint: { async: false } };
    const step = (at: number) => (at % 20 === 0 ? { ms: 110, saves: 100 } : {});
    expect(only({ step, facts: { options } }).change).toEqual({
      ...{ option: 'checkpoint.async', from: false, to: true, line: 'train.ts:3:7' },
    });
  });

  it.each([
    ['reduce-each-micro', { gradientAccumulationSteps: 4, ddp: { syncEachBatch: true } }, 0.3],
    ['small-buckets', { ddp: { bucketBytes: 4096 } }, 0.2],
    ['comm-bound', { ddp: {} }, 0.2],
  ])('of communication is %s with %o', (id, options, gain) => {
    const step = () => ({ ms: 16.7, exposed: 6.7, blocked: 6.7, bytesSent: 4_096_000 });
    const found = only({ ranks: 2, step, facts: { options } });
    expect(found.id).toBe(id);
    expect(found.gain!.mid).toBeCloseTo(gain, 1);
  });

  it('of processors is that of the job, or of others', () => {
    const rates = { runQueueMs: 300, cpuMs: 700, hostBusyMs: 2000 };
    const found = findingsOf({ ranks: 2, facts: { threads: 2 }, rates: { ...rates, cpuMs: 1000 } });
    expect(found.map(({ id, change }) => [id, change?.to])).toEqual([['oversubscribed', 1]]);
    expect(only({ rates }).id).toBe('cpu-steal');
    // Two threads too many, and two processors that others use.
    const shared = findingsOf({ ranks: 2, facts: { threads: 2 }, rates: { ...rates, hostBusyMs: 3400 } });
    expect(shared.map(({ id, share }) => [id, share.toFixed(2)])).toEqual([
      ['oversubscribed', '0.15'],
      ['cpu-steal', '0.15'],
    ]);
    // The processors are busy, and the training has one of its own.
    expect(findingsOf({ rates: { ...rates, runQueueMs: 10 } })).toEqual([]);
  });

  it('of processors says since when: other programs began after 6 s', () => {
    const recorded = syntheticRun({ step: () => ({ ms: 100, forward: 93 }), rates: { hostBusyMs: 2000 } });
    const [rank] = recorded.ranks;
    const samples = rank!.samples.map((row) => ({ ...row, runQueueMs: Math.max(0, row.time - 6000) / 2 }));
    const { findings } = diagnoseRun({ problems: [], ranks: [{ ...rank!, samples }] });
    expect(findings.map(({ id }) => id)).toEqual(['cpu-steal']);
    // The step from 6.0 s to 6.1 s is the 62nd.
    expect(Math.abs(findings[0]!.since!.step - 62)).toBeLessThanOrEqual(3);
  });

  it.each<[string, Synthetic, Synthetic]>([
    ['gc', { step: () => ({ gc: 1 }) }, { step: () => ({ gc: 0.1 }) }],
    [
      'leak',
      { step: (step) => ({ tensors: 100 + 2 * step, allocatedBytes: 1e6 * step }) },
      { step: (step) => ({ tensors: 100 + Math.floor(step / 4), allocatedBytes: 1e6 * step }) },
    ],
    ['near-oom', { rates: { rssBytes: 9.5e9 } }, { rates: { rssBytes: 9e9 } }],
    ['launch-bound', { step: counted(4) }, { step: counted(8) }],
    [
      'recompute-needless',
      { facts: { options: { checkpointEvery: 2 } } },
      { facts: { options: { checkpointEvery: 2 }, memoryBytes: 9e6 }, rates: { rssBytes: 1e6 } },
    ],
    ['non-finite', { step: due(50, { nonFinite: 1, loss: NaN }) }, { step: fp16Overflow, facts: FP16 }],
    [
      'loss-spike',
      { steps: 300, step: due(200, { loss: 40 }) },
      { steps: 300, step: (step) => (step < 220 ? due(200, { loss: 40 })(step) : {}) },
    ],
    [
      'not-learning',
      { step: due(0, { loss: 2.3 }) },
      { step: (step) => due(0, { loss: plateau(step) })(step) },
    ],
    [
      'small-buckets',
      { ...talking, facts: { options: { ddp: { bucketBytes: 4096 } } } },
      {
        ranks: 2,
        step: () => ({ ...talking.step!(0, 0), passes: 16 }),
        facts: { strategy: 'pipeline of ddp', options: { mesh: { pipeline: 2 } } },
      },
    ],
    [
      'oversubscribed',
      { facts: { threads: 4 }, rates: { runQueueMs: 300 } },
      { facts: { threads: 4, processors: 4, boundTo: '0-1,4,6' }, rates: { runQueueMs: 300 } },
    ],
    [
      'small-products',
      { step: () => ({ samples: 8, optimizer: 4, backward: 3 }) },
      { step: () => ({ samples: 16, optimizer: 4, backward: 3 }) },
    ],
    ['uneven-work', { ranks: 2, step: turns(4) }, { ranks: 2, step: turns(1) }],
    [
      'wrong-strategy',
      { ...talking, facts: { strategy: 'fsdp', options: { strategy: 'fsdp' } } },
      { ranks: 2, facts: { strategy: 'fsdp', options: { strategy: 'fsdp' } } },
    ],
    [
      'not-replayed',
      { step: (step) => ({ ...counted(4)(step), recordings: step < 4 ? 1 : 0 }) },
      { step: (step) => ({ ...counted(8)(step), recordings: step < 4 ? 1 : 0 }) },
    ],
    [
      'exploding',
      { steps: 200, step: (step) => (step % 60 === 0 ? due(0, { gradNorm: 11 })(step) : {}) },
      { steps: 200, step: (step) => (step % 60 === 0 ? due(0, { gradNorm: 9 })(step) : {}) },
    ],
    [
      'fp16-scale',
      { step: (step) => ({ passes: step % 10 === 0 ? 2 : 1 }), facts: FP16 },
      { step: (step) => ({ passes: step % 30 === 0 ? 2 : 1 }), facts: FP16 },
    ],
    // Two networks, and batches of a pipeline's ranks and of sequences, which have more rows.
    [
      'fp16-scale',
      { step: (step) => ({ passes: step % 10 === 0 ? 4 : 2 }), facts: FP16 },
      { step: () => ({ passes: 2 }), facts: FP16 },
    ],
    [
      'small-products',
      { ranks: 2, step: () => ({ samples: 16, optimizer: 4, backward: 3 }) },
      {
        ranks: 2,
        step: () => ({ samples: 16, optimizer: 4, backward: 3 }),
        facts: { strategy: 'tensor', options: { mesh: { tensor: 2 } } },
      },
    ],
    [
      'small-products',
      { step: () => ({ samples: 8, tokens: 8, optimizer: 4, backward: 3 }) },
      { step: () => ({ samples: 8, tokens: 8 * 64, optimizer: 4, backward: 3 }) },
    ],
    [
      'exploding',
      { steps: 200, step: (step) => (step % 60 === 0 ? { gradNorm: 11 } : {}) },
      {
        steps: 200,
        step: (step) => (step % 60 === 0 ? { gradNorm: 11 } : {}),
        facts: { options: { gradientClipping: { norm: 1 } } },
      },
    ],
    [
      'same-batches',
      { ranks: 2, step: (step) => due(0, { ownLoss: 1 / step })(step) },
      { ranks: 2, step: (step, rank) => due(0, { ownLoss: (1 + 1e-4 * rank) / step })(step) },
    ],
  ])('%s, and none for what is nearly so', (id, given, near) => {
    expect(only(given).id).toBe(id);
    expect(findingsOf(near)).toEqual([]);
  });

  it.each<[string, string, Synthetic]>([
    ['of communication', 'comm-bound', { ...talking, rates: { runQueueMs: 300 } }],
    [
      'of shards',
      'comm-bound',
      {
        ...talking,
        facts: { strategy: 'fsdp', options: { strategy: 'fsdp' } },
        rates: { runQueueMs: 300 },
      },
    ],
    ['of uneven work', 'uneven-work', { ranks: 2, step: turns(4), rates: { runQueueMs: 300 } }],
    [
      'of the learning rate',
      'not-learning',
      { step: (step) => ({ learningRate: step, ...due(0, { loss: 2.3 })(step) }) },
    ],
    ['of code on a GPU', 'loop-code', { step: () => ({ ms: 20 }), facts: { device: 'cuda:0' } }],
    ['of calls', 'launch-bound', { facts: { backend: 'cpu' } }],
    ['of a rank on a GPU', 'slow-rank', { ...talking, facts: { device: 'cuda:0' } }],
  ])('%s is not judged where it cannot be told', (_, id, given) => {
    const { findings, notJudged } = diagnoseRun(syntheticRun(given));
    expect(findings).toEqual([]);
    expect(notJudged.map((each) => each.id)).toContain(id);
  });

  it('of shards is none where the memory of the machine is not known', () => {
    const { ranks } = syntheticRun({
      ...talking,
      facts: { strategy: 'fsdp', options: { strategy: 'fsdp' } },
    });
    const unknown = ranks.map((rank) => {
      const { memoryBytes: _, ...facts } = rank.facts!;
      return { ...rank, facts: facts as Facts };
    });
    const { findings } = diagnoseRun({ ranks: unknown, problems: [] });
    expect(findings.map(({ id }) => id)).toEqual(['comm-bound']);
  });

  it('of a loss that falls is none, also while the learning rate rises', () => {
    const { notJudged } = diagnoseRun(syntheticRun({ step: (step) => ({ learningRate: step }) }));
    expect(notJudged.map(({ id }) => id)).not.toContain('not-learning');
  });

  it('of a guess is critical, and a loss that stands elsewhere is a warning', () => {
    expect(only({ step: due(0, { loss: 2.3 }) }).severity).toBe('critical');
    expect(only({ step: due(0, { loss: 3.5 }) }).severity).toBe('warning');
  });

  it('of tensors is a warning unless memory grows, and evidence is finite', () => {
    const { severity, evidence } = only({ step: (step) => ({ tensors: 2 * step, allocatedBytes: NaN }) });
    expect([severity, evidence.map(({ quantity }) => quantity)]).toEqual(['warning', ['tensors that stay']]);
  });

  it('that breaks the training comes first', () => {
    const step = (at: number) => ({ ms: 30, tensors: 2 * at, allocatedBytes: 1e6 * at });
    expect(findingsOf({ step }).map(({ id }) => id)).toEqual(['leak', 'loop-code']);
  });

  it('names no cause of waits for batches if other threads hide it', () => {
    const waits = (given: Synthetic) => only({ ...given, step: () => ({ loader: 30, ms: 40 }) });
    const rates = { runQueueMs: 200, hostBusyMs: 1100 };
    for (const found of [waits({ rates }), waits({ facts: { threads: 2 }, rates: { cpuMs: 700 } })]) {
      expect(found.id).toBe('data-bound');
      expect(found.change).toBeNull();
      expect(found.cause).toContain('hides why');
      expect(found.gain!.low).toBe(0);
    }
    const options = { dataLoader: { prefetch: 4 } };
    expect(
      only({ facts: { options }, step: () => ({ loader: 5, ms: 15 }), rates: { cpuMs: 700 } }).change,
    ).toBeNull();
  });

  it('of processors is none for ranks that are bound to one each', () => {
    const { ranks } = syntheticRun({ ranks: 2, facts: { processors: 1 }, rates: { runQueueMs: 300 } });
    const bound = ranks.map((each) => ({ ...each, facts: { ...each.facts!, boundTo: String(each.rank) } }));
    expect(diagnoseRun({ ranks: bound, problems: [] }).findings).toEqual([]);
    const [found] = diagnoseRun({ ranks, problems: [] }).findings;
    expect(found).toMatchObject({
      id: 'oversubscribed',
      cause: expect.stringContaining('1 processor,') as string,
    });
  });

  it('of a slowdown says what grew on the slowest rank', () => {
    const step = (at: number, rank: number) => {
      if (at <= 70) return {};
      return rank === 1 ? { ms: 20, forward: 13 } : { ms: 20, exposed: 10, blocked: 10 };
    };
    const found = findingsOf({ ranks: 2, step }).find(({ id }) => id === 'slowdown-since');
    expect(found!.cause).toContain('passes and optimizer');
  });

  it('is none for a loss that was not finite once, and for tensors that go', () => {
    const step = (at: number) => ({
      ...(at === 50 && { nonFinite: 1, loss: NaN }),
      tensors: 100 + (at % 30),
    });
    expect(findingsOf({ step })).toEqual([]);
  });
});
