import { nextTurn } from '@acc/platform';
import type { PreemptionContext } from '../state/preemption.js';

/** The longest time in milliseconds in which the page is not redrawn. */
const TURN_MS = 50;

/** A page gets no signals. Between batches it only lets the browser do its work. */
export class Preemption {
  #lastTurn = performance.now();

  constructor(_context: PreemptionContext) {}

  async atBoundary(_isEnd?: boolean): Promise<void> {
    if (performance.now() - this.#lastTurn <= TURN_MS) return;
    await nextTurn();
    this.#lastTurn = performance.now();
  }

  beat(): void {}

  dispose(): void {}
}
