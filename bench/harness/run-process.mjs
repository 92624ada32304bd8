import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A process that takes longer counts as hung. */
const TIMEOUT_MS = 10 * 60_000;
/** The time that a process may take to end after it was asked to. */
const GRACE_MS = 5000;

/**
 * Runs a command to its end. Its output is shown only if it fails.
 *
 * @param env Additional variables.
 * @param signal Ends the command when it is aborted.
 * @returns Its standard output.
 * @throws Error if it cannot be started, exits with a code other than 0, or takes longer than ten
 * minutes. After an abort, the reason of `signal`.
 */
export async function runProcess(command, args, env = {}, signal = undefined) {
  signal?.throwIfAborted();
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
  });
  let stdout = '';
  let output = '';
  child.stdout.on('data', (data) => {
    stdout += data;
    output += data;
  });
  child.stderr.on('data', (data) => (output += data));
  const [code, ending] = await endOf(child, signal);
  signal?.throwIfAborted();
  if (code === 0) return stdout;
  throw new Error(`${output}\n${[command, ...args].join(' ')}: ${ending ?? `exit code ${code}`}`);
}

/** The exit code, or the name of the signal that ended the process. */
function endOf(child, signal) {
  return new Promise((resolve, reject) => {
    let killing;
    const stop = () => {
      child.kill();
      killing = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
    };
    const settle = (how) => {
      clearTimeout(killing);
      signal?.removeEventListener('abort', stop);
      how();
    };
    signal?.addEventListener('abort', stop, { once: true });
    child.once('error', (error) => settle(() => reject(error)));
    child.once('close', (...ending) => settle(() => resolve(ending)));
  });
}

/**
 * Runs several commands at once. If one fails, the others are ended.
 *
 * @param starts Each gets a signal that it passes on.
 * @returns Their results.
 * @throws The error of the first that failed, after all have ended; or the reason of `signal`.
 */
export async function runTogether(starts, signal) {
  const failure = new AbortController();
  const either = signal ? AbortSignal.any([signal, failure.signal]) : failure.signal;
  const endings = await Promise.allSettled(
    starts.map(async (start) => {
      try {
        return await start(either);
      } catch (error) {
        failure.abort(error);
        throw error;
      }
    }),
  );
  either.throwIfAborted();
  return endings.map(({ value }) => value);
}

/**
 * Runs a command whose argument is the path of a JSON file with `job`. The command writes its
 * result to the job's `resultPath`.
 *
 * @param run Gets the path of the job's file.
 * @returns The parsed result.
 */
export async function runJob(job, run) {
  const folder = mkdtempSync(join(tmpdir(), 'acc-bench-'));
  try {
    const resultPath = join(folder, 'result.json');
    const jobPath = join(folder, 'job.json');
    writeFileSync(jobPath, JSON.stringify({ ...job, resultPath }));
    await run(jobPath);
    return JSON.parse(readFileSync(resultPath, 'utf8'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
