import { randomBytes } from 'node:crypto';
import { Refused } from '../errors.js';

interface Issued {
  readonly client: string;
  readonly round: number;
  state: 'open' | 'used' | 'over';
}

/**
 * A ticket is the right to give one update, of one client, for one round. It is random, so that
 * nobody else can use it, and is used up by the first update.
 */
export class Tickets {
  readonly #issued = new Map<string, Issued>();
  readonly #capacity: number;

  /** @param capacity How many tickets are remembered, so that their reuse is recognised. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  issue(client: string, round: number): string {
    const ticket = randomBytes(16).toString('hex');
    this.#issued.set(ticket, { client, round, state: 'open' });
    const [oldest] = this.#issued.keys();
    if (this.#issued.size > this.#capacity) this.#issued.delete(oldest!);
    return ticket;
  }

  /** Ends the open tickets of a client, or those of all. */
  expire(client?: string): void {
    for (const issued of this.#issued.values()) {
      if (issued.state === 'open' && (client === undefined || issued.client === client))
        issued.state = 'over';
    }
  }

  /**
   * Uses a ticket.
   *
   * @param current The round that is under way.
   * @throws Refused `ACC_FEDERATED_REPLAYED`, `ACC_FEDERATED_LATE`.
   */
  redeem(ticket: string, client: string, current: number): void {
    const issued = this.#issued.get(ticket);
    if (!issued || issued.client !== client) {
      throw new Refused(
        'ACC_FEDERATED_LATE',
        `its ticket was not issued to this client, or was issued too many rounds ago; round ${current} is under way`,
      );
    }
    const { state, round } = issued;
    if (state === 'used')
      throw new Refused('ACC_FEDERATED_REPLAYED', `round ${round} already has an update with this ticket`);
    if (state === 'over') {
      throw new Refused(
        'ACC_FEDERATED_LATE',
        `it is for round ${round}, which no longer waited for it; round ${current} is under way`,
      );
    }
    issued.state = 'used';
  }
}
