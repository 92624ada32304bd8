import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';
import type { EightBitTraining, Format } from './ranks/eight-bits.js';

interface Trained {
  readonly weights: readonly number[][];
  readonly norms: readonly number[];
  readonly skipped: readonly boolean[];
}
type Trainings = Readonly<Record<string, Trained>>;

let alone: Trainings;
let pair: readonly Trainings[];
let three: readonly Trainings[];

beforeAll(async () => {
  const module = new URL('./ranks/precision.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  const train = (ranks: number) => onRanks<Trainings>({ module, ranks, env });
  alone = (await train(1))[0]!;
  pair = await train(2);
  three = await train(3);
});

/**
 * Weights are of the order of 1, and each micro-batch rounds its gradients to the dtype, so the
 * tolerance is a few of its steps.
 */
const TOLERANCE = { no: 1e-6, fp16: 2e-3, bf16: 2e-2, int8: 4e-2, fp8: 8e-2 } as const;

function expectSame(one: Trained, reference: Trained, tolerance: number): void {
  one.weights.forEach((values, i) =>
    expectClose(values, reference.weights[i]!, { rtol: tolerance, atol: tolerance }),
  );
  expect(one.skipped).toEqual(reference.skipped);
}

describe.each(['no', 'bf16', 'fp16', 'int8', 'fp8'] as const)('in precision %s', (precision) => {
  const tolerance = TOLERANCE[precision];

  it('clipped windows on 1 and 2 ranks take the steps of whole batches on one', () => {
    const whole = alone[`${precision} 1`]!;
    expectSame(alone[`${precision} 3`]!, whole, tolerance);
    for (const rank of pair) {
      expectSame(rank[`${precision} 1`]!, whole, tolerance);
      expectSame(rank[`${precision} 3`]!, whole, tolerance);
    }
  });

  it('all ranks have the same bits', () => {
    const ofPrecision = Object.entries(pair[0]!).filter(([name]) => name.startsWith(`${precision} `));
    for (const [name, { weights, norms }] of ofPrecision) {
      expect(pair[1]![name]).toMatchObject({ weights, norms });
    }
  });

  it('checkpointed layers change nothing', () => {
    for (const trainings of [alone, ...pair]) {
      for (const steps of [1, 3]) {
        expect(trainings[`${precision} ${steps} again`]).toEqual(trainings[`${precision} ${steps}`]);
      }
    }
  });
});

it('a step with an overflow is skipped on all ranks, and the scale falls', () => {
  for (const trainings of [alone, ...pair]) {
    const [first, ...others] = trainings['fp16 3']!.skipped;
    expect(first).toBe(true);
    expect(others).not.toContain(true);
    expect(trainings['bf16 3']!.skipped).not.toContain(true);
  }
});

/** Each half of a batch, or of a row, has scales of its own. */
const OWN_SCALES = {
  int8: { rtol: 3e-2, atol: 3e-2 },
  fp8: { rtol: 6e-2, atol: 6e-2 },
  'delayed fp8': { rtol: 6e-2, atol: 6e-2 },
};

const FORMATS: readonly Format[] = ['int8', 'fp8', 'delayed fp8'];

describe.each(FORMATS)('products in 8 bits: %s', (format) => {
  const of = (trainings: Trainings, kind: string) =>
    trainings[`${format}, ${kind}`]! as unknown as EightBitTraining;

  it.each(format === 'delayed fp8' ? ['ddp', 'fsdp'] : ['ddp', 'fsdp', 'tensor'])(
    '%s on 2 and 3 ranks trains as one process',
    (kind) => {
      const reference = of(alone, 'ddp');
      expect(reference.weights).not.toEqual(of(alone, 'bf16').weights);
      for (const rank of [...pair, ...three]) {
        const { weights, products } = of(rank, kind);
        // In each step: three layers, their weights, and the inputs of two of them.
        expect(products).toBe(8 * 8);
        weights.forEach((values, i) => expectClose(values, reference.weights[i]!, OWN_SCALES[format]));
      }
      for (const ranks of [pair, three])
        for (const rank of ranks) expect(of(rank, kind).weights).toEqual(of(ranks[0]!, kind).weights);
    },
  );

  it('fsdp has the bits of ddp, and a replayed step those of a plain one', () => {
    for (const trainings of [alone, ...pair, ...three]) {
      const reference = of(trainings, 'ddp');
      expect(of(trainings, 'fsdp')).toEqual(reference);
      const { weights, losses } = of(trainings, 'compiled');
      expect({ weights, losses }).toEqual({ weights: reference.weights, losses: reference.losses });
    }
  });
});

// Deterministic training refuses delayed scales.
it.each(FORMATS.filter((format) => format !== 'delayed fp8'))(
  'products in 8 bits: %s: deterministic training has the same bits on 1 and 2 ranks',
  (format) => {
    const of = (trainings: Trainings) =>
      trainings[`${format}, deterministic`]! as unknown as EightBitTraining;
    const reference = of(alone);
    expect(reference.products).toBeGreaterThan(0);
    for (const rank of pair) expect(of(rank).weights).toEqual(reference.weights);
  },
);
