/** The options of an {@link AccError}. */
export interface AccErrorOptions {
  /** The next step for the user: a command or a change, in one sentence. */
  readonly help?: string;
  /** The underlying error, stored as `error.cause`. */
  readonly cause?: unknown;
  /** Machine-readable facts, for example each rank's shape. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * The only error class. `code` is stable, and is what programs and tests compare. The message
 * states the place, the actual and the expected value, and after a line break the next step.
 */
export class AccError extends Error {
  override readonly name = 'AccError';
  readonly code: string;
  readonly help: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, options: AccErrorOptions = {}) {
    super(
      options.help ? `${message}\n→ ${options.help}` : message,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.code = code;
    this.help = options.help;
    this.details = options.details ?? {};
  }
}

/**
 * Whether a value is an {@link AccError}, including one of another copy of this package. With
 * `code`, only with that code.
 */
export function isAccError(error: unknown, code?: string): error is AccError {
  if (!(error instanceof Error) || error.name !== 'AccError') return false;
  return code === undefined || (error as AccError).code === code;
}
