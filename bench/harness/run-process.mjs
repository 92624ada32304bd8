import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A process that takes longer is taken for hung. */
const TIMEOUT_MS = 10 * 60_000;

/**
 * Runs a command to its end. Its output is shown only when it fails.
 *
 * @param env Added to this process's environment.
 * @returns What it printed on standard output.
 * @throws Error when it can't be started, exits with another code than 0, or takes longer than ten minutes.
 */
export async function runProcess(command, args, env = {}) {
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
  const [code, signal] = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (...ending) => resolve(ending));
  });
  if (code === 0) return stdout;
  throw new Error(`${output}\n${[command, ...args].join(' ')}: ${signal ?? `exit code ${code}`}`);
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
