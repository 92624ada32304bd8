import { fork } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const worker = join(dirname(fileURLToPath(import.meta.url)), 'worker.mjs');

/** tfjs-core's own time limit for an asynchronous spec. */
const SPEC_TIMEOUT_MS = 20_000;
/**
 * If nothing is reported for this long, a spec blocks the thread, so that jasmine's own limit has
 * no effect.
 */
const SILENCE_MS = 90_000;

/**
 * Runs the specs of a bundle in a separate process and waits for its end, also after a crash.
 *
 * @param {{bundle: string, setup: object, filter?: string, logPath: string}} job `setup` is passed
 * to `defineSpecs`. The output of the specs is written to `logPath`.
 * @param {(done: number, total: number) => void} onProgress Called after each spec that ran.
 * @returns `names` of all specs; `results` by name, without excluded ones; `outside`: failures of
 * beforeAll, afterAll and load; `crash`: the reason if the process ended early; `unavailable`: the
 * reason if no spec could be defined.
 */
export async function runSpecs(job, onProgress) {
  const run = { names: [], results: new Map(), outside: [], maxRssBytes: 0 };
  const { logPath, ...rest } = job;
  mkdirSync(dirname(logPath), { recursive: true });
  const log = openSync(logPath, 'w');
  const child = fork(worker, [JSON.stringify({ ...rest, specTimeoutMs: SPEC_TIMEOUT_MS })], {
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  const stopForwarding = endWith(child);

  let current = 'the load of the specs';
  let isFinished = false;
  let isSilent = false;
  const onSilence = () => {
    isSilent = true;
    child.kill('SIGKILL');
  };
  let timer = setTimeout(onSilence, SILENCE_MS);
  child.on('message', (message) => {
    clearTimeout(timer);
    timer = setTimeout(onSilence, SILENCE_MS);
    if (message.type === 'started') current = `'${message.name}'`;
    if (message.type === 'end') isFinished = true;
    record(run, message);
    if (message.type === 'spec') onProgress(run.results.size, run.names.length);
  });

  const ended = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`));
  }).finally(() => {
    clearTimeout(timer);
    stopForwarding();
  });
  if (!isFinished && run.unavailable === undefined) {
    const why = isSilent ? `was ended after ${SILENCE_MS / 1000} s of silence` : `ended with ${ended}`;
    run.crash = { name: `the process ${why} in ${current}`, messages: [tail(logPath)] };
  }
  return run;
}

function record(run, message) {
  switch (message.type) {
    case 'defined':
      run.names = message.names;
      break;
    case 'spec':
      if (message.status !== 'excluded') run.results.set(message.name, message);
      break;
    case 'outside':
      run.outside.push(message);
      break;
    case 'unavailable':
      run.unavailable = message.message;
      break;
    case 'end':
      run.maxRssBytes = message.maxRssBytes;
      if (message.incompleteReason)
        run.outside.push({ name: 'the run', messages: [message.incompleteReason] });
      break;
  }
}

/** Kills the worker if a signal ends this process. */
function endWith(child) {
  const handlers = [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ].map(([signal, code]) => {
    const handler = () => {
      child.kill('SIGKILL');
      process.exit(code);
    };
    process.once(signal, handler);
    return [signal, handler];
  });
  return () => handlers.forEach(([signal, handler]) => process.off(signal, handler));
}

function tail(path, lines = 15) {
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
}
