import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import type {
  GradientReduction,
  Strategy,
  StrategyContext,
  StrategyState,
  StrategyTraits,
  TapeHooks,
} from '@acc/contract';
import { joiningStrategy } from './joining-strategy.js';

/** A strategy with methods of its class, which use private fields. */
class Counting implements Strategy {
  readonly name = 'counting';
  #rank = -1;
  readonly #calls: string[] = [];

  get traits(): StrategyTraits {
    return { parameters: 'replicated' };
  }

  get tape(): TapeHooks {
    return { end: () => void this.#calls.push('end') };
  }

  attach({ collective }: StrategyContext): void {
    this.#rank = collective.rank;
  }

  prepareVariables(variables: readonly tf.Variable[]): void {
    this.#calls.push(`${variables.length} on rank ${this.#rank}`);
  }

  beginReduction(variables: readonly tf.Variable[]): GradientReduction {
    const grads = variables.map((): tf.Tensor | null => null);
    return {
      ready: (index, grad) => void (grads[index] = grad),
      finish: () => grads,
    };
  }

  get state(): StrategyState {
    return {
      get: () => ({ shared: [...this.#calls], local: this.#rank }),
      set: () => this.#calls.splice(0),
    };
  }
}

it('has the methods of a class, and gives its reductions whole gradients', () => {
  const strategy = joiningStrategy(new Counting(), (grad) => tf.mul(grad, 10));
  expect(strategy.name).toBe('counting');
  expect(strategy.traits).toEqual({ parameters: 'replicated' });
  strategy.attach({ collective: { rank: 3 } } as StrategyContext);
  const variable = tf.variable(tf.zeros([2]));
  strategy.prepareVariables([variable]);
  strategy.tape!.end!();
  expect(strategy.state!.get()).toEqual({ shared: ['1 on rank 3', 'end'], local: 3 });
  expect('layout' in strategy).toBe(false);

  const reduction = strategy.beginReduction([variable]);
  const grad = tf.tensor1d([1, 2]);
  reduction.ready(0, grad);
  const [joined] = reduction.finish();
  expect([...joined!.dataSync()]).toEqual([10, 20]);
  expect(grad.isDisposed).toBe(true);
  tf.dispose([joined!, variable]);
});
