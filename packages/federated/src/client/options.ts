import type { Variable } from '@tensorflow/tfjs-core';
import { parseOptions } from '@acc/contract';
import * as z from 'zod';
import { clientName } from '../protocol/messages.js';
import type { FederatedModel } from '../weights/weight-source.js';
import type { FederatedRound } from './federated-round.js';

/** An update that the coordinator did not take. */
export interface RefusedUpdate {
  /** `ACC_FEDERATED_LATE`, `…_REPLAYED`, `…_SHAPE`, `…_NOT_FINITE`, `…_SAMPLES`, `…_PROTOCOL`. */
  readonly code: string;
  readonly message: string;
  /** The round that was under way. */
  readonly round: number;
}

/** The result of a client in a round. */
export interface LocalResult {
  /** The number of samples that it trained on. It is the weight of the client in FedAvg. */
  readonly samples: number;
  /** Numbers for the trackers of the coordinator, which averages them over samples. */
  readonly metrics?: Readonly<Record<string, number>>;
}

export interface FederationOptions {
  /** The address of the coordinator: `ws://…` or `wss://…`. */
  readonly url: string;
  /** The token of the coordinator. */
  readonly token: string;
  /** The model that is trained, with the same weights as that of the coordinator. */
  readonly model?: FederatedModel;
  /** The variables that are trained, in place of `model`. */
  readonly variables?: readonly Variable[];
  /**
   * Trains for a round. The weights are those of the coordinator when it is called, and are read
   * when its promise resolves. One call at a time.
   */
  readonly train: (round: FederatedRound) => LocalResult | Promise<LocalResult>;
  /** The name of this client, different from all others. Default: a random one. */
  readonly name?: string;
  /** How long a lost coordinator is tried again, in milliseconds. 0: not at all. Default 60,000. */
  readonly reconnectMs?: number;
  /** Receives the number of each round for which the coordinator took an update of this client. */
  readonly onAccepted?: (round: number) => void;
  /** Receives updates that the coordinator refused. Default: a warning on the console. */
  readonly onRefused?: (refused: RefusedUpdate) => void;
}

const functionOf = <T>() => z.custom<T>((value) => typeof value === 'function', 'a function');

const schema = z.object({
  url: z.string().refine(isSocketAddress, 'an address that begins with ws:// or wss://'),
  token: z.string().min(1),
  model: z.custom<FederatedModel>().optional(),
  variables: z
    .custom<readonly Variable[]>(
      (value) => value === undefined || Array.isArray(value),
      'a list of tf.Variable',
    )
    .optional(),
  train: functionOf<FederationOptions['train']>(),
  name: clientName.optional(),
  reconnectMs: z.number().nonnegative().default(60_000),
  onAccepted: functionOf<NonNullable<FederationOptions['onAccepted']>>().optional(),
  onRefused: functionOf<NonNullable<FederationOptions['onRefused']>>().optional(),
});

export type ResolvedFederationOptions = Readonly<z.infer<typeof schema>>;

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. Messages do not contain the token. */
export function resolveFederationOptions(options: FederationOptions): ResolvedFederationOptions {
  return parseOptions('joinFederation', schema, options, { secret: ['token'] });
}

function isSocketAddress(url: string): boolean {
  return /^wss?:\/\//.test(url) && URL.canParse(url);
}
