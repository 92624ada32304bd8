import { AccError } from '@acc/contract';
import { closeError, Refused } from '../errors.js';
import { encodeUpdate, UPDATE_DTYPE, type Compression } from '../protocol/compression.js';
import { entriesOf, requireEntries, type Frame } from '../protocol/frame.js';
import { layoutOf, matchWeights, type WeightLayout } from '../protocol/layout.js';
import {
  parseCoordinatorMessage,
  type CoordinatorMessage,
  type RoundMessage,
  type WelcomeMessage,
} from '../protocol/messages.js';
import { assignFlat, readFlat, weightSource, type WeightSource } from '../weights/weight-source.js';
import { ClientRound } from './federated-round.js';
import { checkedResult, connectionError, lacksProximalTerm, randomName } from './results.js';
import { Link } from './link.js';
import { isTooLong } from '../protocol/too-long.js';
import type { LocalResult, RefusedUpdate, ResolvedFederationOptions } from './options.js';
import type { OpenSocket } from './socket.js';

export interface FederationSummary {
  /** `completed`: all rounds are done, and the model has the final weights. */
  readonly status: 'completed' | 'left';
  /** The number of updates that the coordinator accepted from this client. */
  readonly accepted: number;
  readonly refused: number;
}

/** The coordinator's description of the run when the connection began. */
interface Agreement {
  readonly layout: WeightLayout;
  readonly order: readonly number[];
  readonly compression: Compression;
}

/** A round that was trained in this agreement. */
interface Trained extends Agreement {
  /** The weights from which it was trained. */
  readonly received: Float32Array;
  readonly result: LocalResult;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** The state of a client, over all its connections. */
export class ClientSession {
  readonly name: string;
  readonly joined: Promise<void>;
  readonly done: Promise<FederationSummary>;
  readonly #options: ResolvedFederationOptions;
  readonly #open: OpenSocket;
  readonly #source: WeightSource;
  #settleJoined!: { resolve: () => void; reject: (error: unknown) => void };
  #settleDone!: { resolve: (summary: FederationSummary) => void; reject: (error: unknown) => void };
  #hasJoined = false;
  #isOver = false;
  /** The final weights are here. They are taken when a `train` that runs has ended. */
  #isFinishing = false;
  #accepted = 0;
  #refused = 0;
  #link: Link | undefined;
  #agreement: Agreement | undefined;
  #running: AbortController | undefined;
  /** Messages are handled one after another: weights do not change under a `train` that runs. */
  #work: Promise<void> = Promise.resolve();
  #lostAtMs: number | undefined;
  #attempts = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ResolvedFederationOptions, open: OpenSocket) {
    this.#options = options;
    this.#open = open;
    this.#source = weightSource('joinFederation', options);
    this.name = options.name ?? randomName();
    this.joined = new Promise((resolve, reject) => (this.#settleJoined = { resolve, reject }));
    this.done = new Promise((resolve, reject) => (this.#settleDone = { resolve, reject }));
    // A client that never joined has no one who could wait for its end.
    this.joined.catch(() => this.done.catch(() => {}));
    void this.#connect();
  }

  async leave(): Promise<FederationSummary> {
    this.#end('left');
    return this.done;
  }

  async #connect(): Promise<void> {
    const { url, token } = this.#options;
    const { layout } = this.#source;
    try {
      const link = await Link.open(
        this.#open,
        { url, token, name: this.name, layout },
        {
          onFrame: (frame) => this.#receive(link, frame),
          onBadFrame: (error) => this.#fail(fromRefused(error)),
          onClosed: (code, error) => this.#lost(code, error),
        },
      );
      if (this.#isOver) link.close();
      else this.#link = link;
    } catch (error) {
      this.#fail(error);
    }
  }

  #lost(code: number, cause: unknown): void {
    this.#link = undefined;
    this.#running?.abort();
    if (this.#isOver || this.#isFinishing) return;
    const { url, reconnectMs } = this.#options;
    const nowMs = performance.now();
    this.#lostAtMs ??= nowMs;
    const lostForMs = nowMs - this.#lostAtMs;
    const refusal = closeError(code, url);
    const mayRetry = !refusal && this.#hasJoined && lostForMs < reconnectMs && !isTooLong(cause);
    if (!mayRetry) {
      this.#fail(refusal ?? connectionError({ url, cause, code, lostForMs, hasJoined: this.#hasJoined }));
      return;
    }
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#attempts++, LONGEST_PAUSE_MS);
    this.#retry = setTimeout(() => void this.#connect(), pauseMs);
  }

  #receive(link: Link, frame: Frame): void {
    try {
      this.#dispatch(link, parseCoordinatorMessage(frame.message), frame);
    } catch (error) {
      // A bad message, or an error of a callback.
      this.#fail(fromRefused(error));
    }
  }

  #dispatch(link: Link, message: CoordinatorMessage, frame: Frame): void {
    const { type } = message;
    if (type === 'beat') link.send({ type: 'beat' });
    if (type === 'over' || type === 'done') this.#running?.abort();
    // At once, also under a `train` that runs: the coordinator waits for hello for a short time only.
    if (type === 'welcome') this.#agree(link, message);
    if (type === 'weights') this.#enqueue(link, () => this.#enter(link, frame));
    if (type === 'round') this.#enqueue(link, () => this.#train(link, message, frame));
    if (type === 'accepted') this.#count(message.round);
    if (type === 'refused') this.#report(message);
    if (type === 'done') this.#finish(frame);
  }

  /** The final weights are taken even if the connection ends before. */
  #finish(frame: Frame): void {
    this.#isFinishing = true;
    this.#enqueue(undefined, () => this.#complete(frame));
  }

