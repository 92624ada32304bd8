import { getBackend } from '@tensorflow/tfjs-core';
import { AccError, type Plugin } from '@acc/contract';
import { resolveProfileOptions, type ProfileOptions } from './options.js';
import { profileOf } from './profile.js';
import { Session } from './session.js';
import { chromeTrace, writeTrace } from './trace.js';
import type { Profile, ProfilerContext } from './profile-result.js';

/** Takes profiles of the steps of an Accelerator, one at a time. Without a profile it costs nothing. */
export class Profiler {
  #session: Session | undefined;

  /** Observes passes and steps while a profile needs them. */
  readonly plugin: Plugin;

  constructor(private readonly context: ProfilerContext) {
    const session = () => this.#session;
    this.plugin = {
      name: 'profile',
      get forward() {
        return session()?.forward;
      },
      get backward() {
        return session()?.backward;
      },
      afterStep: () => session()?.endStep(),
    };
  }

  /** See `Accelerator.profile`. */
  async run(fn: () => unknown, options: ProfileOptions): Promise<Profile> {
    const resolved = resolveProfileOptions(options);
    const { traceDir } = resolved;
    const { rank, size, kernels } = this.context;
    if (this.#session) throw alreadyRuns();
    // A backend that records its native calls also reports them.
    if (!kernels.recorder) throw otherBackend();
    // A folder that cannot be written is told before the training.
    if (traceDir !== undefined) writeTrace(traceDir, chromeTrace([], rank, size), rank);
    const session = (this.#session = new Session(resolved));
    try {
      await fn();
      await session.collectGarbageTimes();
    } finally {
      session.end();
      this.#session = undefined;
    }
    return profileOf(session, { ...this.context, options: resolved });
  }
}

function alreadyRuns(): AccError {
  return new AccError('ACC_INVALID_ARGUMENT', 'profile: another profile is being taken.', {
    help: 'Await the first profile before the next one.',
  });
}

function otherBackend(): AccError {
  return new AccError(
    'ACC_BACKEND_CANNOT',
    `profile: the backend '${getBackend()}' does not report its operators.`,
    {
      help: "Train on the backend 'acc', without engine: 'tfjs', or use tf.profile.",
    },
  );
}
