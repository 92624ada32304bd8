import type { CheckpointOptions } from '@acc/checkpoint';
import type { Tracker } from '@acc/contract';
import { isRecord, parseOptions } from '@acc/contract';
import type { Variable } from '@tensorflow/tfjs-core';
import * as z from 'zod';
import { AGGREGATORS, type AggregatorName } from '../aggregate/aggregators.js';
import type { Aggregator } from '../aggregate/update.js';
import { COMPRESSIONS, type Compression } from '../protocol/compression.js';
import { LONGEST_TIMER_MS } from '../protocol/missed-beats.js';
import type { FederatedModel } from '../weights/weight-source.js';
import type { RoundRecord } from './round-record.js';

export interface CoordinatorOptions {
  /** The model whose weights are averaged. It has the new weights after each round. */
  readonly model?: FederatedModel;
  /** The variables that are averaged, in place of `model`. */
  readonly variables?: readonly Variable[];
  /** The number of rounds. */
  readonly rounds: number;
  /** The address to listen on. Default `127.0.0.1`: programs of this machine only. */
  readonly host?: string;
  /** Default 0: a free port, which is in `coordinator.url`. */
  readonly port?: number;
  /**
   * The secret that clients must know, at least 16 characters. Default: a random one,
   * `coordinator.token`.
   */
  readonly token?: string;
  /** The origins of pages that may join, such as `https://example.org`. Default: all with the token. */
  readonly origins?: readonly string[];
  /** A certificate and its key, as PEM. The address is then `wss://…`. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** The number of clients in a round, at most `maxClients`. Default: all that are present. */
  readonly clientsPerRound?: number;
  /** The share of the clients that are present, above 0 and up to 1, in place of `clientsPerRound`. */
  readonly fraction?: number;
  /** The number of clients that must be present when a round starts. Default `minClients`. */
  readonly waitForClients?: number;
  /** The number of updates that a round needs. Default 1. */
  readonly minClients?: number;
  /**
   * The number of updates after which a round ends without the rest. Ask more clients than that, so
   * that slow ones delay nobody. At most `clientsPerRound`. Default: all clients of the round.
   */
  readonly enoughClients?: number;
  /**
   * The time for a round, in milliseconds. Then it ends with the updates that are there. If these
   * are fewer than `minClients`, the round is extended by the same time. Default 600,000.
   */
  readonly deadlineMs?: number;
  /** How updates are combined. Default `fedAvg`. */
  readonly aggregate?: AggregatorName | Aggregator;
  /** Only with `trimmedMean`: the share of values left out at each end, below 0.5. Default 0.1. */
  readonly trimRatio?: number;
  /** Longer updates are scaled down to this norm. Default: no limit. */
  readonly clipUpdateNorm?: number;
  /** The factor μ of FedProx. Clients must then add `round.proximalTerm()` to the loss. Default 0. */
  readonly proximalMu?: number;
  /** Updates of clients that claim more samples are refused. Default 1,000,000. */
  readonly maxSamples?: number;
  /** How updates travel. Default `none`: as float32. */
  readonly compression?: Compression;
  /** The most clients that are connected at a time. Default 100. */
  readonly maxClients?: number;
  /**
   * The most connections at a time that have not shown the token. For a further one, an older one is
   * closed. Default `maxClients`, and at least 100.
   */
  readonly maxUnproven?: number;
  /** The time in which a connection must show the token, in milliseconds. Default 10,000. */
  readonly proofMs?: number;
  /** The interval of signs of life, in milliseconds. Five intervals of silence are a loss. Default 15,000. */
  readonly heartbeatMs?: number;
  /** The seed for the choice of clients. Default 0. */
  readonly seed?: number;
  /** Saves the weights after each round. Options as those of the Accelerator. */
  readonly checkpoint?: Pick<CheckpointOptions, 'dir' | 'storage' | 'keepLast' | 'keepBest' | 'keepEvery'>;
  /** Continues after the newest checkpoint, if there is one. Default false. */
  readonly resume?: boolean;
  /** Trackers that record each round. */
  readonly trackers?: readonly Tracker[];
  /** Only with `trackers`: their project. Default `federated`. */
  readonly project?: string;
  /** Only with `trackers`: the folder of their files. Default: the working directory. */
  readonly projectDir?: string;
  /** Called after each round, when the model has its weights. Returned numbers are recorded. */
  readonly onRound?: (
    record: RoundRecord,
  ) => RoundMetrics | undefined | void | Promise<RoundMetrics | undefined | void>;
}

export type RoundMetrics = Readonly<Record<string, number>>;

