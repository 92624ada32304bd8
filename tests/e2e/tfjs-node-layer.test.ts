import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose, runRanks } from '@acc/testkit';
import { providedTfjsNode } from '../../packages/engine-tfjs-node/src/testing/provided-tfjs-node.js';
import type { Result, Way } from './ranks/tfjs-node-layer.js';

const results = new Map<number, Result[]>();

beforeAll(async () => {
  const script = new URL('./ranks/tfjs-node-layer.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1', TF_NUM_INTRAOP_THREADS: '1', TF_CPP_MIN_LOG_LEVEL: '2' };
  for (const ranks of [1, 2, 3]) {
    const ended = await runRanks<Result>({ script, ranks, args: [providedTfjsNode()], env });
    for (const { exitCode, stderr } of ended) expect(exitCode, stderr).toBe(0);
    results.set(
      ranks,
      ended.map(({ result }) => result!),
    );
  }
});

/** Ranks add the same numbers in another order. */
const SUMS = { rtol: 1e-4, atol: 1e-6 };
/** Products of 16-bit numbers are rounded to 8 bits, and ranks sum other parts of them. */
const SHORT = { rtol: 2e-2, atol: 2e-3 };

const WAYS: Readonly<Partial<Record<Way, readonly [reference: Way, close: typeof SUMS]>>> = {
  ddp: ['ddp', SUMS],
  stage1: ['ddp', SUMS],
  stage2: ['ddp', SUMS],
  stage3: ['ddp', SUMS],
  accumulated: ['accumulated', SUMS],
  'ddp, bf16': ['ddp, bf16', SHORT],
  'stage3, bf16': ['ddp, bf16', SHORT],
  'stage3, param bf16': ['ddp, bf16', SHORT],
};

describe.each([1, 2, 3])("on tfjs-node's backend, %i ranks", (ranks) => {
  it.each(Object.entries(WAYS))('take the steps of one process: %s', (way, [reference, close]) => {
    const alone = results.get(1)![0]![reference].weights;
    for (const result of results.get(ranks)!) {
      const { weights, leaked, backend } = result[way as Way];
      expect(backend).toBe('tensorflow');
      weights.forEach((values, step) => expectClose(values, alone[step]!, close));
      expect(weights.at(-1)).not.toEqual(weights[0]);
      expect(leaked).toBe(0);
    }
  });
});

it('bf16 rounds, and trains to nearly the weights of float32', () => {
  const { ddp, 'ddp, bf16': short } = results.get(1)![0]!;
  expect(short.weights).not.toEqual(ddp.weights);
  expectClose(short.weights.at(-1)!, ddp.weights.at(-1)!, { rtol: 0.05, atol: 0.02 });
});
