import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { SingleCollective } from '@acc/collective';
import type { Collective } from '@acc/contract';
import { relativeDifference } from './training.js';
import { VERB_NAMES, verbProblems } from './verbs.js';

const make = (values: readonly number[]) => tf.tensor1d([...values]);

/** A collective of which one verb adds 1 to what it gives. */
function spoilt(verb: string): Collective {
  const collective = new SingleCollective();
  return new Proxy(collective, {
    get: (_, name) => {
      const member = Reflect.get(collective, name) as unknown;
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        const result = (member as (...value: unknown[]) => unknown).apply(collective, args);
        if (name !== verb) return result;
        if (result instanceof tf.Tensor) return tf.add(result, 1);
        return Array.isArray(result) ? result.map((x: tf.Tensor) => tf.add(x, 1)) : result;
      };
    },
  });
}

describe('verbProblems', () => {
  it('finds nothing wrong with collectives of one process, and keeps no tensor', () => {
    const before = tf.memory().numTensors;
    expect(verbProblems(new SingleCollective(), make, true)).toEqual([]);
    expect(tf.memory().numTensors).toBe(before);
  });

  // One process neither sends to itself, nor has the sub-group values of its own.
  it.each(VERB_NAMES.filter((verb) => !['sendRecv', 'subgroup'].includes(verb)))(
    'names %s if it gives other values',
    (verb) => {
      const [problem, ...others] = verbProblems(spoilt(verb), make, true);
      expect(problem).toMatch(new RegExp(`^${verb} gave \\[`));
      expect(others.every((text) => text.startsWith(`${verb} gave`))).toBe(true);
    },
  );
});

describe('relativeDifference', () => {
  const before = [0, 0];
  const after = [3, 4];
  it('is relative to the root mean square of the change', () => {
    expect(relativeDifference([3, 4], { before, after })).toBe(0);
    expect(relativeDifference([3, 5], { before, after })).toBeCloseTo(1 / Math.sqrt(12.5), 12);
  });
  it.each([[[NaN, 4]], [[3, NaN]]])('passes no limit with NaN: %j', (reached) => {
    expect(relativeDifference(reached, { before, after }) <= 1e9).toBe(false);
  });
});
