import * as tf from '@tensorflow/tfjs';
import { assert, property } from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import type { Fusion, Recording } from '@acc/contract';
import type { AccBackend } from '../../../backend.js';
import { StepRecorder } from '../../../recording/recorder.js';
import { registerAccBackend } from '../../../register-backend.js';
import {
  argumentsOf,
  capturedOf,
  programs,
  stepOf,
  type Program,
} from '../../../testing/attention-programs.js';
import { castTo } from '../../testing-replays.js';

// Random programs that resemble attention: plain execution against replays.

let backend: AccBackend;
let recorder: StepRecorder;
beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  backend = tf.backend() as AccBackend;
  recorder = new StepRecorder(backend);
});

/** Of programs whose bits are compared, and of those with close numbers. */
const [EXACT_RUNS, CLOSE_RUNS] = [10, 60];
/** Of the largest number: sums of a few hundred numbers in another order, and a chain after them. */
const BOUNDS = { float32: 1e-5, bfloat16: 0.05 } as const;

/** Arguments of which q, k, v and the gradient of the result have the dtype of the program. */
function typedArguments(program: Program, seed: number): tf.Tensor[] {
  return argumentsOf(program, seed).map((x, i) =>
    i < 4 && program.dtype === 'bfloat16'
      ? backend.tensorOf(castTo(backend.nativeOfData(x)!, 'bfloat16'), 'float32')
      : x,
  );
}

interface Outcome {
  readonly plain: readonly Float32Array[];
  readonly replayed: readonly Float32Array[];
  readonly explanation: string;
}

/** Runs a program plainly, and in a replay with other arguments than it was recorded with. */
function outcomeOf(program: Program, fusion: Fusion): Outcome {
  return tf.tidy(() => {
    const step = stepOf(program, capturedOf(program));
    const valuesOf = (results: readonly tf.Tensor[]) => results.map((x) => x.dataSync<'float32'>());
    const args = typedArguments(program, 1);
    const recording = recorder.record(args, () => tf.tidy(() => step(args))).recording;
    if (typeof recording === 'string') throw new Error(recording);
    recording.seal(fusion);
    const others = typedArguments(program, 100);
    const results = recording.replay(others);
    if (results instanceof Error) throw results;
    const replayed = valuesOf(results);
    const { explanation } = recording as Recording;
    recording.dispose();
    return { plain: valuesOf(step(others)), replayed, explanation };
  });
}

/** The difference of two lists, as a part of the largest number. */
function relativeDifference(actual: Float32Array, expected: Float32Array): number {
  expect(actual).toHaveLength(expected.length);
  const largest = expected.reduce((max, value) => Math.max(max, Math.abs(value)), 1);
  return expected.reduce((max, value, i) => Math.max(max, Math.abs(value - actual[i]!)), 0) / largest;
}

it.each(['plain', 'exact'] as const)("computes the same bits with '%s'", (fusion) => {
  assert(
    property(programs, (program) => {
      const { plain, replayed } = outcomeOf(program, fusion);
      expect(replayed).toEqual(plain);
    }),
    { numRuns: EXACT_RUNS },
  );
});

/** Texts that a good part of the programs must contain, or the test is about nothing. */
const LEAST_SHARES: readonly [text: RegExp, share: number][] = [
  [/flash attention/, 0.2],
  [/flash attention .*causal/, 0],
  [/flash attention .*backward/, 0.15],
  [/patterns that were kept/, 0.1],
];

it('computes close numbers with true, and replaces a good share of attention', () => {
  const counts = LEAST_SHARES.map(() => 0);
  let count = 0;
  assert(
    property(programs, (program) => {
      const { plain, replayed, explanation } = outcomeOf(program, true);
      count++;
      LEAST_SHARES.forEach(([text], i) => (counts[i]! += Number(text.test(explanation))));
      const bound = BOUNDS[program.dtype];
      for (const [i, values] of plain.entries()) {
        expect(relativeDifference(replayed[i]!, values)).toBeLessThan(bound);
      }
    }),
    { numRuns: CLOSE_RUNS },
  );
  LEAST_SHARES.forEach(([text, share], i) => expect(counts[i]! / count, String(text)).toBeGreaterThan(share));
});
