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

export const explain: typeof variants.explain = (_, reason) =>
  reason === undefined ? 'The step is not replayed yet.' : `The step runs without replay: ${reason}.`;
