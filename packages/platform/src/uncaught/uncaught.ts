import { isMainThread } from 'node:worker_threads';
import { exitSurely } from '../ending.js';
import { reportOf, writeReport, type ErrorReport } from './error-report.js';
import { isWithoutPlace, placedParserError } from './parser-error.js';
import { describeUnsettled, UNSETTLED_EXIT_CODE } from './unsettled.js';
import { wrapSteps } from './wrap-steps.js';

type Listener = (error: unknown) => void;

/** Marks our own listeners. A process may have several copies of this package. */
const OWN = Symbol.for('acc.uncaught');
/** The property of `process` with the file for its report. */
const REPORT_FILE = Symbol.for('acc.error-file');
/** The number of frames of an error that V8 keeps by default. Those of tfjs alone may be more. */
const FEW_FRAMES = 10;
const ENOUGH_FRAMES = 50;
/** The event before `uncaughtException`. */
const MONITOR = 'uncaughtExceptionMonitor';
const holder = process as { [REPORT_FILE]?: string };

/**
 * From now on, an error that nobody caught ends the process with a short text as the last one on the
 * screen. A process that `acc launch` started reports it to the launcher instead. Listeners of the
 * program for `uncaughtException` or `unhandledRejection` are respected. It only monitors errors: a
 * reporter of errors may end the process only if there is no other listener. Does nothing in a worker
 * thread, whose errors go to its owner.
 *
 * @param reportFile The file for the launcher. Default: the one of an earlier call.
 */
export function endByUncaught(reportFile?: string): void {
  if (!isMainThread) return;
  if (reportFile) holder[REPORT_FILE] = reportFile;
  if (process.listeners(MONITOR).some((listener) => OWN in listener)) return;
  if (Error.stackTraceLimit === FEW_FRAMES) Error.stackTraceLimit = ENOUGH_FRAMES;
  process.on(MONITOR, asOwn(onUncaught));
  process.once('beforeExit', () => {
    // Node.js chooses the exit code in a listener of its own, which is there by now. The program may have
    // chosen one before.
    if (process.exitCode === undefined) process.once('exit', tellUnsettled);
  });
}

function tellUnsettled(): void {
  if (process.exitCode !== UNSETTLED_EXIT_CODE) return;
  const text = describeUnsettled(process.argv[1]);
  tell({ code: undefined, text, whole: text });
}

/** Marks a listener that ends the process by {@link tellUncaught}. */
export function asOwn(listener: Listener): Listener {
  return Object.assign(listener, { [OWN]: true });
}

/** Whether the program has a listener for `uncaughtException`, which then decides how it goes on. */
export function hasOtherListeners(): boolean {
  return process.listenerCount('uncaughtException') > ownListeners().length;
}

/** Prints the error, or reports it to the launcher. */
export function tellUncaught(error: unknown): void {
  tell(reportOf(error));
}

/** Reports the error to the launcher. Returns false without a launcher, and if it cannot be told. */
export function reportUncaught(error: unknown): boolean {
  return toLauncher(reportOf(error));
}

function tell(report: ErrorReport): void {
  if (!toLauncher(report)) process.stderr.write(`${wrapSteps(report.text, process.stderr)}\n`);
}

function toLauncher(report: ErrorReport): boolean {
  const file = holder[REPORT_FILE];
  return file !== undefined && writeReport(file, report);
}

function ownListeners(): readonly object[] {
  return process.listeners('uncaughtException').filter((listener) => OWN in listener);
}

function onUncaught(error: unknown): void {
  // Listeners decide: those of the program, a domain, and ours that finishes the runs of trackers first.
  if (process.listenerCount('uncaughtException') > 0 || process.hasUncaughtExceptionCaptureCallback()) return;
  if (isWithoutPlace(error)) return tellWithPlace(error);
  tellUncaught(error);
  leave(error);
}

function leave(error: unknown): void {
  const { report } = process;
  if (report?.reportOnUncaughtException) report.writeReport(error as Error);
  exitSurely(1, () => undefined);
}

/** Without the place, Node.js prints the error. */
function tellWithPlace(error: SyntaxError): void {
  const text = placedParserError(error, process.argv[1]);
  if (text === undefined) return;
  tell({ code: undefined, text, whole: text });
  leave(error);
}
