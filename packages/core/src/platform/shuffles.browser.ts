/** A page has one process, and tfjs's classes are not found from here: shuffles draw as in tfjs. */
export function noteShuffles(): void {}

export function readingOf(): undefined {}
