import { AccError } from '@acc/contract';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { diskFull } from './disk.js';
import type { Platform } from './platform.js';
import { pipPlatformTag, pipRequirement } from './sources.js';

const OUTPUT_LIMIT_BYTES = 16 * 1024 * 1024;

/** The Python version whose wheel is used if there is none for `pip`'s own Python. */
const FALLBACK_PYTHON = '3.11';

export interface PipOptions {
  readonly platform: Platform;
  readonly version: string;
  /** Does not use the network: only places on this machine that `pip` is configured to use. */
  readonly offline: boolean;
  /** Receives what pip prints, as it comes. */
  readonly onOutput?: (text: string) => void;
}

/** A wheel for `pip` to fetch. */
export interface WheelRequest {
  readonly requirement: string;
  readonly offline: boolean;
  /**
   * The choices of Python and platform to try, as options of `pip download`. The next is tried only
   * if there is no wheel for the one before.
   */
  readonly attempts: readonly (readonly string[])[];
  /** The next step if the wheel cannot be fetched. */
  readonly help: string;
  /** Receives what pip prints, as it comes. */
  readonly onOutput?: ((text: string) => void) | undefined;
}

/**
 * Lets `python3 -m pip` fetch torch's CPU wheel into the empty folder `folder`.
 *
 * @returns The path of the wheel.
 * @throws AccError `ACC_DOWNLOAD_UNREACHABLE`, `ACC_DISK_FULL`.
 */
export function downloadWheelByPip(
  folder: string,
  { platform, version, offline, onOutput }: PipOptions,
): Promise<string> {
  const forPython = ['--implementation', 'cp', '--python-version', FALLBACK_PYTHON];
  return downloadWheel(folder, {
    requirement: pipRequirement(platform, version),
    ...{ offline, onOutput },
    attempts: [[], [...forPython, '--platform', pipPlatformTag(platform)]],
    help: 'Check the network and pip, or give a file: npx acc setup --from <file>',
  });
}

/**
 * Lets `python3 -m pip` fetch a wheel into the empty folder `folder`. The configuration of `pip`
 * (indexes, mirrors, proxies, find-links) determines the source, and `pip` verifies the hash of the
 * index.
 *
 * @returns The path of the wheel.
 * @throws AccError `ACC_DOWNLOAD_UNREACHABLE`, `ACC_DISK_FULL`.
 */
export async function downloadWheel(folder: string, request: WheelRequest): Promise<string> {
  const { requirement, offline, attempts, help, onOutput } = request;
  const common = ['--no-deps', '--only-binary=:all:', ...(offline ? ['--no-index'] : []), '-d', folder];
  let output = '';
  for (const extra of attempts) {
    const result = await runPip(['download', ...common, ...extra, requirement], onOutput);
    output = result.output;
    // A failed pip may have left an incomplete wheel.
    const wheel = result.ok && readdirSync(folder).find((name) => name.endsWith('.whl'));
    if (wheel) return join(folder, wheel);
    if (/No space left on device/i.test(output)) throw diskFull(folder, new Error(output));
    if (!/No matching distribution/i.test(output)) break;
  }
  const reason = output.trim().split('\n').at(-1);
  throw new AccError('ACC_DOWNLOAD_UNREACHABLE', `pip download ${requirement}: ${reason}`, {
    help,
    details: { requirement, output },
  });
}

/** The file that pip says it downloads, with its size: `torch-2.13.0.whl (190.1 MB)`. */
export function downloadIn(output: string): string | undefined {
  const [, file, size] = /^ *Downloading (\S+) (\([\d.]+ ?[kMG]?B\))/m.exec(output) ?? [];
  return file && `${decodeURIComponent(file.split('/').at(-1)!)} ${size}`;
}

/** Runs pip and returns what it wrote to stdout and stderr. */
export function runPip(
  args: readonly string[],
  onOutput: (text: string) => void = () => undefined,
): Promise<{ ok: boolean; output: string }> {
  const all = ['-m', 'pip', '--disable-pip-version-check', '--no-input', ...args];
  return new Promise((resolve) => {
    const child = execFile('python3', all, { maxBuffer: OUTPUT_LIMIT_BYTES }, (error, stdout, stderr) => {
      const missing = (error as NodeJS.ErrnoException | null)?.code === 'ENOENT';
      resolve({ ok: !error, output: missing ? 'no python3 on the PATH' : `${stdout}\n${stderr}` });
    });
    child.stdout?.on('data', (text: string | Buffer) => onOutput(String(text)));
  });
}
