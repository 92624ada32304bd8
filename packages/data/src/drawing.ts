/**
 * Runs code of the program that may draw random numbers, for example for augmentation. What it draws
 * from `Math.random` depends on the epoch and the place alone, so not on what else is drawn meanwhile.
 */
export type Drawing = <T>(epoch: number, place: number, run: () => T) => T;

/** The code draws where all other code draws. */
export const drawsAnywhere: Drawing = (_epoch, _place, run) => run();

/** The first places of each kind of code. The number of a sample, or of a step's first sample, is added. */
export const PLACES = { sample: 0, batch: 2 ** 40, transform: 2 ** 41 } as const;
