import {
  add,
  div,
  engine,
  keep,
  minimum,
  tidy,
  type NamedTensorMap,
  type Tensor,
} from '@tensorflow/tfjs-core';
import { AccError, type ListMath, type Strategy } from '@acc/contract';
import { requireGradients, requireNumber, type NumberRule } from '../require-arguments.js';
import { disposeNew } from './grad-records.js';

export interface ClippingOptions {
  readonly norm?: number | undefined;
  readonly value?: number | undefined;
}

/** Keeps the quotient finite. PyTorch uses the same value. */
const EPSILON = 1e-6;
const BOUND: NumberRule = {
  expected: 'a number above 0',
  help: 'A usual bound is 1.',
  isRight: (value) => value > 0,
};

/**
 * Clips gradients by their norm over all variables and ranks, and by value. No value is read from
 * the device.
 */
export class GradientClipping {
  readonly #options: ClippingOptions;
  readonly #strategy: Strategy;
  readonly #lists: ListMath;
  readonly #clipped = new WeakSet<Tensor>();
  /** Records of what this rank holds of gradients. */
  readonly #held = new WeakSet<NamedTensorMap>();
  #lastNorm: Tensor | undefined;
  /** The first of the gradients that the last norm belongs to. */
  #lastFirst: Tensor | undefined;

  constructor(options: ClippingOptions, strategy: Strategy, lists: ListMath) {
    this.#options = options;
    this.#strategy = strategy;
    this.#lists = lists;
  }

  /**
   * The norm of the gradients before they were last clipped by norm. Undefined before that. The
   * getter reads it from the device.
   */
  get lastNorm(): number | undefined {
    return this.#lastNorm?.dataSync()[0];
  }

  /**
   * Clips as the options say: by norm, then by value. Gradients that were already clipped are not
   * changed.
   *
   * @param given The record that a program passed, if `grads` is what this rank holds of it.
   */
  clip(grads: NamedTensorMap, given = grads): void {
    if (grads !== given) {
      this.#held.add(grads);
      if (this.#hasLastNorm(given)) [this.#lastFirst] = tensorsOf(grads);
    }
    const { norm, value } = this.#options;
    if (norm === undefined && value === undefined) return;
    if (tensorsOf(given).every((grad) => this.#clipped.has(grad))) return;
    if (norm !== undefined) this.clipNorm(grads, norm);
    if (value !== undefined) this.clipValue(grads, value);
    for (const grad of tensorsOf(grads)) this.#clipped.add(grad);
  }

  /**
   * g ← g · min(1, maxNorm / (‖g‖ + 1e-6)), with the norm over all gradients of the record (Pascanu
   * et al., "On the difficulty of training recurrent neural networks", 2013, algorithm 1).
   */
  clipNorm(grads: NamedTensorMap, maxNorm: number): void {
    requireGradients('clipGradNorm', grads);
    requireNumber('clipGradNorm', 'the bound', maxNorm, BOUND);
    this.#change(grads, (held) => this.#clipNorm(held, maxNorm));
    [this.#lastFirst] = tensorsOf(grads);
  }

  #clipNorm(grads: NamedTensorMap, maxNorm: number): void {
    const norm = this.#norm(grads);
    this.#lastNorm?.dispose();
    this.#lastNorm = keep(norm);
    const factor = tidy(() => minimum(div(maxNorm, add(norm, EPSILON)), 1));
    this.#replace(grads, (list) => this.#lists.scale(list, factor));
    factor.dispose();
  }

  /**
   * Changes what this rank holds of the gradients. The record gets the results, whole if it had
   * whole ones.
   */
  #change(grads: NamedTensorMap, change: (held: NamedTensorMap) => void): void {
    const held = this.#heldOf(grads);
    if (!held) return change(grads);
    const names = Object.keys(grads).filter((name) => held[name] !== grads[name]);
    this.#held.add(held);
    change(held);
    const { registeredVariables } = engine();
    const wholes = this.#strategy.gradients!.full(
      names.map((name) => held[name]!),
      names.map((name) => registeredVariables[name]!),
    );
    names.forEach((name, i) => {
      grads[name]!.dispose();
      grads[name] = wholes[i]!;
    });
    for (const name of Object.keys(grads)) if (!names.includes(name)) grads[name] = held[name]!;
  }

  /**
   * The norm of gradients before clipping by norm, if they were clipped. A scalar, which the caller
   * disposes.
   */
  normBefore(grads: NamedTensorMap): Tensor {
    return this.#lastNorm && this.#hasLastNorm(grads) ? this.#lastNorm.clone() : this.#norm(grads);
  }

  /**
   * The elements that this rank holds of gradients that the strategy shows whole. Undefined if the
   * record has none.
   */
  #heldOf(grads: NamedTensorMap): NamedTensorMap | undefined {
    return this.#held.has(grads) ? undefined : this.#strategy.gradients?.local(grads);
  }

  /** The norm over all gradients of the record. If each rank holds a shard, also over ranks. */
  #norm(grads: NamedTensorMap): Tensor {
    const { name, traits, stages } = this.#strategy;
    if (this.#strategy.globalNorm) {
      const held = this.#heldOf(grads);
      const isShown = this.#strategy.gradients !== undefined && !this.#held.has(grads);
      // No rank of a pipeline has the gradients of all stages.
      const isWhole = !held && isShown && !stages;
      if (isWhole) return this.#lists.norm(tensorsOf(grads));
      const norm = this.#strategy.globalNorm(held ?? grads);
      if (held) disposeNew(held, grads);
      return norm;
    }
    if (traits.parameters === 'replicated') return this.#lists.norm(tensorsOf(grads));
    throw new AccError(
      'ACC_STRATEGY_CANNOT',
      `The strategy '${name}' shards gradients and has no globalNorm, so their norm is not known.`,
      {
        help: 'Clip by value, remove norms (gradientClipping.norm, autoLog), or implement globalNorm in the strategy.',
      },
    );
  }

  clipValue(grads: NamedTensorMap, value: number): void {
    requireGradients('clipGradValue', grads);
    requireNumber('clipGradValue', 'the bound', value, BOUND);
    const hasLastNorm = this.#hasLastNorm(grads);
    this.#change(grads, (held) => this.#replace(held, (list) => this.#lists.clamp(list, -value, value)));
    if (hasLastNorm) [this.#lastFirst] = tensorsOf(grads);
  }

  dispose(): void {
    this.#lastNorm?.dispose();
    this.#lastNorm = this.#lastFirst = undefined;
  }

  #replace(grads: NamedTensorMap, change: (list: Tensor[]) => Tensor[]): void {
    const names = Object.keys(grads).filter((name) => grads[name] != null);
    const list = names.map((name) => grads[name]!);
    const changed = this.#strategy.changeGradients?.(list, change) ?? change(list);
    names.forEach((name, i) => (grads[name] = changed[i]!));
  }

  #hasLastNorm(grads: NamedTensorMap): boolean {
    return this.#lastFirst !== undefined && tensorsOf(grads)[0] === this.#lastFirst;
  }
}

/** In tfjs records, missing gradients are null or undefined. */
function tensorsOf(grads: NamedTensorMap): Tensor[] {
  return Object.values(grads).filter((grad) => grad != null);
}