  /** Runs a task after those before it. It is dropped if its connection, `link`, has ended by then. */
  #enqueue(link: Link | undefined, task: () => void | Promise<void>): void {
    this.#work = this.#work.then(async () => {
      if (this.#isOver || (link && link !== this.#link)) return;
      try {
        await task();
      } catch (error) {
        this.#fail(fromRefused(error));
      }
    });
  }

  #agree(link: Link, { weights, compression, heartbeatMs }: WelcomeMessage): void {
    const order = matchWeights(weights, this.#source.infos);
    this.#agreement = { order, compression, layout: layoutOf(weights) };
    link.expectBeats(heartbeatMs);
    link.send({ type: 'hello' });
  }

  #enter(link: Link, frame: Frame): void {
    this.#take(frame);
    this.#lostAtMs = undefined;
    this.#attempts = 0;
    this.#hasJoined = true;
    link.send({ type: 'ready' });
    this.#settleJoined.resolve();
  }

  /** Copies the weights of a message into the model. @returns The same as a vector. */
  #take(frame: Frame): Float32Array {
    const { layout, order } = this.#agreed();
    requireEntries(frame, layout, 'F32');
    const weights = new Float32Array(new Uint8Array(frame.body).buffer);
    assignFlat(this.#source, weights, order);
    return weights;
  }

  async #train(link: Link, message: RoundMessage, frame: Frame): Promise<void> {
    const agreement = this.#agreed();
    const { layout, order } = agreement;
    const received = this.#take(frame);
    const running = new AbortController();
    this.#running = running;
    const parts = { ...message, signal: running.signal, source: this.#source, order, layout, received };
    const round = new ClientRound(parts);
    let result: LocalResult;
    try {
      result = checkedResult(await this.#options.train(round));
      if (round.lacksTerm) throw lacksProximalTerm(message.proximalMu);
    } catch (error) {
      // The program stopped because it was told to.
      if (!running.signal.aborted) throw error;
      return link.send({ type: 'ready' });
    } finally {
      round.dispose();
      this.#running = undefined;
    }
    await this.#sendUpdate(link, message.ticket, { ...agreement, received, result });
  }

  async #sendUpdate(
    link: Link,
    ticket: string,
    { layout, order, compression, received, result }: Trained,
  ): Promise<void> {
    const trained = await readFlat(this.#source, order);
    const update = trained.map((value, i) => value - received[i]!);
    const { body, steps } = encodeUpdate(update, layout, compression);
    const { samples, metrics = {} } = result;
    const message = { type: 'update', ticket, samples, metrics, steps };
    link.send(message, entriesOf(layout, UPDATE_DTYPE[compression]), body);
  }

  #complete(frame: Frame): void {
    this.#take(frame);
    this.#settleJoined.resolve();
    this.#end('completed');
  }

  #count(round: number): void {
    this.#accepted++;
    this.#options.onAccepted?.(round);
  }

  #report({ code, message, round }: RefusedUpdate): void {
    this.#refused++;
    const { onRefused } = this.#options;
    if (onRefused) onRefused({ code, message, round });
    else console.warn(`acc: ${code}: the coordinator refused an update of '${this.name}': ${message}`);
  }

  #agreed(): Agreement {
    if (this.#agreement) return this.#agreement;
    throw new Refused('ACC_FEDERATED_PROTOCOL', 'weights came before the list of weights');
  }

  #end(status: FederationSummary['status']): void {
    if (this.#isOver) return;
    this.#stop();
    this.#settleDone.resolve({ status, accepted: this.#accepted, refused: this.#refused });
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#stop();
    this.#settleDone.reject(error);
    this.#settleJoined.reject(error);
  }

  #stop(): void {
    this.#isOver = true;
    clearTimeout(this.#retry);
    this.#running?.abort();
    this.#link?.close();
    this.#link = undefined;
  }
}

/** A bad message of the coordinator, as the error of this client. */
function fromRefused(error: unknown): unknown {
  if (!(error instanceof Refused)) return error;
  return new AccError(
    error.code,
    `The coordinator sent a message that this client refuses: ${error.message}.`,
    {
      help: 'Install the same version of @acc/federated on both sides.',
    },
  );
}
