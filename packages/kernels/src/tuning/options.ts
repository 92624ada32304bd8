import { AccError } from '@acc/contract';
import { environment } from '@acc/platform';

export interface TuningOptions {
  /** The candidate to use for all shapes, by family. */
  readonly pins: Readonly<Record<string, string>>;
  /** Whether to print each choice to standard error when it is made. */
  readonly print: boolean;
}

let fromEnvironment: TuningOptions | undefined;

/**
 * The options in `ACC_KERNELS_TUNE`, which is read once: a comma-separated list of `print` and of
 * pins, `family=candidate`.
 *
 * @throws AccError `ACC_INVALID_OPTION`.
 */
export function tuningOptions(): TuningOptions {
  fromEnvironment ??= parseTuning(environment()['ACC_KERNELS_TUNE'] ?? '');
  return fromEnvironment;
}

/** @throws AccError `ACC_INVALID_OPTION`. */
export function parseTuning(text: string): TuningOptions {
  const pins: Record<string, string> = {};
  let print = false;
  for (const item of text.split(',').map((part) => part.trim())) {
    if (item === '') continue;
    const [family, candidate, ...rest] = item.split('=');
    if (item === 'print') print = true;
    else if (family && candidate && rest.length === 0) pins[family] = candidate;
    else {
      throw new AccError(
        'ACC_INVALID_OPTION',
        `ACC_KERNELS_TUNE: '${item}' is neither 'print' nor of the form family=candidate.`,
        {
          help: 'For example: ACC_KERNELS_TUNE=print,matmul=onednn. `print` shows families and their candidates.',
        },
      );
    }
  }
  return { pins, print };
}
