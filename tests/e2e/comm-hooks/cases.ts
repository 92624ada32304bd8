import { startingQ } from './numbers.js';

export const STEPS = 6;

const ONE = [[12, 9]];
/** A matrix, a vector, a matrix that is too small to compress, and another matrix. */
const SEVERAL = [[12, 9], [9], [4, 3], [7, 10]];
/** With buckets of this many bytes, `SEVERAL` is sent as [3, 2] and [1, 0]. */
const TWO_BUCKETS = 300;

export interface PowerSgdCase {
  readonly rank: number;
  readonly startIteration: number;
  readonly minCompressionRate: number;
  readonly errorFeedback: boolean;
  readonly warmStart: boolean;
}

export type HookSpec =
  | { readonly kind: 'fp16' | 'bf16' }
  | { readonly kind: 'powerSgd'; readonly options: PowerSgdCase; readonly startsFromQ: boolean }
  | { readonly kind: 'topK'; readonly ratio: number }
  | { readonly kind: 'oneBit'; readonly momentum: number; readonly warmupSteps: number };

export interface HookCase {
  readonly shapes: readonly (readonly number[])[];
  readonly hook: HookSpec;
  /** The positions of variables, bucket by bucket. */
  readonly buckets: readonly (readonly number[])[];
  readonly bucketBytes?: number;
  /** The last rank has no gradient of this variable in steps 3 and 4. */
  readonly unused?: number;
}

/** One bucket for all variables. DDP packs it from the last variable to the first. */
const whole = (shapes: HookCase['shapes']) => [shapes.map((_, i) => shapes.length - 1 - i)];
const one = (hook: HookSpec): HookCase => ({ shapes: ONE, hook, buckets: whole(ONE) });
const several = (hook: HookSpec): HookCase => ({ shapes: SEVERAL, hook, buckets: whole(SEVERAL) });
const partlyUsed = (hook: HookSpec): HookCase => ({ ...several(hook), unused: 0 });
const inTwoBuckets = (hook: HookSpec): HookCase => ({
  shapes: SEVERAL,
  hook,
  buckets: [
    [3, 2],
    [1, 0],
  ],
  bucketBytes: TWO_BUCKETS,
});

function powerSgd(options: Partial<PowerSgdCase>, startsFromQ = true): HookSpec {
  const defaults = {
    rank: 2,
    startIteration: 2,
    minCompressionRate: 1.25,
    errorFeedback: true,
    warmStart: true,
  };
  return { kind: 'powerSgd', options: { ...defaults, ...options }, startsFromQ };
}

const topK: HookSpec = { kind: 'topK', ratio: 0.1 };
const oneBit: HookSpec = { kind: 'oneBit', momentum: 0.9, warmupSteps: 2 };

export const HOOK_CASES: Readonly<Record<string, HookCase>> = {
  'fp16, one matrix': one({ kind: 'fp16' }),
  'fp16, two buckets': inTwoBuckets({ kind: 'fp16' }),
  'bf16, one matrix': one({ kind: 'bf16' }),
  'bf16, a gradient missing': partlyUsed({ kind: 'bf16' }),
  'powerSgd, one matrix': one(powerSgd({ rank: 1, minCompressionRate: 2 })),
  'powerSgd, several matrices': several(powerSgd({})),
  'powerSgd, no error feedback': several(powerSgd({ rank: 3, minCompressionRate: 1, errorFeedback: false })),
  'powerSgd, own starting matrices': several(powerSgd({}, false)),
  'powerSgd, no warm start': several(powerSgd({ warmStart: false }, false)),
  'powerSgd, two buckets': inTwoBuckets(powerSgd({})),
  'powerSgd, a gradient missing': partlyUsed(powerSgd({})),
  'topK, one matrix': one(topK),
  'topK, several matrices': several(topK),
  'topK, two buckets': inTwoBuckets(topK),
  'topK, a gradient missing': partlyUsed(topK),
  'oneBit, one matrix': one(oneBit),
  'oneBit, several matrices': several(oneBit),
  'oneBit, two buckets': inTwoBuckets(oneBit),
  'oneBit, a gradient missing': partlyUsed(oneBit),
  'oneBit, no momentum': several({ ...oneBit, momentum: 0 }),
};

/** The cases that python/make_fixture.py ran, by their names there. */
export const PYTORCH_CASES: Readonly<Record<string, string>> = {
  'powerSgd, one matrix': 'rank1-one',
  'powerSgd, several matrices': 'rank2-several',
  'powerSgd, no error feedback': 'rank3-several-forgetful',
};
/** The fp16 hook of PyTorch: one step with one vector. */
export const PYTORCH_CAST = { name: 'fp16', shapes: [[257]] };

export const sizeOf = (shape: readonly number[]) => shape.reduce((product, n) => product * n, 1);

/** Variables that PowerSGD compresses, with the sizes of their matrices. */
export function matricesOf({ shapes }: HookCase, { rank, minCompressionRate }: PowerSgdCase) {
  return shapes.flatMap((shape, variable) => {
    if (shape.length < 2) return [];
    const [rows, columns] = shape as [number, number];
    const columnsOfP = Math.min(rank, rows, columns);
    const travelling = (rows + columns) * columnsOfP;
    return travelling * minCompressionRate < rows * columns
      ? [{ variable, rows, columns, rank: columnsOfP }]
      : [];
  });
}

/** The names of variables' matrices in the hook's state, and the given starting matrices. */
export function startingQs(hookCase: HookCase, options: PowerSgdCase): Record<string, Float32Array> {
  const names: Record<string, Float32Array> = {};
  for (const { variable, columns, rank } of matricesOf(hookCase, options)) {
    names[nameOfQ(hookCase, variable)] = startingQ(variable, columns, rank);
  }
  return names;
}

/** Buckets are numbered, and variables are numbered within their bucket. */
export function nameOfQ({ buckets }: HookCase, variable: number): string {
  const bucket = buckets.findIndex((members) => members.includes(variable));
  return `0.${bucket}/q/${buckets[bucket]!.indexOf(variable)}`;
}

export const isUnused = (
  { unused }: HookCase,
  { rank, size, step, variable }: Record<'rank' | 'size' | 'step' | 'variable', number>,
) => variable === unused && size > 1 && rank === size - 1 && (step === 3 || step === 4);

/** Local training: shapes, steps and rates. */
export const LOCAL = { shapes: SEVERAL, steps: 7, rate: 0.1, momentum: 0.9 };
/** The number of steps that ranks take independently. */
export const LOCAL_CASES = {
  'LocalSGD, each step': { kind: 'localSgd', every: 1 },
  'LocalSGD, every three': { kind: 'localSgd', every: 3 },
  'DiLoCo, each step': { kind: 'diloco', every: 1 },
  'DiLoCo, every three': { kind: 'diloco', every: 3 },
} as const;

/** oneBitAdam with the hook's momentum and warm-up. */
export const ONE_BIT_ADAM = { learningRate: 0.05, beta1: 0.9, beta2: 0.95, epsilon: 1e-3, warmupSteps: 2 };
export const ONE_BIT_ADAM_CASE = several({
  kind: 'oneBit',
  momentum: ONE_BIT_ADAM.beta1,
  warmupSteps: ONE_BIT_ADAM.warmupSteps,
});
