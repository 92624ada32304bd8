import * as z from 'zod';
import { Refused } from '../errors.js';
import { COMPRESSIONS } from './compression.js';
import { LONGEST_TIMER_MS } from './missed-beats.js';

/** The WebSocket subprotocol. Its number changes with the messages. */
export const SUBPROTOCOL = 'acc-federated.1';
/**
 * Before the token, in base64url, in the list of subprotocols. A page cannot set other headers of a
 * WebSocket, and addresses are written to logs.
 */
export const TOKEN_PREFIX = 'acc-token.';

const count = z.number().int().nonnegative();
const ticket = z.string().max(64);
/** JSON has no NaN and no infinities: they travel as null. */
const number = z
  .number()
  .nullable()
  .transform((value) => value ?? NaN);

const NAME_LENGTH = 64;
const MAX_METRICS = 64;

/** The schema of a client's name. */
export const clientName = z
  .string()
  .regex(
    new RegExp(`^[A-Za-z0-9._:-]{1,${NAME_LENGTH}}$`),
    `1 to ${NAME_LENGTH} letters, digits and . _ : -`,
  );

export const metricsSchema = z
  .record(z.string().min(1).max(NAME_LENGTH), number)
  .refine((metrics) => Object.keys(metrics).length <= MAX_METRICS, `at most ${MAX_METRICS} metrics`);

/** The model fits; the weights may come. */
const hello = z.object({ type: z.literal('hello') });
/** The client waits for a round. */
const ready = z.object({ type: z.literal('ready') });
const beat = z.object({ type: z.literal('beat') });
const update = z.object({
  type: z.literal('update'),
  ticket,
  samples: z.number(),
  metrics: metricsSchema,
  /** For `int8`: the quantization step of each weight. The length of the header limits their number. */
  steps: z.array(number),
});

const fromClient = z.discriminatedUnion('type', [hello, ready, beat, update]);

const weight = z.object({ name: z.string(), shape: z.array(count) });
const welcome = z.object({
  type: z.literal('welcome'),
  weights: z.array(weight),
  heartbeatMs: z.number().positive().max(LONGEST_TIMER_MS),
  compression: z.enum(COMPRESSIONS),
});
/** The weights at the time of joining. */
const weights = z.object({ type: z.literal('weights') });
const round = z.object({
  type: z.literal('round'),
  ticket,
  round: count,
  rounds: count,
  proximalMu: z.number().nonnegative(),
});
/** The round ended without the update of this client. */
const over = z.object({ type: z.literal('over'), round: count });
const accepted = z.object({ type: z.literal('accepted'), round: count });
const refused = z.object({
  type: z.literal('refused'),
  /** The round that is under way. */
  round: count,
  code: z.string(),
  message: z.string(),
});
const done = z.object({ type: z.literal('done'), rounds: count });

const fromCoordinator = z.discriminatedUnion('type', [
  welcome,
  weights,
  round,
  over,
  accepted,
  refused,
  beat,
  done,
]);

export type ClientMessage = Readonly<z.infer<typeof fromClient>>;
export type UpdateMessage = Readonly<z.infer<typeof update>>;
export type CoordinatorMessage = Readonly<z.infer<typeof fromCoordinator>>;
export type WelcomeMessage = Readonly<z.infer<typeof welcome>>;
export type RoundMessage = Readonly<z.infer<typeof round>>;

/** @throws Refused `ACC_FEDERATED_PROTOCOL`. */
export function parseClientMessage(message: unknown): ClientMessage {
  return parse(fromClient, message);
}

/** @throws Refused `ACC_FEDERATED_PROTOCOL`. */
export function parseCoordinatorMessage(message: unknown): CoordinatorMessage {
  return parse(fromCoordinator, message);
}

function parse<S extends z.ZodType>(schema: S, message: unknown): z.infer<S> {
  const result = schema.safeParse(message);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const place = issue?.path.map(String).join('.') || 'type';
  throw new Refused('ACC_FEDERATED_PROTOCOL', `the message is not valid at '${place}': ${issue?.message}`);
}
