import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import { AccError, type Collective, type Strategy } from '@acc/contract';
import type { FinishedPass, Pass } from './pass.js';
import type { TrainedVariables } from './trained-variables.js';

export interface CandidatePassOptions {
  readonly trained: TrainedVariables;
  readonly strategy: Pick<Strategy, 'prepareVariables'>;
  readonly collective: Collective;
  /** Starts a pass over prepared variables. */
  readonly begin: (variables: readonly Variable[]) => Pass;
  /** The weight of a pass without held gradients. */
  readonly fresh: () => Pick<Pass, 'weight' | 'unit'>;
  /** Whether ranks do not communicate in this pass. Candidates then stay candidates. */
  readonly isLocal: boolean;
  readonly isInWindow: boolean;
}

/**
 * Begins a backward pass over `variables`, which may include candidates. Gradients of candidates
 * wait until the pass ends. The ranks then exchange which candidates have a gradient. Those
 * candidates are reduced in a second pass and are prepared from then on.
 */
export function beginPassWithCandidates(variables: readonly Variable[], options: CandidatePassOptions): Pass {
  const { trained, begin } = options;
  if (variables.every((variable) => trained.has(variable))) return begin(variables);
  const places = variables.map((_, place) => place);
  const prepared = places.filter((place) => trained.has(variables[place]!));
  const candidates = places.filter((place) => !trained.has(variables[place]!));
  const held = new Map<number, Tensor>();
  const subset = (some: readonly number[]) => begin(some.map((place) => variables[place]!));
  const first = prepared.length > 0 ? subset(prepared) : undefined;
  const order = new Map(prepared.map((place, k) => [place, k]));
  const { weight, unit } = first ?? options.fresh();
  return {
    weight,
    unit,
    ready(place, grad) {
      const k = order.get(place);
      if (k === undefined) held.set(place, grad);
      else first!.ready(k, grad);
    },
    finish() {
      const finished = first?.finish();
      const used = usedCandidates(candidates, variables, held, options);
      if (used.length > 0 && first && options.isInWindow) throw newInWindow(used.map((i) => variables[i]!));
      const grads = new Array<Tensor | null>(variables.length).fill(null);
      finished?.grads.forEach((grad, k) => (grads[prepared[k]!] = grad));
      if (used.length === 0) return { ...NOTHING, ...finished, grads };
      if (!options.isLocal) trained.add(used.map((place) => variables[place]!));
      const late = subset(used);
      used.forEach((place, k) => {
        const grad = held.get(place);
        if (grad) late.ready(k, grad);
      });
      const { grads: lateGrads, isUsable, samples } = late.finish();
      lateGrads.forEach((grad, k) => (grads[used[k]!] = grad));
      return { grads, samples, isUsable: isUsable && (finished?.isUsable ?? true) };
    },
  };
}

const NOTHING: Omit<FinishedPass, 'grads'> = { isUsable: true, samples: undefined };

/** The candidates for which some rank has a gradient. The same on every rank. */
function usedCandidates(
  candidates: readonly number[],
  variables: readonly Variable[],
  held: ReadonlyMap<number, Tensor>,
  { trained, strategy, collective, isLocal }: CandidatePassOptions,
): number[] {
  const own = candidates.filter((place) => held.has(place));
  if (isLocal) return own;
  if (trained.hasNewCandidates) {
    // All ranks were offered the same candidates, so all ranks come here in the same pass.
    const used = new Set(collective.allGatherObject(own).flat());
    trained.hasNewCandidates = false;
    return candidates.filter((place) => used.has(place));
  }
  // The loss depends on a variable that it did not depend on before. Ranks compare this call. A
  // rank whose loss does not depend on the variable is detected by its next call.
  if (own.length > 0) strategy.prepareVariables(own.map((place) => variables[place]!));
  return own;
}

function newInWindow(variables: readonly Variable[]): AccError {
  const names = variables.map(({ name }) => name);
  return new AccError(
    'ACC_NOT_PREPARED',
    `accumulate: the loss depends on ${names.join(', ')} for the first time inside a window of gradient accumulation.`,
    { help: 'Pass these variables to accelerator.prepare before the first micro-batch.', details: { names } },
  );
}
