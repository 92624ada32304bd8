/**
 * The oldest and newest torch release lines, `[major, minor]`, for which the addon is built and
 * tested.
 */
const OLDEST = [2, 11] as const;
const NEWEST = [2, 15] as const;

/** All tested release lines, oldest first: `['2.11', …]`. One prebuilt addon serves one line. */
export const RELEASE_LINES: readonly string[] = Array.from(
  { length: NEWEST[1] - OLDEST[1] + 1 },
  (_, i) => `${OLDEST[0]}.${OLDEST[1] + i}`,
);

/** The version that `installLibtorch` fetches by default. */
export const DEFAULT_VERSION = '2.13.0';

/** The tested versions, for messages. */
export const SUPPORTED_RANGE = `${OLDEST.join('.')} to ${NEWEST.join('.')}`;

/** The parts of a torch version such as `2.13.0+cpu`. */
export interface TorchVersion {
  /** The version without the local label: `2.13.0`. */
  readonly version: string;
  /** The label after the plus sign: `cpu`, `cu130`. */
  readonly label: string | undefined;
}

/** Parses a version such as `2.13.0+cpu`. Undefined if it is not a version. */
export function parseTorchVersion(text: string): TorchVersion | undefined {
  const match = /^(\d+\.\d+[\w.]*)(?:\+([\w.]+))?$/.exec(text.trim());
  return match ? { version: match[1]!, label: match[2] } : undefined;
}

/** `2.13.0` → `2.13`: the unit in which torch's C++ interface changes. */
export function releaseLine(version: string): string {
  return version.split('.').slice(0, 2).join('.');
}

/** Whether an addon can be built for a version: tested lines, and newer ones of the same major version. */
export function isSupportedVersion(version: string): boolean {
  const line = lineOf(version);
  return line[0] === NEWEST[0] && compare(line, OLDEST) >= 0;
}

/** Whether a version belongs to a release line that this release is tested with. */
export function isTestedVersion(version: string): boolean {
  return isSupportedVersion(version) && compare(lineOf(version), NEWEST) <= 0;
}

function lineOf(version: string): readonly number[] {
  return version
    .split('.')
    .slice(0, 2)
    .map((part) => Number.parseInt(part, 10));
}

/** Orders versions numerically: `2.9.0` before `2.13.0`. */
export function compareVersions(a: string, b: string): number {
  const numbers = (version: string) => version.split('.').map((part) => Number.parseInt(part, 10) || 0);
  return compare(numbers(a), numbers(b));
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
