import type { ClientUpdate } from '../aggregate/update.js';
import type { AcceptedUpdate } from './round-record.js';

/** An update with what is recorded about it. */
export interface CollectedUpdate extends AcceptedUpdate {
  readonly update: Float32Array;
}

export interface CollectionLimits {
  readonly minClients: number;
  /** The number of updates after which the round ends. Undefined: all clients that were asked. */
  readonly enoughClients: number | undefined;
}

/**
 * The updates of one round while it is under way. It knows neither connections nor clocks.
 *
 * A client is asked, and then it answers (its update is taken or refused), or is lost. A lost client
 * that comes back may be asked again; one that was refused, after the next deadline.
 */
export class Collection {
  readonly #limits: CollectionLimits;
  readonly #asked = new Set<string>();
  readonly #waitingFor = new Set<string>();
  readonly #lost = new Set<string>();
  readonly #dismissed = new Set<string>();
  readonly #updates = new Map<string, CollectedUpdate>();

  constructor(limits: CollectionLimits) {
    this.#limits = limits;
  }

  ask(client: string): void {
    this.#asked.add(client);
    this.#lost.delete(client);
    this.#waitingFor.add(client);
  }

  take(update: CollectedUpdate): void {
    this.#waitingFor.delete(update.client);
    this.#updates.set(update.client, update);
  }

  /** The client answered with nothing that counts. */
  dismiss(client: string): void {
    if (this.#waitingFor.delete(client)) this.#dismissed.add(client);
  }

  /** The deadline passed: clients that were refused may be asked again. */
  extend(): void {
    this.#dismissed.clear();
  }

  lose(client: string): void {
    if (this.#waitingFor.delete(client)) this.#lost.add(client);
  }

  /** Whether the client may be asked now. */
  mayAsk(client: string): boolean {
    return [this.#waitingFor, this.#updates, this.#dismissed].every((each) => !each.has(client));
  }

  /** The clients whose answer is awaited, sorted. */
  get waitingFor(): string[] {
    return [...this.#waitingFor].sort();
  }

  /** The number of updates that are missing for the round to count. */
  get missing(): number {
    return Math.max(0, this.#limits.minClients - this.#updates.size);
  }

  /** Whether the round can end now, before its deadline. */
  get isComplete(): boolean {
    const { enoughClients = Infinity } = this.#limits;
    if (this.missing > 0) return false;
    return this.#updates.size >= enoughClients || this.#waitingFor.size === 0;
  }

  /** Sorted by name, so that sums do not depend on the order of arrival. */
  get updates(): CollectedUpdate[] {
    return [...this.#updates.values()].sort((a, b) => (a.client < b.client ? -1 : 1));
  }

  get asked(): string[] {
    return [...this.#asked].sort();
  }

  get lost(): string[] {
    return [...this.#lost].sort();
  }
}

export const updateOf = ({ client, samples, update }: CollectedUpdate): ClientUpdate => ({
  client,
  samples,
  update,
});
