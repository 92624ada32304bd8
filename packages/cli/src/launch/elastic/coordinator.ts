import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Doors, type DoorLimits } from '@acc/platform/doors';
import { freePort } from '@acc/platform/ports';
import { newToken } from '../share-of-host.js';
import { Connection } from './connection.js';
import type { Hello, ToAgent, ToCoordinator } from './messages.js';
import { isProof, proofOf } from './proof.js';
import { Rendezvous, type Member } from './rendezvous.js';

/** Too few hosts wait this long for others, as torchrun's agents do. In milliseconds. */
export const JOIN_MS = 300_000;
/** How long hosts that do not answer are told that the job has ended, in milliseconds. */
const END_MS = 2_000;
/** The least time for the proof that a connection knows the token, in milliseconds. */
const PROOF_MS = 10_000;
/** The longest time that a timer of Node.js can wait, in milliseconds. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** The fewest connections without this proof that may be open. All agents may come at once. */
const FEWEST_UNPROVEN = 64;
/** The most bytes before the proof, which are a hello and some beats. */
const MOST_UNPROVEN_BYTES = 16_384;

export interface CoordinatorOptions {
  readonly minNodes: number;
  readonly maxNodes: number;
  readonly maxRestarts: number;
  readonly lastCallMs: number;
  readonly hostTimeoutMs: number;
  readonly token: string;
  /** The agent of this host. */
  readonly ownId: string;
  /** Limits for connections that have not proved that they know the token. */
  readonly door?: Partial<DoorLimits>;
}

/** The rendezvous of an elastic job, on the first host. Agents connect to it, also this host's own. */
export class Coordinator {
  readonly #server: Server;
  readonly #options: CoordinatorOptions;
  readonly #rendezvous: Rendezvous;
  readonly #sockets = new Set<Socket>();
  readonly #doors: Doors;
  /** Resolves when every host knows that the job has ended. */
  readonly ended: Promise<void>;

  /**
   * @param address The address to listen on. Undefined: all of this host.
   * @throws The error of the system, for example if the port is taken.
   */
  static async start(
    { address, port }: { readonly address: string | undefined; readonly port: number },
    options: CoordinatorOptions,
  ): Promise<Coordinator> {
    const server = createServer().listen({ port, host: address, exclusive: true });
    await once(server, 'listening');
    return new Coordinator(server, options);
  }

  private constructor(server: Server, options: CoordinatorOptions) {
    this.#server = server;
    this.#options = options;
    const say = (text: string): void => void process.stderr.write(`acc: ${text}\n`);
    let onEnd!: () => void;
    this.ended = new Promise((resolve) => (onEnd = resolve));
    this.#rendezvous = new Rendezvous({
      ...options,
      joinMs: JOIN_MS,
      choosePort: () => freePort(),
      say,
      onEnd,
    });
    this.#doors = new Doors({ ...limitsFor(options), ...options.door }, 'the first host', say);
    server.on('connection', (socket) => this.#welcome(socket));
  }

  /** Waits until the other hosts have been told that the job has ended, or do not answer. */
  async close(): Promise<void> {
    await Promise.race([this.ended, sleep(END_MS, undefined, { ref: false })]);
    this.#doors.close();
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  /** Accepts an agent that proves that it knows the token. */
  #welcome(socket: Socket): void {
    this.#sockets.add(socket);
    this.#doors.watch(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    const nonce = newToken();
    let member: Member | undefined;
    const connection = new Connection<ToCoordinator, ToAgent>(socket, {
      onMessage: (message) => {
        if (message.kind === 'hello') {
          const refusal = this.#refusal(message, nonce);
          if (refusal) {
            connection.send(refusal);
            return connection.end();
          }
          this.#doors.proven(socket);
          connection.send({
            kind: 'welcome',
            proof: proofOf(this.#options.token, 'coordinator', message.nonce),
          });
          const { id, host, nproc } = message;
          const isFirst = id === this.#options.ownId;
          member = { host, nproc, isFirst, send: (sent) => connection.send(sent) };
          this.#rendezvous.join(member);
        } else if (member) this.#rendezvous.result(member, message);
      },
      onClose: (reason) => {
        if (member) this.#rendezvous.leave(member, reason);
      },
      lostMs: this.#options.hostTimeoutMs,
    });
    connection.send({ kind: 'challenge', nonce });
  }

  #refusal(hello: Hello, nonce: string): ToAgent | undefined {
    const { token, minNodes, maxNodes, hostTimeoutMs } = this.#options;
    if (!isProof(hello.proof, proofOf(token, 'agent', nonce))) {
      return {
        kind: 'refused',
        code: 'ACC_JOB_TOKEN',
        message: 'ACC_JOB_TOKEN differs from that of the first host',
      };
    }
    const differing =
      hello.minNodes === minNodes && hello.maxNodes === maxNodes
        ? hello.hostTimeoutMs !== hostTimeoutMs &&
          `--host-timeout is ${hello.hostTimeoutMs / 1_000} here and ${hostTimeoutMs / 1_000} on the first host`
        : `--nnodes is ${hello.minNodes}:${hello.maxNodes} here and ${minNodes}:${maxNodes} on the first host`;
    return differing ? { kind: 'refused', code: 'ACC_RENDEZVOUS_CONFLICT', message: differing } : undefined;
  }
}

function limitsFor({ maxNodes, hostTimeoutMs }: CoordinatorOptions): DoorLimits {
  return {
    maxUnproven: Math.max(2 * maxNodes, FEWEST_UNPROVEN),
    proofMs: Math.min(Math.max(hostTimeoutMs, PROOF_MS), LONGEST_TIMER_MS),
    maxUnprovenBytes: MOST_UNPROVEN_BYTES,
  };
}
