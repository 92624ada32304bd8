import { createHash } from 'node:crypto';
import { execFileSync, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { locateAddon, operator, operatorWithResults, requireLibtorch, torchVersion } from '@acc/native';

const sources = join(import.meta.dirname, 'cpp');

/**
 * The library that registers the device with libtorch. It is compiled if this checkout has none for
 * the sources and the libtorch, in about 20 seconds.
 */
export function lateLibrary(): string {
  const { includeDir, libDir, version, variant } = requireLibtorch();
  const hash = createHash('sha256').update(`${version} ${variant}`);
  for (const file of readdirSync(sources).sort()) hash.update(readFileSync(join(sources, file)));
  const folder = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'acc-late-device');
  const path = join(folder, `${hash.digest('hex').slice(0, 16)}.so`);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const made = `${path}.${process.pid}`;
  const includes = [includeDir, join(includeDir, 'torch', 'csrc', 'api', 'include')];
  const flags = ['-std=c++20', '-O1', '-shared', '-fPIC', '-fvisibility=hidden', '-Wall'];
  execFileSync(
    process.env['CXX'] ?? 'g++',
    [
      ...flags,
      ...includes.flatMap((include) => ['-isystem', include]),
      ...['-o', made, join(sources, 'late.cpp'), `-L${libDir}`, '-ltorch_cpu', '-lc10'],
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  renameSync(made, path);
  return path;
}

/** Registers the device `late` with the libtorch of this process. */
export function loadLateDevice(path = process.env['ACC_LATE_DEVICE'] || lateLibrary()): void {
  torchVersion();
  const { loader } = locateAddon(requireLibtorch())!;
  const { open } = createRequire(import.meta.url)(loader) as { open(paths: readonly string[]): void };
  open([path]);
}

/** The work of this process on its devices since it began. */
export interface DeviceCounts {
  /** Operators and copies that ran on a device. */
  readonly launches: number;
  /** The number of times that the host waited for a device. */
  readonly waits: number;
  /** Copies to the host for which it waited. */
  readonly reads: number;
  /** Copies to a device. */
  readonly uploads: number;
}

export function deviceCounts(): DeviceCounts {
  using counted = operator('late::counters')();
  const [launches, waits, reads, uploads] = [...counted.read()].map(Number);
  return { launches: launches!, waits: waits!, reads: reads!, uploads: uploads! };
}

/** The counts that `run` adds. */
export async function countsOf(run: () => unknown): Promise<DeviceCounts> {
  const before = deviceCounts();
  await run();
  const after = deviceCounts();
  const names = ['launches', 'waits', 'reads', 'uploads'] as const;
  return Object.fromEntries(
    names.map((name) => [name, after[name] - before[name]]),
  ) as unknown as DeviceCounts;
}

/**
 * From now on, work runs on the threads of streams. Each piece first waits for a random time of up to
 * `longestMicroseconds`; with 0, it runs at once, on the thread that asks for it.
 */
export function setDelays(seed: number, longestMicroseconds: number): void {
  operatorWithResults('late::set_delays')(seed, longestMicroseconds);
}

/** Runs a program of this folder in a process of its own, which is ended if it hangs. */
export function runProgram(name: string, ...given: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, ['--import', 'tsx', join(import.meta.dirname, name), ...given], {
    encoding: 'utf8',
    timeout: 240_000,
  });
}
