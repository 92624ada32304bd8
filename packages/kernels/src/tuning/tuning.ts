import { tuningOptions } from './options.js';
import { Tuner, type Choice, type ChoiceStore, type Family, type TunedFamily } from './tuner.js';

const tuner = /* @__PURE__ */ new Tuner(tuningOptions);

/**
 * Returns a function that runs, for each class of shapes, the candidate that was fastest at first use.
 */
/* @__NO_SIDE_EFFECTS__ */
export function tuned<Args extends readonly unknown[]>(family: Family<Args>): TunedFamily<Args> {
  return tuner.tuned(family);
}

/** All choices so far, with the measured times. */
export function kernelChoices(): readonly Choice[] {
  return tuner.choices;
}

/**
 * Makes all further choices the same on all ranks that share `store`. Undefined ends the sharing.
 */
export function shareKernelChoices(store: ChoiceStore | undefined): void {
  tuner.share(store);
}

/** The chosen candidates so far, for {@link useCandidates}. */
export function chosenCandidates(): Readonly<Record<string, string>> {
  return tuner.candidates;
}

/** Uses the candidates that another run has chosen, for the classes of shapes that it has met. */
export function useCandidates(candidates: Readonly<Record<string, string>>): void {
  tuner.take(candidates);
}

/**
 * With true, uses the same candidate in every run: the pinned candidate or the first, not the fastest. False
 * ends that.
 */
export function fixKernelChoices(isFixed: boolean): void {
  tuner.fix(isFixed);
}

/** Chooses anew for products of float32 in this precision. Undefined: the default one. */
export function chooseForPrecision(precision: string | undefined): void {
  tuner.computeIn(precision);
}
