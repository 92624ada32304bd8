import { AccError } from '@acc/contract';
import {
  hasPackedState,
  LEAST_PACKED,
  packedStep,
  plainStep,
  SlotOptimizer,
  splitPacked,
  type PackedRule,
  type SlotList,
  type StateBits,
  type StepChunk,
  type Update,
} from '@acc/kernels/optimizer-steps';
import type { OptionKind } from './options.js';
import type { WeightDecay } from './weight-decay.js';

/** The option of optimizers whose moments may be packed. */
export interface StateBitsOption {
  /**
   * Bits of an element of the state. 8 and 4 pack it block by block, each block with a scale of its own
   * (Dettmers et al., "8-bit Optimizers via Block-wise Quantization", 2022): 256 elements a block with 8
   * bits, 128 with 4. Variables of under 4,096 elements keep 32. Default 32.
   */
  readonly stateBits?: StateBits;
}

export const STATE_BITS: OptionKind = {
  expected: '32, 8 or 4',
  accepts: (value) => value === 32 || value === 8 || value === 4,
};

type NamedTensor = Awaited<ReturnType<SlotOptimizer['getWeights']>>[number];

/**
 * The words of a row of packed state. Undefined for float32 state.
 *
 * @param ofSmall The answer for a variable that is too small to be packed.
 */
function wordsOf({ dtype, shape, size }: NamedTensor['tensor'], ofSmall: number | undefined) {
  if (dtype === 'int32') return shape[1];
  return size < LEAST_PACKED ? ofSmall : undefined;
}

/** An optimizer of elements, with decoupled weight decay, whose moments may be packed. */
export abstract class MomentOptimizer extends SlotOptimizer {
  protected readonly decay: WeightDecay;

  constructor(lists: readonly SlotList[], options: { learningRate: number; decay: WeightDecay }) {
    super(lists, options.learningRate);
    this.decay = options.decay;
  }

  /** λ of the variable with this name. For kernel layers. */
  decayOf(name: string): number {
    return this.decay.of(name);
  }

  /** As {@link updateChunk}, for float32 state. */
  protected abstract updateFloats(chunk: StepChunk): void;

  /** As {@link updateOne}, for float32 state. */
  protected abstract updateFloat(update: Update): void;

  /** The update of packed moments. */
  protected abstract packedRule(weightDecay: number): PackedRule;

  protected override updateChunk(chunk: StepChunk): void {
    const { packed, others } = splitPacked(chunk);
    const parts = this.decay.split(packed);
    // First: where it is refused, nothing has changed.
    packedStep(parts.decaying, this.#packings(), this.packedRule(this.decay.rate));
    packedStep(parts.others, this.#packings(), this.packedRule(0));
    this.updateFloats(others);
  }

  protected override updateOne(update: Update): void {
    if (!hasPackedState(update)) return this.updateFloat(update);
    plainStep(update, this.#packings(), this.packedRule(this.decay.of(update.variable.name)));
  }

  /**
   * As `SlotOptimizer.setWeights`.
   *
   * @throws AccError `ACC_OPTIMIZER_WEIGHTS` also for state that was packed in other bits.
   */
  override async setWeights(weights: NamedTensor[]): Promise<void> {
    const words = this.#packings()[0]?.words;
    const other = weights.slice(1).find(({ tensor }) => wordsOf(tensor, words) !== words);
    if (!other) return super.setWeights(weights);
    throw new AccError(
      'ACC_OPTIMIZER_WEIGHTS',
      `${this.getClassName()} has the state '${other.name}' of a run with other stateBits.`,
      { help: 'Create the optimizer with the same stateBits as when its weights were saved.' },
    );
  }

  #packings() {
    return this.stateLists.flatMap(({ packing }) => packing ?? []);
  }
}
