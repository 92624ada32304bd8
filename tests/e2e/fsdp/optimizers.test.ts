import { beforeAll, describe, expect, inject, it } from 'vitest';
import { onRanks } from '../on-ranks.js';
import type { Args, Kind, Layout, Result, Trained } from './ranks/optimizers.js';

const STEPS = inject('isRelease') ? 20 : 8;
/** All on two ranks; on three, shards have different sizes. */
const ON_THREE: readonly Layout[] = inject('isRelease') ? ['ddp', 'stage1', 'stage2', 'stage3'] : ['stage3'];
const JOBS: readonly { readonly ranks: number; readonly layouts: readonly Layout[] }[] = [
  { ranks: 1, layouts: ['ddp'] },
  { ranks: 2, layouts: ['ddp', 'stage1', 'stage2', 'stage3'] },
  { ranks: 3, layouts: ON_THREE },
  { ranks: 4, layouts: ['hybrid'] },
];
const KINDS: readonly Kind[] = [
  ...(['sgd', 'momentum', 'nesterov', 'adagrad', 'adadelta', 'rmsprop', 'centered rmsprop'] as const),
  ...(['adam', 'adamax', 'adamw', 'oneBitAdam', 'sgdw', 'lion', 'lamb'] as const),
  ...(['adafactor', 'adafactor with momentum', 'adafactor without scales'] as const),
];
/**
 * Relative to the loss, and to the Euclidean norm of each variable. Single elements may lie near 0,
 * where a relative difference says nothing. Found are at most 2e-6 (sgdw, whose momentum adds up
 * rounding errors), for most optimizers 3e-7.
 *
 * Steps that do not grow with the gradient (lion's sign, adam's and adafactor's quotients) are as
 * large for a gradient that consists of rounding errors. They agree because no gradient here does:
 * see `batchOf` in the program. With targets that the network can learn, adafactor differed by 1e-5
 * after 20 steps on three ranks, under ddp as under fsdp.
 */
const TOLERANCE = 1e-5;
const results = new Map<number, Result[]>();

beforeAll(async () => {
  const module = new URL('./ranks/optimizers.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  for (const { ranks, layouts } of JOBS) {
    const args: Args = { layouts, steps: STEPS };
    results.set(ranks, await onRanks<Result>({ module, ranks, args, env }));
  }
}, 400_000);

const norm = (values: readonly number[]) => Math.hypot(...values);

/** The largest difference of a variable after some steps, relative to its norm. */
function weightError(found: Trained, expected: Trained): number {
  const errors = expected.weights.flatMap((variables, step) =>
    variables.map((values, i) => {
      const others = found.weights[step]![i]!;
      expect(others.length).toBe(values.length);
      return norm(values.map((value, k) => others[k]! - value)) / norm(values);
    }),
  );
  return Math.max(...errors);
}

/** The largest difference of a mean loss of all rows, relative to it. */
function lossError(found: readonly Trained[], expected: Trained): number {
  const errors = expected.losses.map((loss, step) => {
    const mean = found.reduce((sum, { losses }) => sum + losses[step]!, 0) / found.length;
    return Math.abs(mean - loss) / loss;
  });
  expect(errors).toHaveLength(STEPS);
  return Math.max(...errors);
}

const table = JOBS.flatMap(({ ranks, layouts }) => (ranks === 1 ? [] : [{ ranks, layouts }]));

describe.each(table)('on $ranks ranks', ({ ranks, layouts }) => {
  const rows = layouts.flatMap((layout) => KINDS.map((kind) => ({ layout, kind })));

  it.each(rows)(
    `${STEPS} steps of $kind by $layout are those of one process and of ddp`,
    ({ layout, kind }) => {
      const alone = results.get(1)![0]!.ddp![kind];
      const ofRanks = (of: Layout) => results.get(ranks)!.map((result) => result[of]![kind]);
      const found = ofRanks(layout);
      expect(norm(alone.weights.at(-1)!.flat())).not.toBeCloseTo(norm(alone.weights[0]!.flat()), 3);
      expect(lossError(found, alone)).toBeLessThan(TOLERANCE);
      for (const trained of found) {
        expect(weightError(trained, alone)).toBeLessThan(TOLERANCE);
        if (layouts.includes('ddp')) expect(weightError(trained, ofRanks('ddp')[0]!)).toBeLessThan(TOLERANCE);
        expect(trained.leaked).toBe(0);
      }
    },
  );
});
