import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A process that takes longer is taken for hung. */
const TIMEOUT_MS = 10 * 60_000;
/** How long a process that is asked to end may take. */
const GRACE_MS = 5000;

/**
 * Runs a command to its end. Its output is shown only when it fails.
 *
 * @param env Added to this process's environment.
 * @param signal Ends the command when it is aborted.
 * @returns What it printed on standard output.
 * @throws Error when it can't be started, exits with another code than 0, or takes longer than ten minutes; the reason of
 *   `signal`, once the command has ended.
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

/** Its exit code, or the name of the signal that ended it. */
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
 * Runs several at once. When one fails, the others are ended.
 *
 * @param starts Each gets a signal for what it runs.
 * @returns What each gave.
 * @throws What the first that failed threw, when all have ended; the reason of `signal`.
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
 * Runs a command that takes one argument, the path of a JSON file with `job`, and writes its result to the job's
 * `resultPath`.
 *
 * @param run Gets the path of the job's file.
 * @returns The result, parsed.
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
