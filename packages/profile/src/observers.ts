import { observeCollectives, type CollectiveObserver } from '@acc/collective';
import { observeReplays, type ReplayObserver } from '@acc/kernels';
import { observeCalls, type CallObserver } from '@acc/native';

interface Listeners {
  readonly call: CallObserver;
  readonly collective: CollectiveObserver;
  readonly replay: ReplayObserver;
}

/** Observes native calls, collectives and replays. */
export class Observers {
  #endReplays: (() => void) | undefined;
  #others: (() => void)[] = [];

  constructor(private readonly listeners: Listeners) {}

  begin(): void {
    const { call, collective, replay } = this.listeners;
    this.#endReplays = observeReplays(replay);
    this.#others = [observeCalls(call), observeCollectives(collective)];
  }

  endAllButReplays(): void {
    for (const end of this.#others.splice(0)) end();
  }

  end(): void {
    this.endAllButReplays();
    this.#endReplays?.();
    this.#endReplays = undefined;
  }
}
