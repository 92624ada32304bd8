import type { RescuingContext } from '../state/rescuing.js';

/** A page has no launcher that starts it again, so this is never created. */
export class Rescuing {
  constructor(_context: RescuingContext) {}

  async atBoundary(): Promise<void> {}

  async hold(): Promise<void> {}

  resume(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  dispose(): void {}
}
