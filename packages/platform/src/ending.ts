import { constants } from 'node:os';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

/** Marks listeners of signals that may leave a signal to others. A process may have several copies of this package. */
const DEFERS = Symbol.for('acc.defers');
/** Where the package signal-exit counts its listeners: version 4, and 3 and older. */
const SIGNAL_EXIT = Symbol.for('signal-exit emitter');
const OLD_SIGNAL_EXIT = '__signal_exit_emitter__';
/**
 * A terminal and a launcher, npx or npm may each send the signal of one Ctrl-C. A further signal within
 * this time, in milliseconds, counts as the same key press.
 */
const SAME_PRESS_MS = 300;

type Listener = (signal: NodeJS.Signals) => void;
type Emitter = { readonly count?: number } | undefined;

/**
 * Marks a listener that acts only if {@link isHandled} is false. Two listeners that only counted each other
 * would both do nothing.
 *
 * @param defers Whether that holds for a signal that comes now. Default: always.
 */
export function asDeferring(listener: Listener, defers: () => boolean = () => true): Listener {
  return Object.assign(listener, { [DEFERS]: defers });
}

/**
 * Adds a listener before those of the program. Node.js removes one that was added by `once` before it calls
 * it, so a later listener would no longer see it.
 */
export function listenFirst(signal: NodeJS.Signals, listener: Listener): void {
  process.prependListener(signal, listener);
}

/**
 * Whether another listener handles the signal and decides when the process ends. Those of the package
 * signal-exit end the process only if there are no others, so they are not counted.
 */
export function isHandled(signal: NodeJS.Signals): boolean {
  const deciding = process.listeners(signal).filter((listener) => !defers(listener));
  const own = (globalThis as { [SIGNAL_EXIT]?: Emitter })[SIGNAL_EXIT]?.count ?? 0;
  const older = (process as { [OLD_SIGNAL_EXIT]?: Emitter })[OLD_SIGNAL_EXIT]?.count ?? 0;
  return deciding.length > own + older;
}

function defers(listener: object): boolean {
  return (listener as { readonly [DEFERS]?: () => boolean })[DEFERS]?.() ?? false;
}

/**
 * Resolves when a further signal is another key press. A blocked event loop handles a copy of the signal late:
 * in the turn after the wait.
 */
export async function endOfPress(): Promise<void> {
  await sleep(SAME_PRESS_MS, undefined, { ref: false });
  await nextTurn();
}

/**
 * Ends the process, also if a listener for 'exit' throws. `process.exit` alone would then throw, too.
 *
 * @param tell Called with that error. Default: prints it. An error that ends the process stays the last text.
 */
export function exitSurely(code: number, tell: (error: unknown) => void = tellThrown): never {
  try {
    process.exit(code);
  } catch (error) {
    tell(error);
    // No listener is called again.
    process.exit(code);
  }
}

/**
 * Ends this process as the signal would without a listener. Windows cannot send signals: there the
 * process exits with 128 + n for signal n, as a shell reports it elsewhere.
 */
export function endBySignal(signal: NodeJS.Signals, platform: NodeJS.Platform = process.platform): void {
  if (platform === 'win32') exitSurely(128 + constants.signals[signal]);
  else process.kill(process.pid, signal);
}

function tellThrown(error: unknown): void {
  process.stderr.write(`acc: a listener for 'exit' has thrown: ${inspect(error)}\n`);
}
