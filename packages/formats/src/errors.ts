import { AccError, isAccError } from '@acc/contract';

/** `ACC_DATA_NOT_FOUND`: there is no such file, or no file matches a pattern. */
export function notFound(what: string, help: string, cause?: unknown): AccError {
  return new AccError('ACC_DATA_NOT_FOUND', `${what}.`, { help, cause });
}

/** `ACC_DATA_READ`: a disk or a server failed, or gave other bytes than were asked for. */
export function cannotRead(name: string, reason: string, options: { help?: string; cause?: unknown } = {}) {
  return new AccError('ACC_DATA_READ', `${name} cannot be read: ${reason}.`, {
    help: 'Check that this user may read it, and the disk or server that holds it.',
    ...options,
    details: { file: name },
  });
}

/** `ACC_DATA_CHANGED`: the file is another one than at the start of the job, or than its index tells. */
export function changed(name: string, what: string): AccError {
  return new AccError('ACC_DATA_CHANGED', `${name} changed while it was in use: ${what}.`, {
    help: 'Do not change data while jobs read it. Start the job again; a new index is made.',
    details: { file: name },
  });
}

/** Where a sample is stored. */
export interface SamplePlace {
  /** The path or address of the file. */
  readonly file: string;
  /** The number of the sample in that file, from 0. */
  readonly row: number;
  /** The format's word for a sample: `record`, `line`, `row`. */
  readonly unit: string;
}

export function describePlace({ file, unit, row }: SamplePlace): string {
  return `${file}, ${unit} ${row}`;
}

/** `ACC_DATA_FORMAT`: the bytes of a file are not those of its format, or were cut off or damaged. */
export function badFormat(
  where: string | SamplePlace,
  what: string,
  options: FormatErrorOptions = {},
): AccError {
  return placed('ACC_DATA_FORMAT', where, what, { help: 'Fetch or write the file again.', ...options });
}

/** `ACC_DATA_COLUMN`: a sample lacks a feature or column, or its value has another type or length. */
export function badColumn(
  where: string | SamplePlace,
  what: string,
  options: FormatErrorOptions = {},
): AccError {
  const help = 'Correct the sample, or what the dataset reads of it.';
  return placed('ACC_DATA_COLUMN', where, what, { help, ...options });
}

/** `ACC_DATA_PACKAGE`: an optional package is needed and is not installed. */
export function packageMissing(name: string, purpose: string, cause: unknown): AccError {
  return new AccError('ACC_DATA_PACKAGE', `${purpose} needs the package ${name}, which is not installed.`, {
    help: `npm install ${name}`,
    cause,
  });
}

interface FormatErrorOptions {
  readonly help?: string;
  readonly cause?: unknown;
}

function placed(
  code: string,
  where: string | SamplePlace,
  what: string,
  { help, cause }: FormatErrorOptions & { readonly help: string },
): AccError {
  const isPlace = typeof where !== 'string';
  const details = isPlace ? { file: where.file, row: where.row } : { file: where };
  return new AccError(code, `${isPlace ? describePlace(where) : where}: ${what}.`, { help, cause, details });
}

/** Rethrows errors of ours, and converts all others. */
export function asReadError(name: string, cause: unknown): AccError {
  if (isAccError(cause)) return cause;
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return notFound(
      `There is no file ${name}`,
      'Check the path. Relative paths start at the working directory.',
      cause,
    );
  }
  return cannotRead(name, message, { cause });
}
