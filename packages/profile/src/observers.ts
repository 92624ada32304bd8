import { observeCollectives, type CollectiveObserver } from '@acc/collective';
import { observeReplays, type ReplayObserver } from '@acc/kernels';
import { observeCalls, type CallObserver } from '@acc/native';

interface Listeners {
  readonly call: CallObserver;
  readonly collective: CollectiveObserver;
  readonly replay: ReplayObserver;
}

/** Observes native calls, collectives and replays, beside observers that are there. */
export class Observers {
  #endReplays: (() => void) | undefined;
  readonly #others: (() => void)[] = [];

  constructor(private readonly listeners: Listeners) {}

  begin(): void {
    const { call, collective, replay } = this.listeners;
    const replays = observeReplays((report) => {
      replays?.(report);
      replay(report);
    });
    this.#endReplays = () => void observeReplays(replays);
    const calls = observeCalls((...observed) => {
      calls?.(...observed);
      call(...observed);
    });
    const collectives = observeCollectives((...observed) => {
      collectives?.(...observed);
      collective(...observed);
    });
    this.#others.push(
      () => observeCalls(calls),
      () => observeCollectives(collectives),
    );
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
