import * as tf from '@tensorflow/tfjs';
import { expectClose } from '@acc/testkit';
import { registerAccBackend } from '@acc/kernels';
import { firstWeights, gradientValues, makeGradients, makeVariables, SHAPES } from './optimizer-steps.js';

/** A variable of the reference computation: plain numbers, row-major. */
export interface ReferenceVariable {
  /** `reference/<index>`; tests select variables by this name. */
  readonly name: string;
  readonly shape: readonly number[];
  /** Changed in place. */
  readonly w: number[];
  /** The state of the formula, by letter: as many numbers as the variable has, all 0 at first. */
  state(letter: string, length?: number): number[];
}

/** One variable's update by a formula; `t` counts steps from 1. */
export type ReferenceUpdate = (variable: ReferenceVariable, g: readonly number[], t: number) => void;

const STEPS = 12;

/**
 * Expects the weights after some steps, on `acc` and on tfjs's cpu backend, to equal those that
 * `update` computes in JavaScript's double precision.
 */
export async function expectLikeReference(make: () => tf.Optimizer, update: ReferenceUpdate): Promise<void> {
  const expected = reference(update);
  registerAccBackend();
  for (const backend of ['acc', 'cpu']) {
    await tf.setBackend(backend);
    expectClose(weightsAfterSteps(make()), expected, { rtol: 1e-5, atol: 2e-6 });
  }
}

function reference(update: ReferenceUpdate): number[][] {
  const variables = firstWeights().map((w, i): ReferenceVariable => {
    const states = new Map<string, number[]>();
    return {
      name: `reference/${i}`,
      shape: SHAPES[i]!,
      w,
      state: (letter, length = w.length) => {
        if (!states.has(letter)) states.set(letter, new Array<number>(length).fill(0));
        return states.get(letter)!;
      },
    };
  });
  for (let step = 0; step < STEPS; step++) {
    gradientValues(step).forEach((g, i) => {
      if (g && g.length > 0) update(variables[i]!, g, step + 1);
    });
  }
  return variables.map(({ w }) => w);
}

function weightsAfterSteps(optimizer: tf.Optimizer): number[][] {
  const variables = makeVariables('reference');
  for (let step = 0; step < STEPS; step++) {
    tf.tidy(() => optimizer.applyGradients(makeGradients(variables, step)));
  }
  const weights = variables.map((variable) => [...variable.dataSync()]);
  optimizer.dispose();
  tf.dispose(variables);
  return weights;
}
