import { SAVED_EXIT_CODE } from '@acc/contract';
import type { RankExit } from './rank-process.js';
import { KEPT_DAYS } from './error-folder.js';
import { isConsequence, tellsOf, type FailedRank, type Failure, type ObservedRank } from './root-cause.js';
import { shorten } from './shorten.js';
import { failedByTopLevelAwait, TOP_LEVEL_AWAIT_HELP } from './top-level-await.js';

/** The next step after SIGKILL. */
export const OUT_OF_MEMORY_HELP = 'Linux may have killed it because memory ran out; see: dmesg | tail';

/** The warning with which Node.js says that an await never settles. A program may have the exit code, too. */
const UNSETTLED = /^Warning: Detected unsettled top-level await/;
const NEVER_SETTLED =
  '→ An await outside of a function waits for a promise that nothing settles any more: no timer, file or connection is left. See that it resolves or rejects.';

/** The line with the file of `keepWholeErrors`. */
const ALL_ERRORS = `all errors, kept for ${KEPT_DAYS} days`;

/** The number of other errors that are named. */
const MOST_OTHERS = 3;

export interface AboutJob {
  readonly worldSize: number;
  /** The program of the ranks. */
  readonly script: string;
  /** The file with the whole errors. Undefined: the screen has all that there is. */
  readonly wholePath?: string | undefined;
}

/** The line that @acc/native writes on a rank that waits long in a collective. */
const LONG_WAIT = /^acc: rank .* has waited \d+ s for rank/;

/** Says again who waits for whom. A rank whose wait has ended has written another line since. */
export function describeWaits(ranks: readonly Pick<ObservedRank, 'stderrTail'>[]): string {
  const last = ranks.map(({ stderrTail }) => stderrTail.at(-1) ?? '');
  return last
    .filter((line) => LONG_WAIT.test(line))
    .map((line) => `${line}\n`)
    .join('');
}

/** The message while the other ranks are being ended, which may take as long as their grace period. */
export function describeEnding({ exit, leavers }: Failure): string {
  const what = exit.exitCode === SAVED_EXIT_CODE ? 'has saved a checkpoint' : 'failed';
  const cause = leavers?.length
    ? `${listRanks(leavers)} ${leftEarly(leavers, exit)}`
    : `rank ${exit.rank} ${what}`;
  return `acc: ${cause}, ending the other ranks\n`;
}

/** The message for stderr about the rank that ended the job. Its last lines are the error. */
export function describeFailure(failure: Failure, { worldSize, script, wholePath }: AboutJob): string {
  const { exit, rank } = failure;
  const { exitCode, signal } = exit;
  const alike = failure.others.filter((other) => haveSameError(other, failure));
  const who = `acc: ${nameRanks([exit, ...alike.map((other) => other.exit)], worldSize)}`;
  if (exitCode === SAVED_EXIT_CODE)
    return `${who} was asked to end, and saved a checkpoint (exit code ${exitCode}).\n`;
  const isAlone = alike.length + 1 === worldSize;
  const how = isByProgram(failure) ? `, by process.exit(${exitCode}) or process.exitCode` : '';
  const headline = `${who} ${howItEnded(exit)}${how}.${isAlone ? '' : ' The other ranks were ended.'}`;
  const lines = failure.leavers?.length ? aboutLeavers(failure.leavers, exit, worldSize) : [headline];
  const error = rank.error?.text.split('\n') ?? uncaughtError(rank.stderrTail);
  const shown = error ?? rank.stderrTail;
  lines.push(...otherErrors(failure, alike));
  if (wholePath) lines.push(`  ${rank.logPath ? 'all of its stderr' : ALL_ERRORS}: ${wholePath}`);
  if (shown.length > 0) {
    lines.push(error ? `  ${alike.length > 0 ? 'their' : 'its'} error:` : '  the end of its stderr:');
    lines.push(...shorten(shown).map((line) => `    ${line}`.trimEnd()));
  }
  if (signal === 'SIGKILL') {
    lines.push(`→ ${OUT_OF_MEMORY_HELP}`);
  }
  if (!error && shown.some((line) => UNSETTLED.test(line))) lines.push(NEVER_SETTLED);
  if (exitCode === 1 && failedByTopLevelAwait(script, shown)) lines.push(TOP_LEVEL_AWAIT_HELP);
  return `${lines.join('\n')}\n`;
}

/**
 * The errors of ranks that did not end the job, each once, without those that are consequences.
 *
 * @param when The rest of the sentence that a rank failed.
 * @param wholePath The file with the whole errors. Undefined: the screen has all that there is.
 */
export function describeLateErrors(
  ranks: readonly Pick<ObservedRank & RankExit, 'rank' | 'error' | 'stderrTail'>[],
  when: string,
  wholePath?: string,
): string {
  const own = ranks.filter((rank) => !isConsequence({ rank }));
  const texts = new Map(own.flatMap(({ rank, error }) => (error ? [[error.text, rank] as const] : [])));
  const where = wholePath ? `  ${ALL_ERRORS}: ${wholePath}\n` : '';
  return Array.from(texts, ([text, rank], i) => {
    const lines = shorten(text.split('\n')).map((line) => `    ${line}\n`);
    const header = `acc: rank ${rank} failed ${when}:\n`;
    return `${header}${i === 0 ? where : ''}${lines.join('')}`;
  }).join('');
}