const positive = z.number().int().positive();
const functionOf = <T>() => z.custom<T>((value) => typeof value === 'function', 'a function');
const text = z.string().min(1);
const interval = z.number().positive().max(LONGEST_TIMER_MS);

const schema = z
  .object({
    model: z.custom<FederatedModel>().optional(),
    variables: z
      .custom<readonly Variable[]>((value) => Array.isArray(value), 'a list of tf.Variable')
      .optional(),
    rounds: positive,
    host: text.default('127.0.0.1'),
    port: z.number().int().min(0).max(65_535).default(0),
    token: z.string().min(16, 'a text of at least 16 characters').optional(),
    origins: z.array(z.string().refine(isOrigin, 'an origin such as https://example.org')).optional(),
    tls: z.strictObject({ cert: text, key: text }).optional(),
    clientsPerRound: positive.optional(),
    fraction: z.number().gt(0).max(1).optional(),
    waitForClients: positive.optional(),
    minClients: positive.default(1),
    enoughClients: positive.optional(),
    deadlineMs: interval.default(600_000),
    aggregate: z
      .union(
        [z.enum(AGGREGATORS), functionOf<Aggregator>()],
        `one of ${AGGREGATORS.join(', ')}, or a function`,
      )
      .default('fedAvg'),
    trimRatio: z.number().min(0).lt(0.5).optional(),
    clipUpdateNorm: z.number().positive().optional(),
    proximalMu: z.number().nonnegative().default(0),
    maxSamples: z.number().positive().default(1_000_000),
    compression: z.enum(COMPRESSIONS).default('none'),
    maxClients: positive.default(100),
    maxUnproven: positive.optional(),
    proofMs: interval.default(10_000),
    heartbeatMs: interval.default(15_000),
    seed: z.number().int().default(0),
    checkpoint: z.custom<CheckpointOptions>((value) => isRecord(value), 'an object').optional(),
    resume: z.boolean().default(false),
    trackers: z.array(z.custom<Tracker>()).optional(),
    project: text.optional(),
    projectDir: text.optional(),
    onRound: functionOf<NonNullable<CoordinatorOptions['onRound']>>().optional(),
  })
  .refine(({ clientsPerRound, fraction }) => clientsPerRound === undefined || fraction === undefined, {
    path: ['fraction'],
    error: 'no fraction together with clientsPerRound',
  })
  .refine(({ clientsPerRound = Infinity, minClients }) => minClients <= clientsPerRound, {
    path: ['minClients'],
    error: 'at most clientsPerRound',
  })
  .refine(({ enoughClients = Infinity, minClients }) => minClients <= enoughClients, {
    path: ['enoughClients'],
    error: 'at least minClients',
  })
  .refine(
    ({ enoughClients = 0, clientsPerRound = Infinity, maxClients }) =>
      enoughClients <= Math.min(clientsPerRound, maxClients),
    { path: ['enoughClients'], error: 'at most clientsPerRound and maxClients' },
  )
  .refine(({ clientsPerRound = 0, maxClients }) => clientsPerRound <= maxClients, {
    path: ['clientsPerRound'],
    error: 'at most maxClients',
  })
  .refine(({ trimRatio, aggregate }) => trimRatio === undefined || aggregate === 'trimmedMean', {
    path: ['trimRatio'],
    error: "no trimRatio without aggregate: 'trimmedMean'",
  })
  .refine(({ trackers, project }) => project === undefined || trackers !== undefined, {
    path: ['project'],
    error: 'no project without trackers',
  })
  .refine(({ trackers, projectDir }) => projectDir === undefined || trackers !== undefined, {
    path: ['projectDir'],
    error: 'no projectDir without trackers',
  })
  .refine(({ waitForClients = Infinity, minClients }) => minClients <= waitForClients, {
    path: ['waitForClients'],
    error: 'at least minClients',
  })
  .refine(({ waitForClients, minClients, maxClients }) => (waitForClients ?? minClients) <= maxClients, {
    path: ['maxClients'],
    error: 'at least waitForClients and minClients',
  })
  .refine(({ resume, checkpoint }) => !resume || checkpoint !== undefined, {
    path: ['resume'],
    error: 'no resume without checkpoint',
  });

export type ResolvedCoordinatorOptions = Readonly<z.infer<typeof schema>>;

/**
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. Messages contain neither the token
 * nor a key.
 */
export function resolveCoordinatorOptions(options: CoordinatorOptions): ResolvedCoordinatorOptions {
  return parseOptions('startCoordinator', schema, options, { secret: ['token', 'tls'] });
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}
