import type { RefusalCode } from '../errors.js';

/** An update that was taken. */
export interface AcceptedUpdate {
  readonly client: string;
  readonly samples: number;
  /** The norm of the update before it was clipped. */
  readonly norm: number;
  readonly isClipped: boolean;
  readonly metrics: Readonly<Record<string, number>>;
}

/** The events and figures of a round. */
export interface RoundRecord {
  /** The number of the round, from 0. */
  readonly round: number;
  /** The clients that were asked, sorted by name. */
  readonly asked: readonly string[];
  /** The updates that were taken, sorted by the client's name. */
  readonly updates: readonly AcceptedUpdate[];
  /** The number of refused updates since the round before, by code. */
  readonly refused: Readonly<Partial<Record<RefusalCode, number>>>;
  /** Clients that were lost before they answered, sorted by name. */
  readonly lost: readonly string[];
  /** How often the deadline passed without enough updates. */
  readonly extensions: number;
  /** The mean of the clients' metrics, weighted by samples. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Bytes of messages since the round before. */
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** The mean of each metric over the clients that report it, weighted by samples. */
export function meanMetrics(updates: readonly AcceptedUpdate[]): Record<string, number> {
  const sums = new Map<string, { sum: number; samples: number }>();
  for (const { metrics, samples } of updates) {
    for (const [name, value] of Object.entries(metrics)) {
      const before = sums.get(name) ?? { sum: 0, samples: 0 };
      sums.set(name, { sum: before.sum + value * samples, samples: before.samples + samples });
    }
  }
  return Object.fromEntries([...sums].map(([name, { sum, samples }]) => [name, sum / samples]));
}

/** The figures of a round for trackers. */
export function figuresOf(record: RoundRecord): Record<string, number> {
  const { updates, refused } = record;
  const refusals = Object.entries(refused).map(([code, count]): [string, number] => [
    `federated/refused/${code.replace('ACC_FEDERATED_', '').toLowerCase()}`,
    count,
  ]);
  const means = Object.entries(record.metrics).map(([name, value]): [string, number] => [
    `clients/${name}`,
    value,
  ]);
  return {
    'federated/clients': updates.length,
    'federated/samples': updates.reduce((sum, { samples }) => sum + samples, 0),
    'federated/largest_norm': Math.max(...updates.map(({ norm }) => norm)),
    'federated/clipped': updates.filter(({ isClipped }) => isClipped).length,
    'federated/lost': record.lost.length,
    'federated/extensions': record.extensions,
    'federated/received_bytes': record.receivedBytes,
    'federated/sent_bytes': record.sentBytes,
    ...Object.fromEntries(refusals),
    ...Object.fromEntries(means),
  };
}
