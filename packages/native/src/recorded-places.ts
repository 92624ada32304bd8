/** Read at each call. Undefined unless calls that are recorded get places. */
export let placeOfNextCall: (() => number) | undefined;

/**
 * Gives each operator call that is recorded from now on a place: a number from 0 of the caller's
 * choice, or -1 for none. `undefined` ends it. Descriptions and times of a recording contain the
 * places.
 *
 * @param placeOf Called before each operator call. It must not call operators.
 */
export function placeRecordedCalls(placeOf: (() => number) | undefined): void {
  placeOfNextCall = placeOf;
}
