import type { Flops, ReplayReport } from '@acc/kernels';
import { LayerScopes } from './layer-scopes.js';

/** The operators of one layer in a step. */
export interface LayerRow {
  /**
   * The name of the layer, after those of the models around it. `(optimizer)` has what follows the
   * backward pass, `(compiled steps)` has replays, which are not divided among layers, and `(no layer)`
   * has all other operators, such as those of the loss.
   */
  readonly layer: string;
  readonly forwardMs: number;
  readonly backwardMs: number;
  /** The part of the time of all operators, from 0 to 1. */
  readonly share: number;
  /** Floating-point operations of forward and backward, in 10^9. */
  readonly gigaflops: number;
}

/** Rows of operators that belong to no layer. */
const NO_LAYER = '(no layer)';
const OPTIMIZER = '(optimizer)';
const COMPILED = '(compiled steps)';

/** Adds up native calls, by the layer that runs. */
export class LayerTimes extends LayerScopes {
  /** The part of the step that runs, for operators outside of layers. */
  phase: 'forward' | 'backward' | 'optimizer' = 'forward';
  readonly #sums = new Map<string, { forwardMs: number; backwardMs: number; flops: number }>();

  /** Adds a call that has just run. Returns the name of its row. */
  add(ms: number, flops: Flops | undefined): string {
    const outside = this.phase === 'optimizer' ? OPTIMIZER : NO_LAYER;
    const { layer, isBackward } = this.current ?? { layer: outside, isBackward: this.phase === 'backward' };
    const sum = this.#sumOf(layer);
    sum[isBackward ? 'backwardMs' : 'forwardMs'] += ms;
    sum.flops += flops?.hardware ?? 0;
    return layer;
  }

  /** Its whole time counts as forward. */
  addReplay({ ms, flops }: Pick<ReplayReport, 'ms' | 'flops'>): void {
    const sum = this.#sumOf(COMPILED);
    sum.forwardMs += ms;
    sum.flops += flops.hardware;
  }

  #sumOf(layer: string) {
    const sum = this.#sums.get(layer) ?? { forwardMs: 0, backwardMs: 0, flops: 0 };
    this.#sums.set(layer, sum);
    return sum;
  }

  /** The rows of one of `steps` steps, those that take most time first. */
  rows(steps: number): LayerRow[] {
    const sums = [...this.#sums];
    const total = sums.reduce((all, [, { forwardMs, backwardMs }]) => all + forwardMs + backwardMs, 0);
    return sums
      .map(([layer, { forwardMs, backwardMs, flops }]) => ({
        ...{ layer, forwardMs: forwardMs / steps, backwardMs: backwardMs / steps },
        ...{ share: total > 0 ? (forwardMs + backwardMs) / total : 0, gigaflops: flops / steps / 1e9 },
      }))
      .toSorted((a, b) => b.share - a.share);
  }
}
