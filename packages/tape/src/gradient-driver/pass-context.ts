import { clone, customGrad, scalar, type Scalar, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, finallyAfter } from '@acc/contract';
import { engineInternals, gradientDepth, type TapeNode } from '@acc/tfjs-internals';

/** A gradient computation as layers know it. It lies on the tape. */
export class PassContext {
  #lossSeed: number | Scalar | undefined = 1;
  #addsTerms = false;

  /**
   * @param isTrial Whether layers run on meaningless data, for example to be timed. They keep no
   * figures of such a pass.
   */
  constructor(readonly isTrial = false) {}

  /** Whether the backward pass has computed the gradient of a term that a layer added to the loss. */
  get addsTerms(): boolean {
    return this.#addsTerms;
  }

  /**
   * Returns `x`. In backward, the gradient of `term` is that of a term of the training's loss, as if
   * it had been added there. So a layer deep in a model adds a loss, in `fit` as in a loop of one's
   * own (Megatron-LM's `MoEAuxLossAutoScaler` does this, too). Loss scale and the weight of this rank's
   * rows count for it, because its gradient begins with that of the training's loss. In a gradient
   * computation inside another one, whose result is not the loss, its gradient is 0.
   *
   * @throws AccError In backward, `ACC_LOSS_SEED_UNKNOWN` if the pass begins inside the model.
   */
  addLoss(x: Tensor, term: Scalar): Tensor {
    const operator = customGrad((given) => ({
      value: clone(given as Tensor),
      gradFunc: (dy: Tensor) => [clone(dy), this.#gradientOfTerm()],
    }));
    return operator(x, term);
  }

  /**
   * Runs a backward pass.
   *
   * @param lossSeed The gradient that it begins with at the loss of the training: the loss scale
   * times the weight of this rank's rows. Undefined if it is not known.
   */
  backward<T>(lossSeed: number | Scalar | undefined, pass: () => T): T {
    const before = this.#lossSeed;
    this.#lossSeed = lossSeed;
    return finallyAfter(pass, () => (this.#lossSeed = before));
  }

  #gradientOfTerm(): Tensor {
    this.#addsTerms = true;
    const seed = this.#lossSeed;
    if (seed === undefined) throw unknownSeed();
    return typeof seed === 'number' ? scalar(seed) : clone(seed);
  }
}

const contexts = new WeakMap<readonly TapeNode[], PassContext>();

/** Puts the context of a pass on its tape, or on another tape of the same pass. */
export function putContext(tape: readonly TapeNode[], context: PassContext): void {
  contexts.set(tape, context);
}

/** The context of the pass with this tape. It is made for the first who asks. */
export function contextOf(tape: readonly TapeNode[]): PassContext {
  const known = contexts.get(tape);
  if (known) return known;
  const context = new PassContext();
  contexts.set(tape, context);
  return context;
}

/** The pass that is recording now. Undefined if no gradient is computed. */
export function currentPass(): PassContext | undefined {
  return gradientDepth() === 0 ? undefined : contextOf(engineInternals().state.activeTape!);
}

function unknownSeed(): AccError {
  return new AccError(
    'ACC_LOSS_SEED_UNKNOWN',
    'A layer adds a term to the loss, but this backward pass begins at outputs of the model. How the loss is weighted is not known.',
    {
      help: 'Turn the terms off (for example moe({ balanceLoss: 0, zLoss: 0 })), or train without a pipeline.',
    },
  );
}
