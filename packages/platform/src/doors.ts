import type { Socket } from 'node:net';

/** Limits for connections that have not proved yet that they belong to a job. */
export interface DoorLimits {
  /** The most such connections at a time. For a further one, an older one is closed. */
  readonly maxUnproven: number;
  /** The time for the proof, in milliseconds. */
  readonly proofMs: number;
  /** The most bytes that a connection may send before the proof. Default: no limit. */
  readonly maxUnprovenBytes?: number;
}

/** The reasons for which connections were closed, and how many for each. */
interface Refusals {
  crowded: number;
  late: number;
  long: number;
}

interface Visitor {
  readonly from: string;
  readonly timer: NodeJS.Timeout;
}

/**
 * Closes connections that do not prove that they belong to a job. Each is watched from
 * {@link watch} to {@link proven}. A text tells the first refusal, and {@link close} the total.
 */
export class Doors {
  readonly #limits: DoorLimits;
  readonly #place: string;
  readonly #say: (text: string) => void;
  /** In the order in which they came. */
  readonly #visitors = new Map<Socket, Visitor>();
  readonly #refused: Refusals = { crowded: 0, late: 0, long: 0 };
  #told = 0;

  /**
   * @param place What listens, for messages.
   * @param say Tells the user.
   */
  constructor(limits: DoorLimits, place: string, say: (text: string) => void) {
    this.#limits = limits;
    this.#place = place;
    this.#say = say;
  }

  watch(socket: Socket): void {
    const { maxUnproven, proofMs, maxUnprovenBytes } = this.#limits;
    // The connection may be gone already. Then it has no address.
    const from = socket.remoteAddress ?? '';
    const timer = setTimeout(() => this.#refuse(socket, 'late'), proofMs);
    // Whoever listens keeps the program alive.
    timer.unref();
    this.#visitors.set(socket, { from, timer });
    socket.once('close', () => this.proven(socket));
    if (maxUnprovenBytes !== undefined) this.#limitBytes(socket, maxUnprovenBytes);
    if (this.#visitors.size > maxUnproven) this.#refuse(this.#expendable(), 'crowded');
  }

  /** Ends the limits of a connection. Unknown connections are ignored. */
  proven(socket: Socket): void {
    clearTimeout(this.#visitors.get(socket)?.timer);
    this.#visitors.delete(socket);
  }

  /** Watches `next`, which wraps `socket`, in its place. The time for the proof begins again. */
  replace(socket: Socket, next: Socket): void {
    if (!this.#visitors.has(socket)) return;
    this.proven(socket);
    this.watch(next);
  }

  /** Closes the connections without a proof, and tells how many were refused. */
  close(): void {
    for (const socket of [...this.#visitors.keys()]) {
      this.proven(socket);
      socket.destroy();
    }
    if (this.#total > this.#told) this.#tell();
  }

  get #total(): number {
    const { crowded, late, long } = this.#refused;
    return crowded + late + long;
  }

  #limitBytes(socket: Socket, most: number): void {
    const count = (): void => {
      if (!this.#visitors.has(socket)) return void socket.off('data', count);
      if (socket.bytesRead > most) this.#refuse(socket, 'long');
    };
    socket.on('data', count);
  }

  /**
   * The oldest connection of the address that has most. So many connections of one address do not
   * take the place of others.
   */
  #expendable(): Socket {
    const byAddress = new Map<string, Socket[]>();
    for (const [socket, { from }] of this.#visitors) {
      byAddress.set(from, [...(byAddress.get(from) ?? []), socket]);
    }
    const [most] = [...byAddress.values()].sort((a, b) => b.length - a.length);
    return most![0]!;
  }

  #refuse(socket: Socket, reason: keyof Refusals): void {
    this.proven(socket);
    this.#refused[reason]++;
    socket.destroy();
    if (this.#told === 0) this.#tell();
  }

  #tell(): void {
    const { maxUnproven, proofMs, maxUnprovenBytes } = this.#limits;
    const { crowded, late, long } = this.#refused;
    const reasons = [
      crowded > 0 && `${crowded} because more than ${maxUnproven} were open`,
      late > 0 && `${late} after ${proofMs / 1_000} s`,
      long > 0 && `${long} after more than ${maxUnprovenBytes} bytes`,
    ].filter(Boolean);
    const isFirst = this.#told === 0;
    this.#told = this.#total;
    const what = this.#told === 1 ? 'connection that did' : 'connections that did';
    const was = this.#told === 1 ? 'was' : 'were';
    this.#say(
      `${this.#told} ${what} not prove to know the token ${was} closed at ${this.#place}: ${reasons.join(', ')}.${isFirst ? ' Further ones are only counted.' : ''}`,
    );
  }
}
