import type * as variants from './variants.js';

/** No backend of a page records steps, so there is never a recording. */
export class Variants<R> implements Pick<variants.Variants<R>, keyof variants.Variants<R>> {
  readonly replays = 0;
  readonly failedReplays = 0;

  of(): undefined {}

  explanations(): [] {
    return [];
  }

  unreplayed(): [] {
    return [];
  }

  forget(): void {}
}
