import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads';
import { AccError } from '@acc/contract';
import { SharedState } from './shared-state.js';

/** The connections of a rank with the others, as the thread gets them. */
export interface WireEnds {
  readonly rank: number;
  readonly size: number;
  /** To each other rank, by rank. */
  readonly ports: readonly (MessagePort | undefined)[];
  readonly memory: SharedArrayBuffer;
}

/** A part of a call that one rank sends to others. */
export interface Packet {
  /** Describes the call. */
  readonly words: readonly number[];
  /** The elements. Absent if the rank has none to send. */
  readonly bytes?: SharedArrayBuffer;
  /** For calls that send each rank another number of elements. */
  readonly counts?: readonly number[];
}

/** A packet that a rank needs. */
export interface Wanted {
  readonly from: number;
  /** The call or message. The sender sends one packet with this name. */
  readonly name: string;
  /** The name of the packet in which the sender tells that it has closed the group. */
  readonly closed: string;
  /** Describes the wait to others. `for` is the rank that is waited for. */
  readonly wait: { readonly rank: number; readonly for: number };
}

/** Carries packets between the ranks of one run, which are threads. Packets never get lost. */
export class Wire {
  readonly rank: number;
  readonly size: number;
  readonly #ports: WireEnds['ports'];
  readonly #state: SharedState;
  readonly #arrived = new Map<string, Packet>();

  constructor({ rank, size, ports, memory }: WireEnds) {
    this.rank = rank;
    this.size = size;
    this.#ports = ports;
    this.#state = new SharedState(memory, size);
  }

  send(toRank: number, name: string, packet: Packet): void {
    this.#ports[toRank]!.postMessage({ name, packet });
    this.#state.wake(toRank);
  }

  /** Whether a packet has arrived. */
  hasArrived(from: number, name: string): boolean {
    this.#receiveAll();
    return this.#arrived.has(keyOf(from, name));
  }

  /**
   * Takes a packet. Blocks until it arrives.
   *
   * @throws AccError `ACC_PEER_LOST` if the sender has ended, or has closed the group.
   * `ACC_COLLECTIVE_DEADLOCK` if every rank waits; its message has the form of `ProcessGroup`.
   */
  take(wanted: Wanted): Packet {
    const { from, name, closed, wait } = wanted;
    for (;;) {
      // Asked first: what a rank sent before it ended or closed the group has arrived by then.
      const hasEnded = this.#state.hasEnded(from);
      const hasClosed = this.hasArrived(from, closed);
      if (this.hasArrived(from, name)) return this.#taken(keyOf(from, name));
      if (hasEnded) throw this.#lost(from);
      if (hasClosed) throw peerLost(`rank ${from} has closed the group`);
      if (!this.#state.waitForNews(this.rank, JSON.stringify(wait))) throw this.#deadlock();
    }
  }

  /** The call or message that a rank waits for. Undefined unless it waits, or has waited. */
  waitOf(rank: number): Wanted['wait'] | undefined {
    const note = this.#state.noteOf(rank);
    return note.startsWith('{') ? (JSON.parse(note) as Wanted['wait']) : undefined;
  }

  #receiveAll(): void {
    for (const [from, port] of this.#ports.entries()) {
      if (!port) continue;
      let received: { message: { name: string; packet: Packet } } | undefined;
      while ((received = receiveMessageOnPort(port) as typeof received)) {
        this.#arrived.set(keyOf(from, received.message.name), received.message.packet);
      }
    }
  }

  #taken(key: string): Packet {
    const packet = this.#arrived.get(key)!;
    this.#arrived.delete(key);
    return packet;
  }

  #lost(rank: number): AccError {
    const note = this.#state.noteOf(rank);
    const reason = note === '' || note.startsWith('{') ? '' : `: ${note}`;
    return peerLost(`rank ${rank} has ended${reason}`);
  }

  /** Follows the waits from this rank until one comes again. */
  #deadlock(): AccError {
    const waits: Wanted['wait'][] = [];
    for (let rank = this.rank; ;) {
      const known = waits.findIndex((wait) => wait.rank === rank);
      const wait = this.waitOf(rank);
      if (known >= 0 || !wait)
        return new AccError('ACC_COLLECTIVE_DEADLOCK', JSON.stringify(waits.slice(Math.max(known, 0))));
      waits.push(wait);
      rank = wait.for;
    }
  }
}

const keyOf = (from: number, name: string): string => `${from} ${name}`;

function peerLost(what: string): AccError {
  return new AccError('ACC_PEER_LOST', `${what}.`, {
    help: 'Find out why it ended. Every rank must make the same calls.',
  });
}
