import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { scriptArguments } from '@acc/transpile';

const acc = fileURLToPath(new URL('../../packages/cli/bin/acc.js', import.meta.url));
const script = fileURLToPath(new URL('./ranks/tracked.ts', import.meta.url));
const program = await scriptArguments(script);

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
  readonly projectDir: string;
  /** The lines of the tracker's file. */
  readonly lines: Record<string, unknown>[];
}

/** Runs the training, and sends it the signals when it waits. */
async function train(
  way: string,
  { signals = [] as NodeJS.Signals[], projectDir = newFolder(), earlier = '' } = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [...program, way, projectDir, earlier], {
    env: { ...process.env, OMP_NUM_THREADS: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    if (!chunk.includes('waiting')) return;
    // Signals are sent later, after a loop that blocks the event loop was detected.
    setTimeout(() => signals.forEach((signal) => child.kill(signal)), way === 'busy' ? 2_500 : 300);
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { code, signal, output, projectDir, lines: linesOf(projectDir) };
}

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'acc-endings-'));
}

/** The lines of the first run. */
function linesOf(projectDir: string): Record<string, unknown>[] {
  const project = join(projectDir, 'runs', 'endings');
  const [run] = readdirSync(project).sort();
  const text = readFileSync(join(project, run!, 'metrics.jsonl'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('a run is finished', () => {
  it.each([
    ['end', 'completed', 0],
    ['fail', 'failed', 0],
    ['leave', 'completed', 0],
    ['throw', 'failed', 1],
    ['reject', 'failed', 1],
    ['exit', 'failed', 7],
  ])('by %s: as %s, exit code %i', async (way, status, code) => {
    const ended = await train(way);
    expect(ended.code, ended.output).toBe(code);
    expect(ended.lines.at(-1)).toMatchObject({ _status: status });
    expect(ended.lines.filter((line) => 'loss' in line).map((line) => line['_step'])).toEqual([
      1, 2, 3, 4, 5,
    ]);
    if (way === 'throw') expect(ended.output).toContain('the loop is broken');
  });

  it.each([
    ['SIGINT', 'wait'],
    ['SIGTERM', 'wait'],
    ['SIGINT', 'epochs'],
  ] as const)('by %s in the loop %s: as aborted, and the signal ends the process', async (signal, way) => {
    // Signals arrive twice, from a terminal and from a launcher.
    const ended = await train(way, { signals: [signal, signal] });
    expect(ended.signal, ended.output).toBe(signal);
    expect(ended.lines.at(-1)).toMatchObject({ _status: 'aborted' });
  });
});

it('on two ranks by Ctrl-C while they wait for each other, as aborted', async () => {
  const projectDir = newFolder();
  const launch = [acc, 'launch', '-n', '2', '--threads', '1', script, 'epochs', projectDir];
  // A group of its own, which gets the signal as that of a terminal does.
  const launcher = spawn(process.execPath, launch, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void launcher.kill('SIGKILL'));
  let output = '';
  launcher.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  launcher.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await vi.waitUntil(() => output.match(/waiting/g)?.length === 2, { timeout: 240_000 });
  process.kill(-launcher.pid!, 'SIGINT');
  await once(launcher, 'close');
  expect(linesOf(projectDir).at(-1), output).toMatchObject({ _status: 'aborted' });
});

describe('a run that an earlier Accelerator left open is finished, too', () => {
  it('by an error, which ends the process', async () => {
    const earlier = newFolder();
    const ended = await train('throw', { earlier });
    expect(ended.code, ended.output).toBe(1);
    expect(ended.output.match(/the loop is broken/g)).toHaveLength(1);
    for (const lines of [ended.lines, linesOf(earlier)])
      expect(lines.at(-1)).toMatchObject({ _status: 'failed' });
  });

  it('by a signal, which ends the process', async () => {
    const earlier = newFolder();
    const ended = await train('wait', { earlier, signals: ['SIGTERM', 'SIGTERM'] });
    expect(ended.signal, ended.output).toBe('SIGTERM');
    for (const lines of [ended.lines, linesOf(earlier)])
      expect(lines.at(-1)).toMatchObject({ _status: 'aborted' });
  });
});

it('by a signal handler of the program, which decides', async () => {
  const ended = await train('handle', { signals: ['SIGTERM'] });
  expect(ended.code, ended.output).toBe(3);
  expect(ended.lines.at(-1)).toMatchObject({ _status: 'aborted' });
});

it('by Ctrl-C even if a loop blocks the event loop, and the next run finishes the run', async () => {
  const ended = await train('busy', { signals: ['SIGINT'] });
  expect(ended.signal, ended.output).toBe('SIGINT');
  expect(ended.lines.at(-1)).toHaveProperty('loss');
  await train('end', { projectDir: ended.projectDir });
  expect(linesOf(ended.projectDir).at(-1)).toMatchObject({ _status: 'failed' });
});

it('by the next run as failed, if the process is killed', async () => {
  const ended = await train('wait', { signals: ['SIGKILL'] });
  expect(ended.signal).toBe('SIGKILL');
  await train('end', { projectDir: ended.projectDir });
  expect(linesOf(ended.projectDir).at(-1)).toMatchObject({ _status: 'failed' });
});
