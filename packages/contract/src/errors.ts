/** What an {@link AccError} carries beside its message. */
export interface AccErrorOptions {
  /** What to do next: a command or a change, in one sentence. */
  readonly help?: string;
  /** The error underneath, kept as `error.cause`. */
  readonly cause?: unknown;
  /** Machine-readable facts, for instance each rank's shape. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * The one error class. `code` is stable and is what programs and tests compare; the message says where it
 * happened, what came, what was expected and, after a line break, what to do next.
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

/** True for an {@link AccError}, also one of another copy of this package. With `code`, only for that code. */
export function isAccError(error: unknown, code?: string): error is AccError {
  if (!(error instanceof Error) || error.name !== 'AccError') return false;
  return code === undefined || (error as AccError).code === code;
}
