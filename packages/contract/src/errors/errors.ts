import { programStack } from './program-frames.js';

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
 * states the place, the actual and the expected value, and after a line break the next step. `stack` has
 * the program's own frames. The environment variable `ACC_STACK=1` keeps all frames, and shows `help`
 * and `details` where an error is printed.
 */
export class AccError extends Error {
  override readonly name: string = 'AccError';
  readonly code: string;
  declare readonly help: string | undefined;
  declare readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, options: AccErrorOptions = {}) {
    const { help, details = {}, cause } = options;
    // The message may be that of another error, with a next step of its own.
    super(
      help ? `${message.replace(/\n→ [^\n]*$/, '')}\n→ ${help}` : message,
      cause === undefined ? undefined : { cause },
    );
    this.code = code;
    const enumerable = showsWholeStack();
    const hidden = { writable: true, configurable: true, enumerable };
    Object.defineProperties(this, {
      help: { value: help, ...hidden },
      details: { value: details, ...hidden },
    });
    const { stack } = this;
    // Browsers print the name and the message, and write no name of ours into the stack.
    if (typeof stack !== 'string' || !stack.startsWith(this.name)) this.name += ` [${code}]`;
    if (typeof stack !== 'string') return;
    const short = enumerable ? stack : programStack(stack, this.message);
    this.stack = short.replace(/^(?:Acc)?Error(?=: )/, `AccError [${code}]`);
  }

  /** For logs in JSON. A cause is not part of it. */
  toJSON(): object {
    const { code, message, help, details } = this;
    return { name: 'AccError', code, message, help, details };
  }
}

/** The message of an {@link AccError} without its next step, for a sentence that continues after it. */
export function withoutHelp(message: string): string {
  return message.split('\n→ ', 1)[0]!;
}

/** Whether errors are printed with all frames: `ACC_STACK=1`. */
export function showsWholeStack(): boolean {
  const { process } = globalThis as { process?: { readonly env?: Readonly<Record<string, string>> } };
  return process?.env?.['ACC_STACK'] === '1';
}

/**
 * Whether a value is an {@link AccError}, including one of another copy of this package. With
 * `code`, only with that code.
 */
export function isAccError(error: unknown, code?: string): error is AccError {
  if (!(error instanceof Error) || !error.name.startsWith('AccError')) return false;
  return code === undefined || (error as AccError).code === code;
}
