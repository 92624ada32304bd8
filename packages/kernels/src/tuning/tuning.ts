import { tuningOptions } from './options.js';
import { Tuner, type Choice, type ChoiceStore, type Family, type Way } from './tuner.js';

const tuner = new Tuner(tuningOptions);

/** The function that takes, for each class of shapes, the way that was the fastest at first use. */
export function tuned<Args extends readonly unknown[]>(family: Family<Args>): Way<Args> {
  return tuner.tuned(family);
}

/** What was chosen so far, and from which times. */
export function kernelChoices(): readonly Choice[] {
  return tuner.choices;
}

/** Makes all further choices the same on all ranks that share `store`; undefined ends that. */
export function shareKernelChoices(store: ChoiceStore | undefined): void {
  tuner.share(store);
}

/** What was chosen so far, for {@link takeWays}. */
export function chosenWays(): Readonly<Record<string, string>> {
  return tuner.ways;
}

/** Takes the ways that another run has chosen, where it has. */
export function takeWays(ways: Readonly<Record<string, string>>): void {
  tuner.take(ways);
}

/** Takes the same way in every run, the first or the one that is pinned, instead of the fastest; false ends that. */
export function fixKernelChoices(isFixed: boolean): void {
  tuner.fix(isFixed);
}
