import { connect, type Socket } from 'node:net';
import { hostname } from 'node:os';
import { AccError, poll } from '@acc/contract';
import type { Endpoint } from '../options.js';
import { newToken } from '../share-of-host.js';
import type { StopRequest } from '../run-job.js';
import { Connection } from './connection.js';
import { JOIN_MS } from './coordinator.js';
import type { End, Hello, Result, Round, Stop, ToAgent, ToCoordinator } from './messages.js';
import { isProof, proofOf } from './proof.js';

const ATTEMPT_MS = 3_000;

export interface AgentOptions {
  readonly id: string;
  readonly endpoint: Endpoint;
  readonly token: string;
  readonly nproc: number;
  readonly minNodes: number;
  readonly maxNodes: number;
  /** A first host that does not answer for this long is lost. In milliseconds. */
  readonly hostTimeoutMs: number;
  /** Runs the ranks of a round until they end, or until `stop` resolves and they were ended. */
  runRound(round: Round, stop: Promise<StopRequest>): Promise<Omit<Result, 'kind' | 'restart'>>;
}

/** How the job ended for this host. */
export interface AgentEnd {
  readonly exitCode: number;
  /** Why the job ended. '' if its ranks completed. */
  readonly reason: string;
}

/**
 * Takes part in the rounds of a job until it ends.
 *
 * @throws AccError `ACC_RENDEZVOUS_FAILED` if nobody answers at the endpoint, `ACC_RENDEZVOUS_LOST`
 * if its host is lost, `ACC_RENDEZVOUS_CONFLICT`, `ACC_JOB_TOKEN`.
 */
export async function runAgent(options: AgentOptions): Promise<AgentEnd> {
  const socket = await connected(options.endpoint);
  return new Agent(socket, options).ended;
}

async function connected({ host, port }: Endpoint): Promise<Socket> {
  let reason = '';
  const attempt = (): Promise<Socket | undefined> =>
    new Promise((resolve) => {
      const socket = connect({ host, port });
      const fail = (why: string): void => {
        reason = why;
        socket.destroy();
        resolve(undefined);
      };
      socket.setTimeout(ATTEMPT_MS, () => fail('the connection timed out'));
      socket.once('error', (error) => fail(error.message));
      socket.once('connect', () => {
        socket.setTimeout(0).removeAllListeners('error');
        resolve(socket);
      });
    });
  const socket = await poll(attempt, { timeoutMs: JOIN_MS });
  if (socket) return socket;
  throw new AccError('ACC_RENDEZVOUS_FAILED', `No first host answers at ${host}:${port}: ${reason}.`, {
    help: 'Start the same command on the host of --rdzv-endpoint.',
  });
}

/** One connection to the coordinator. */
class Agent {
  readonly ended: Promise<AgentEnd>;
  readonly #options: AgentOptions;
  readonly #connection: Connection<ToAgent, ToCoordinator>;
  readonly #nonce = newToken();
  #settle!: { resolve(end: AgentEnd): void; reject(error: AccError): void };
  #stop: ((request: StopRequest) => void) | undefined;
  /** Resolves when the ranks of the round have ended. */
  #running: Promise<void> | undefined;
  #isSettled = false;
  /** Whether the peer has proved that it knows the token. Nobody else gives orders. */
  #isProven = false;

  constructor(socket: Socket, options: AgentOptions) {
    this.#options = options;
    this.ended = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    this.#connection = new Connection(socket, {
      onMessage: (message) => this.#receive(message),
      onClose: (reason) => void this.#lost(reason),
      lostMs: options.hostTimeoutMs,
    });
  }

  #receive(message: ToAgent): void {
    const { token, endpoint } = this.#options;
    switch (message.kind) {
      case 'challenge':
        return this.#connection.send(this.#hello(message.nonce));
      case 'welcome':
        this.#isProven = isProof(message.proof, proofOf(token, 'coordinator', this.#nonce));
        if (this.#isProven) return;
        return this.#refuse(
          'ACC_JOB_TOKEN',
          `ACC_JOB_TOKEN differs from that at ${endpoint.host}:${endpoint.port}`,
        );
      case 'refused':
        return this.#refuse(message.code, message.message);
      default:
        if (this.#isProven) return this.#obey(message);
        return this.#refuse(
          'ACC_JOB_TOKEN',
          `What listens at ${endpoint.host}:${endpoint.port} has not proved that it knows ACC_JOB_TOKEN`,
        );
    }
  }

  #obey(order: Round | Stop | End): void {
    switch (order.kind) {
      case 'round':
        this.#running = this.#run(order);
        return;
      case 'stop':
        return this.#stop?.({ isSaving: order.isSaving });
      case 'end':
        return this.#end(() => this.#settle.resolve(order));
    }
  }

  #hello(nonce: string): Hello {
    const { token, id, nproc, minNodes, maxNodes, hostTimeoutMs } = this.#options;
    const own = { id, host: hostname(), nproc, minNodes, maxNodes, hostTimeoutMs };
    return { kind: 'hello', proof: proofOf(token, 'agent', nonce), nonce: this.#nonce, ...own };
  }

  async #run(round: Round): Promise<void> {
    const stop = new Promise<StopRequest>((resolve) => (this.#stop = resolve));
    try {
      const result = await this.#options.runRound(round, stop);
      this.#connection.send({ kind: 'result', restart: round.restart, ...result });
      const { exitCode, outcome } = result;
      if (outcome === 'left') this.#end(() => this.#settle.resolve({ exitCode, reason: '' }));
    } catch (error) {
      this.#end(() => this.#settle.reject(error as AccError));
    }
  }

  #refuse(code: string, message: string): void {
    const help = 'Start the same command with the same ACC_JOB_TOKEN on every host.';
    this.#end(() => this.#settle.reject(new AccError(code, `${message}.`, { help })));
  }

  /** Ends the ranks before anything else: without the first host they cannot go on. */
  async #lost(reason: string): Promise<void> {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#stop?.({ isSaving: false });
    await this.#running;
    const { host, port } = this.#options.endpoint;
    this.#settle.reject(
      new AccError(
        'ACC_RENDEZVOUS_LOST',
        `The first host (${host}:${port}), which keeps the job together, is lost: ${reason}. The ranks of this host were ended.`,
        { help: 'Start the job again on all hosts. It continues from its last checkpoint.' },
      ),
    );
  }

  #end(settle: () => void): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#connection.end();
    settle();
  }
}
