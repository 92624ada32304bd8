import { AccError, checkKeys, nearestName } from '@acc/contract';
import { readLaunchEnvironment } from './environment.js';
import { whatRuns } from './running.js';

/** From the least to the most severe. */
const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** The severity of a message of a {@link Logger}. */
export type LogLevel = (typeof LEVELS)[number];

/** Options of `getLogger`. */
export interface LoggerOptions {
  /** Messages below it are not written. Default `info`. */
  readonly level?: LogLevel;
}

/** Options of one message of a {@link Logger}. */
export interface MessageOptions {
  /** Whether only rank 0 writes the message. Default true. */
  readonly mainProcessOnly?: boolean;
  /**
   * Whether the messages of all ranks are written in the order of ranks. Every rank calls it, and
   * rank 0 writes. Takes the place of `mainProcessOnly`. Default false.
   */
  readonly inOrder?: boolean;
}

/**
 * Writes messages to the console with the rank that they come from, as `INFO name: [RANK 0] message`.
 * All methods throw `ACC_UNKNOWN_OPTION`, and `ACC_NOT_CREATED` for `inOrder` on several ranks
 * without an Accelerator.
 */
export interface Logger {
  readonly name: string;
  readonly level: LogLevel;
  debug(message: string, options?: MessageOptions): void;
  info(message: string, options?: MessageOptions): void;
  warn(message: string, options?: MessageOptions): void;
  error(message: string, options?: MessageOptions): void;
  /**
   * Like `warn`, but writes the same message once. Each rank counts its own calls, so it refuses
   * `inOrder` (`ACC_INVALID_OPTION`), for which all ranks would have to write together.
   */
  warnOnce(message: string, options?: Pick<MessageOptions, 'mainProcessOnly'>): void;
}

/**
 * Returns a logger that knows the rank of its process. By default only rank 0 writes. It works
 * before `Accelerator.create`, and then takes the rank from the variables of the launcher.
 *
 * @param name Stands before each message, for example the name of the module.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function getLogger(name: string, options: LoggerOptions = {}): Logger {
  checkKeys('getLogger', options, ['level']);
  const { level = 'info' } = options;
  requireLevel(level);
  const warned = new Set<string>();
  const at = (own: LogLevel) => (message: string, given?: MessageOptions) => {
    checkKeys(`logger.${own}`, given ?? {}, ['mainProcessOnly', 'inOrder']);
    if (LEVELS.indexOf(own) >= LEVELS.indexOf(level)) write({ level: own, name, message }, given);
  };
  const warn = at('warn');
  return {
    ...{ name, level, debug: at('debug'), info: at('info'), warn, error: at('error') },
    warnOnce(message, given: MessageOptions = {}) {
      if (given.inOrder) throw cannotOrder();
      if (warned.has(message)) return;
      warned.add(message);
      warn(message, given);
    },
  };
}

interface Message {
  readonly level: LogLevel;
  readonly name: string;
  readonly message: string;
}

function write(
  { level, name, message }: Message,
  { mainProcessOnly = true, inOrder = false }: MessageOptions = {},
): void {
  const { rank, size, gather } = place();
  const line = `${level.toUpperCase()} ${name}: [RANK ${rank}] ${message}`;
  // A launcher reads the output of each rank by itself, so only one rank can keep an order.
  const lines = inOrder && size > 1 ? gather(line) : [line];
  if (rank > 0 && (inOrder || mainProcessOnly)) return;
  for (const each of lines) console[level](each);
}

function place() {
  const collective = whatRuns()?.collective;
  const { rank, size } = collective ?? readLaunchEnvironment();
  return {
    rank,
    size,
    gather(line: string): string[] {
      if (collective) return collective.allGatherObject(line);
      throw new AccError('ACC_NOT_CREATED', 'A message with inOrder was logged without an Accelerator.', {
        help: 'Call it between Accelerator.create and freeMemory or endTraining.',
      });
    },
  };
}

function cannotOrder(): AccError {
  return new AccError('ACC_INVALID_OPTION', 'logger.warnOnce cannot write in the order of ranks.', {
    help: 'Leave inOrder out, or call warn on every rank.',
  });
}

function requireLevel(level: unknown): void {
  if (LEVELS.includes(level as LogLevel)) return;
  const nearest = nearestName(String(level), LEVELS);
  throw new AccError('ACC_INVALID_OPTION', `getLogger: level is '${String(level)}'.`, {
    help: nearest ? `Did you mean '${nearest}'?` : `Give one of ${LEVELS.join(', ')}.`,
  });
}