/** Exit codes of Node.js itself, for example for a top-level await that never ends. */
const OF_NODE = [5, 6, 7, 9, 10, 12, 13];

/** Whether the program chose the exit code: an error would have been reported, or is in stderr. */
function isByProgram({ exit, rank }: FailedRank): boolean {
  const isPlain = rank.isReporting && exit.signal === null && !OF_NODE.includes(exit.exitCode);
  if (!isPlain || rank.error || uncaughtError(rank.stderrTail)) return false;
  return !rank.stderrTail.some((line) => /\bACC_|\bacc: /.test(line));
}

/** The rest of a sentence about a rank that failed. */
export function howItEnded({ signal, exitCode }: RankExit): string {
  if (signal) return `was killed by ${signal} (exit code ${exitCode})`;
  return exitCode === 0 ? 'failed, but exited with code 0' : `failed with exit code ${exitCode}`;
}

/** The first lines if a rank ended without an error, and others failed because they needed it. */
function aboutLeavers(leavers: readonly RankExit[], exit: RankExit, worldSize: number): string[] {
  return [
    `acc: ${nameRanks(leavers, worldSize)} ${leftEarly(leavers, exit)}. The other ranks were ended.`,
    '  Every rank must reach endTraining(): end none before by process.exit() or an early return.',
    `  rank ${exit.rank} failed with exit code ${exit.exitCode} as a consequence`,
  ];
}

/** @param exit The exit of a rank that needed them. */
function leftEarly(leavers: readonly RankExit[], exit: RankExit): string {
  return `exited with code 0 while rank ${exit.rank} still needed ${leavers.length > 1 ? 'them' : 'it'}`;
}

function haveSameError({ exit, rank }: FailedRank, root: FailedRank): boolean {
  if (exit.exitCode !== root.exit.exitCode) return false;
  if (tellsOf({ rank }, root)) return true;
  if (rank.error || root.rank.error) return rank.error?.text === root.rank.error?.text;
  const error = uncaughtError(rank.stderrTail);
  return error !== undefined && error.join('\n') === uncaughtError(root.rank.stderrTail)?.join('\n');
}

function nameRanks(exits: readonly RankExit[], worldSize: number): string {
  return `${listRanks(exits)} of ${worldSize}${exits.length > 1 ? '' : ` (pid ${exits[0]!.pid})`}`;
}

function listRanks(exits: readonly RankExit[]): string {
  const ranks = exits.map(({ rank }) => rank).sort((a, b) => a - b);
  return ranks.length > 1 ? `ranks ${ranks.slice(0, -1).join(', ')} and ${ranks.at(-1)}` : `rank ${ranks[0]}`;
}

/** A line for each rank that failed by another error, without those that are consequences. */
function otherErrors({ others }: Failure, alike: readonly FailedRank[]): string[] {
  const different = others.filter((other) => !alike.includes(other) && !isConsequence(other));
  const lines = different.slice(0, MOST_OTHERS).map((other) => `  ${otherError(other)}`);
  const more = different.length - lines.length;
  return more > 0 ? [...lines, `  ${more} more ranks failed, too`] : lines;
}

function otherError({ exit: { rank: number, signal, exitCode }, rank }: FailedRank): string {
  const error = rank.error?.text.split('\n') ?? uncaughtError(rank.stderrTail);
  if (!error && signal === 'SIGKILL')
    return `rank ${number} was killed by SIGKILL, too. ${OUT_OF_MEMORY_HELP}`;
  if (!error && signal) return `rank ${number} was killed by ${signal}, too`;
  if (!error) return `rank ${number} failed with exit code ${exitCode}, too`;
  const place = error.find((line) => /^\s+at /.test(line));
  return `rank ${number} failed, too: ${shorten([[error[0]?.replace(/:$/, ''), place?.trim()].filter(Boolean).join(' ')]).join('')}`;
}

/**
 * The lines of an error that nobody caught, as Node.js prints it: without the line of source above it,
 * which ends with a caret, and the version of Node.js below. Undefined if stderr does not end so.
 */
export function uncaughtError(stderr: readonly string[]): string[] | undefined {
  const last = stderr.findLastIndex((line) => /^Node\.js v\d/.test(line));
  const caret = stderr.slice(0, Math.max(last, 0)).findLastIndex((line) => /^\s*\^+\s*$/.test(line));
  if (caret < 0 || stderr.slice(last + 1).some((line) => line.trim() !== '')) return undefined;
  // Only the place above it tells which line an error of the parser is about.
  const isSyntax = stderr.slice(caret + 1, last).some((line) => line.startsWith('SyntaxError: '));
  const lines = stderr.slice(isSyntax ? Math.max(0, caret - 2) : caret + 1, last);
  const isText = (line: string) => line.trim() !== '';
  return lines.slice(lines.findIndex(isText), lines.findLastIndex(isText) + 1);
}
