import { randomBytes } from 'node:crypto';
import { CLOSE } from '../errors.js';
import { maxFrameBytes, maxHeaderBytes } from '../protocol/frame.js';
import { assignFlat, readFlat, weightSource, type WeightSource } from '../weights/weight-source.js';
import { CLOSING_MS } from './closing.js';
import { Member, type Traffic } from './member.js';
import {
  resolveCoordinatorOptions,
  type CoordinatorOptions,
  type ResolvedCoordinatorOptions,
} from './options.js';
import { Recording } from './recording.js';
import type { RoundRecord } from './round-record.js';
import { RoundRunner } from './round-runner.js';
import { SavedRounds, type SavedRun } from './saved-rounds.js';
import { FederationServer } from './server.js';

/** A federated training that this program coordinates. */
export interface Coordinator {
  /** The address for clients. */
  readonly url: string;
  readonly port: number;
  readonly token: string;
  /** The round that is under way, from 0. */
  readonly round: number;
  /** The names of the clients that are connected, sorted. */
  readonly clients: readonly string[];
  /** The checkpoint from which the run continues. */
  readonly resumedFrom: string | undefined;
  /**
   * Resolves when all rounds are done, all clients have the final weights, and nothing listens any
   * more; or after `close`. Rejects with the error that ended the run, such as one of `onRound`.
   */
  readonly done: Promise<CoordinatorSummary>;
  /** Ends the run. The round that is under way does not count. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface CoordinatorSummary {
  readonly status: 'completed' | 'closed';
  /** The number of rounds that are done, those before a resume included. */
  readonly rounds: number;
}

/**
 * Starts a coordinator of federated training, which begins as soon as enough clients have joined.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_FEDERATED_MODEL`,
 * `ACC_FEDERATED_LISTEN`; errors of checkpoints and trackers.
 */
export async function startCoordinator(options: CoordinatorOptions): Promise<Coordinator> {
  const resolved = resolveCoordinatorOptions(options);
  const source = weightSource('startCoordinator', resolved);
  const saves = resolved.checkpoint && new SavedRounds(resolved.checkpoint, source.layout);
  const saved = resolved.resume ? await saves!.newest() : undefined;
  if (saved) assignFlat(source, saved.weights);
  const recording = new Recording(resolved);
  await recording.start(saved?.trackers);
  const weights = await readFlat(source);
  const coordinator = new RunningCoordinator({ options: resolved, source, saves, saved, recording, weights });
  try {
    await coordinator.listen();
  } catch (error) {
    await recording.finish('failed');
    throw error;
  }
  return coordinator;
}

interface CoordinatorParts {
  readonly options: ResolvedCoordinatorOptions;
  readonly source: WeightSource;
  readonly saves: SavedRounds | undefined;
  readonly saved: SavedRun | undefined;
  readonly recording: Recording;
  readonly weights: Float32Array;
}

/**
 * How long a resumed run without further rounds waits for its clients, in milliseconds. A client
 * that lost its coordinator tries again at least every 5 s.
 */
const RETURNING_MS = 15_000;

/** The least default of `maxUnproven`. */
const FEWEST_UNPROVEN = 100;

class RunningCoordinator implements Coordinator {
  readonly token: string;
  readonly resumedFrom: string | undefined;
  done!: Promise<CoordinatorSummary>;
  readonly #parts: CoordinatorParts;
  readonly #runner: RoundRunner;
  readonly #traffic: Traffic = { received: 0, sent: 0 };
  #server!: FederationServer;

  constructor(parts: CoordinatorParts) {
    const { options, source, saved, weights } = parts;
    this.#parts = parts;
    this.token = options.token ?? randomBytes(32).toString('base64url');
    this.resumedFrom = saved?.place;
    this.#runner = new RoundRunner({
      options,
      layout: source.layout,
      traffic: this.#traffic,
      weights,
      round: saved?.round ?? 0,
      afterRound: (record, newWeights) => this.#afterRound(record, newWeights),
    });
  }

  async listen(): Promise<void> {
    const { host, port, tls, origins, maxClients, heartbeatMs, proofMs } = this.#parts.options;
    const { maxUnproven = Math.max(maxClients, FEWEST_UNPROVEN) } = this.#parts.options;
    const { layout } = this.#parts.source;
    const memberOptions = { heartbeatMs, headerLimit: maxHeaderBytes(layout), traffic: this.#traffic };
    const runner = this.#runner;
    const events = {
      onMessage: runner.handle.bind(runner),
      onRefused: runner.refuse.bind(runner),
      onGone: runner.remove.bind(runner),
      onDrained: runner.wake.bind(runner),
    };
    this.#server = await FederationServer.listen({
      ...{ host, port, tls, origins, token: this.token, maxFrameBytes: maxFrameBytes(layout) },
      door: { maxUnproven, proofMs },
      // A client that joins again takes the place of its lost connection.
      hasRoom: (name) =>
        runner.members.length < maxClients || runner.members.some((member) => member.name === name),
      onClient: (socket, name) => {
        runner.add(new Member(socket, name, memberOptions, events));
      },
    });
    this.done = this.#run();
  }

  get url(): string {
    return this.#server.url;
  }

  get port(): number {
    return this.#server.port;
  }

  get round(): number {
    return this.#runner.round;
  }

  get clients(): string[] {
    return this.#runner.members.map(({ name }) => name).sort();
  }

  async close(): Promise<void> {
    this.#runner.stop();
    // The error of a run that failed belongs to whoever waits for `done`.
    await this.done.catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #run(): Promise<CoordinatorSummary> {
    const { saved, options } = this.#parts;
    try {
      // The run ended before its clients had the final weights.
      if (saved && saved.round >= options.rounds) {
        await this.#runner.waitFor(saved.clients, Math.min(RETURNING_MS, options.deadlineMs));
      }
      const isComplete = await this.#runner.run();
      await this.#dismiss(isComplete);
      await this.#parts.recording.finish(isComplete ? 'completed' : 'aborted');
      return { status: isComplete ? 'completed' : 'closed', rounds: this.#runner.round };
    } catch (error) {
      await this.#dismiss(false);
      await this.#parts.recording.finish('failed');
      throw error;
    }
  }

  async #afterRound(record: RoundRecord, weights: Float32Array): Promise<void> {
    const { source, saves, recording, options } = this.#parts;
    assignFlat(source, weights);
    const metrics = (await options.onRound?.(record)) ?? {};
    recording.log(record, metrics);
    await saves?.save(record.round + 1, source, {
      clients: this.clients,
      trackers: recording.state,
      metrics: { ...record.metrics, ...metrics },
    });
  }

  /** Ends all connections. After a complete run, clients first get the final weights. */
  async #dismiss(isComplete: boolean): Promise<void> {
    const stopped = this.#server.close();
    const { members } = this.#runner;
    for (const member of members) {
      if (isComplete) this.#runner.sendFinal(member);
      if (isComplete) member.close(CLOSE.done, this.#parts.options.deadlineMs);
      else member.close(CLOSE.goingAway, CLOSING_MS);
    }
    await Promise.all(members.map(({ closed }) => closed));
    await stopped;
  }
}
