import { AccError } from '@acc/contract';

/** Reasons for which a coordinator refuses an update. The code is that of the client's error. */
export type RefusalCode =
  | 'ACC_FEDERATED_LATE'
  | 'ACC_FEDERATED_REPLAYED'
  | 'ACC_FEDERATED_SHAPE'
  | 'ACC_FEDERATED_NOT_FINITE'
  | 'ACC_FEDERATED_SAMPLES'
  | 'ACC_FEDERATED_PROTOCOL';

/** The text of a refusal, for the client's error. */
export interface Refusal {
  readonly code: RefusalCode;
  readonly message: string;
}

/** An update that the coordinator does not take. It travels to the client as a {@link Refusal}. */
export class Refused extends Error implements Refusal {
  constructor(
    readonly code: RefusalCode,
    message: string,
  ) {
    super(message);
  }
}

/** Codes with which a coordinator closes a connection, and the errors that clients throw for them. */
export const CLOSE = {
  done: 1000,
  goingAway: 1001,
  /** A message was too long: the code of the WebSocket standard. */
  tooLong: 1009,
  protocol: 4400,
  token: 4401,
  origin: 4403,
  replaced: 4409,
  refusals: 4429,
  full: 4503,
} as const;

interface CloseMeaning {
  readonly code: string;
  readonly message: string;
  readonly help: string;
}

const MEANINGS: ReadonlyMap<number, CloseMeaning> = new Map([
  [
    CLOSE.tooLong,
    {
      code: 'ACC_FEDERATED_SHAPE',
      message:
        'The coordinator closed the connection, because a message was longer than any about its weights',
      help: 'Build the same model in the coordinator and in every client.',
    },
  ],
  [
    CLOSE.protocol,
    {
      code: 'ACC_FEDERATED_PROTOCOL',
      message:
        'The coordinator closed the connection, because it received a message that is not one of its protocol',
      help: 'Install the same version of @acc/federated on both sides.',
    },
  ],
  [
    CLOSE.token,
    {
      code: 'ACC_FEDERATED_TOKEN',
      message: 'The coordinator refused the token',
      help: 'Pass the token of the coordinator: `token` of its options, or `coordinator.token`.',
    },
  ],
  [
    CLOSE.origin,
    {
      code: 'ACC_FEDERATED_ORIGIN',
      message: 'The coordinator does not accept pages of this origin',
      help: 'Add the origin of the page to `origins` of the coordinator.',
    },
  ],
  [
    CLOSE.replaced,
    {
      code: 'ACC_FEDERATED_REPLACED',
      message: 'Another client joined with the same name and took the place of this one',
      help: 'Give each client its own `name`.',
    },
  ],
  [
    CLOSE.refusals,
    {
      code: 'ACC_FEDERATED_REFUSALS',
      message:
        'The coordinator refused many updates of this client, one after another, and closed the connection',
      help: 'Look at the reasons that onRefused received.',
    },
  ],
  [
    CLOSE.full,
    {
      code: 'ACC_FEDERATED_FULL',
      message: 'The coordinator has as many clients as it accepts',
      help: 'Join again later, or raise `maxClients` of the coordinator.',
    },
  ],
]);

/** The error for a connection that the coordinator closed. Undefined if the client may join again. */
export function closeError(closeCode: number, url: string): AccError | undefined {
  const meaning = MEANINGS.get(closeCode);
  if (!meaning) return undefined;
  const { code, message, help } = meaning;
  return new AccError(code, `${url}: ${message}.`, { help, details: { url, closeCode } });
}
