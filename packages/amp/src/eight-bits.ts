import type { Variable } from '@tensorflow/tfjs-core';
import {
  AccError,
  type Collective,
  type EightBitRounding,
  type KernelLayer,
  type PrecisionLayer,
  type PrecisionPlugin,
  type StrategyContext,
} from '@acc/contract';
import { AmaxHistories, type AmaxState } from './amax-histories.js';
import { EightBitProducts } from './eight-bit-products.js';
import { EightBitWeights } from './eight-bit-weights.js';

/** A number format of 8 bits. */
export interface EightBitFormat {
  readonly rounding: EightBitRounding;
  /** The steps of the histories that scales come from. Absent: they come from the factors themselves. */
  readonly historyLength?: number | undefined;
  /**
   * A note about its products on a device. Undefined: none.
   *
   * @throws AccError `ACC_PRECISION_UNSUPPORTED` if the device has no such products.
   */
  noteOn(kernels: KernelLayer): string | undefined;
}

/** Products in 8 bits: which weights they have, on which device, and what the user is told of it. */
export class EightBits {
  readonly weights: EightBitWeights;
  readonly products: EightBitProducts;
  /** The messages so far. */
  readonly #said = new Set<string>();
  readonly #histories: AmaxHistories | undefined;
  /** The ranks with the same weights. */
  #ranks: Collective | undefined;
  #isMain = false;
  #layer: PrecisionLayer | undefined;

  constructor(
    exclude: readonly string[] | undefined,
    private readonly format: EightBitFormat,
  ) {
    const asks = (question: 'isPacked' | 'isFakeQuantized') => (weight: Variable) =>
      this.#layer?.[question]?.(weight) ?? false;
    const weights = new EightBitWeights(
      exclude,
      asks('isPacked'),
      format.rounding.format,
      asks('isFakeQuantized'),
    );
    this.weights = weights;
    this.#histories =
      format.historyLength === undefined ? undefined : new AmaxHistories(format.historyLength);
    const ofWeights = {
      get chosen() {
        return weights.chosen;
      },
      require: (isTraining: boolean) => this.#requireWeights(isTraining),
    };
    this.products = new EightBitProducts(format.rounding, ofWeights, this.#histories);
  }

  /** Its part of a plugin. */
  get hooks(): Pick<PrecisionPlugin, 'prepared' | 'afterStep' | 'rejoin' | 'detach'> {
    const histories = this.#histories;
    return {
      prepared: (variables: readonly Variable[]) => {
        this.weights.take(variables);
        histories?.take(this.weights.chosen);
      },
      ...(histories && {
        afterStep: ({ isShared }) => histories.step(isShared ? this.#ranks : undefined),
        rejoin: () => histories.rejoin(this.#ranks!),
        detach: () => histories.dispose(),
      }),
    };
  }

  getState(): { readonly amaxes?: AmaxState } {
    return this.#histories ? { amaxes: this.#histories.getState() } : {};
  }

  setState(amaxes: AmaxState): void {
    this.#histories?.setState(amaxes);
  }

  /** A pattern may match a weight that is prepared later, but before training. */
  #requireWeights(isTraining: boolean): void {
    if (isTraining) this.weights.requireMatches();
    if (isTraining) this.#histories?.requireLoaded();
    const pattern = this.weights.unmatched;
    if (pattern !== undefined) {
      this.#say(`amp.exclude: '${pattern}' has matched no weight so far. A training step refuses it.`);
    }
    for (const note of this.weights.notes) this.#say(note);
  }

  /**
   * @throws AccError `ACC_PRECISION_UNSUPPORTED` if the device has no such products, `ACC_INVALID_OPTION` for
   * histories in deterministic training or with an axis `tensor`.
   */
  attach(context: StrategyContext): void {
    const { kernels, collective, mesh } = context;
    if (this.#histories) refuseHistories(context);
    this.#isMain = collective.rank === 0;
    this.#ranks = mesh.gradientRanks;
    this.#layer = kernels.precision;
    const note = this.format.noteOn(kernels);
    if (note !== undefined) this.#say(`mixedPrecision '${this.format.rounding.format}': ${note}`);
  }

  #say(message: string): void {
    if (!this.#isMain || this.#said.has(message)) return;
    this.#said.add(message);
    console.warn(`acc: ${message}`);
  }
}

/** Histories are those of whole tensors, of all rows of a rank. */
function refuseHistories({ isDeterministic = false, mesh }: StrategyContext): void {
  const other = isDeterministic ? 'deterministic' : mesh.size('tensor') > 1 ? 'mesh.tensor' : undefined;
  if (other === undefined) return;
  throw new AccError(
    'ACC_INVALID_OPTION',
    `amp.fp8.scaling 'delayed' does not go together with ${other}: a history is that of whole tensors.`,
    {
      help: `Give scaling: 'current', or leave out ${other}.`,
      details: { path: ['amp', 'fp8', 'scaling'] },
    },
  );
}
